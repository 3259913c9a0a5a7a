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
struct Shares {
  std::mutex mutex;
  std::map<int, std::array<int, kShares>> windows;
};
Shares& shares() {
  static Shares one;
  return one;
}

}  // namespace

SmShare::SmShare(int device, std::uint32_t taken)
    : device_(device), index_(std::min(std::countr_one(taken), kShares - 1)) {
  const std::scoped_lock lock(shares().mutex);
  ++shares().windows[device_][static_cast<std::size_t>(index_)];
}

SmShare::~SmShare() {
  const std::scoped_lock lock(shares().mutex);
  --shares().windows[device_][static_cast<std::size_t>(index_)];
}

std::uint32_t SmShare::taken(int device) {
  const std::scoped_lock lock(shares().mutex);
  const auto& windows = shares().windows[device];
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kShares; ++i) bits |= (windows[i] > 0 ? 1U : 0U) << i;
  return bits;
}

}  // namespace detgemm::cuda
