// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <map>
#include <mutex>

#include "backends/cuda/peer_memory.hpp"

namespace detgemm::cuda {
namespace {

constexpr int kShares = 16;  // smaller than one multiprocessor of any device

/// Windows by device and share. Ranks of one device have the same share of it.
struct Registry {
  std::mutex mutex;
  std::map<int, std::array<int, kShares>> windows;
};
Registry& registry() {
  static Registry one;
  return one;
}

}  // namespace

SmShare::SmShare(int device, std::uint32_t taken)
    : device_(device), index_(std::min(std::countr_one(taken), kShares - 1)) {
  const std::scoped_lock lock(registry().mutex);
  ++registry().windows[device_][static_cast<std::size_t>(index_)];
}

SmShare::~SmShare() {
  const std::scoped_lock lock(registry().mutex);
  --registry().windows[device_][static_cast<std::size_t>(index_)];
}

std::uint32_t SmShare::taken(int device) {
  const std::scoped_lock lock(registry().mutex);
  const auto& windows = registry().windows[device];
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kShares; ++i) bits |= (windows[i] > 0 ? 1U : 0U) << i;
  return bits;
}

}  // namespace detgemm::cuda
