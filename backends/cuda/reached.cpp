// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/reached.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace detgemm::cuda {
namespace {

struct Range {
  const std::byte* begin;
  const std::byte* end;
  int device;
  bool operator==(const Range&) const = default;
};

/// Looked at only for addresses that are not memory of the plan's device.
struct Registry {
  std::mutex mutex;
  std::vector<Range> ranges;
};
Registry& registry() {
  static Registry one;
  return one;
}

}  // namespace

ReachedRange::ReachedRange(const std::byte* begin, std::size_t bytes, int device)
    : begin_(begin), bytes_(bytes), device_(device) {
  const std::scoped_lock lock(registry().mutex);
  registry().ranges.push_back({begin_, begin_ + bytes_, device_});
}

ReachedRange::ReachedRange(ReachedRange&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_), device_(other.device_) {}

ReachedRange::~ReachedRange() {
  if (begin_ == nullptr) return;
  const std::scoped_lock lock(registry().mutex);
  auto& ranges = registry().ranges;
  const auto mine =
      std::find(ranges.begin(), ranges.end(), Range{begin_, begin_ + bytes_, device_});
  if (mine != ranges.end()) ranges.erase(mine);
}

bool ReachedRange::holds(const void* data, int device) {
  const auto* const at = static_cast<const std::byte*>(data);
  const std::scoped_lock lock(registry().mutex);
  const auto& ranges = registry().ranges;
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return range.device == device && !std::less<>{}(at, range.begin) &&
           std::less<>{}(at, range.end);
  });
}

}  // namespace detgemm::cuda
