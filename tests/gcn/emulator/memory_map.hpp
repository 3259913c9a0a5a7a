// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace detgemm::gcn {

/// The allocations a kernel may touch. Addresses are the host's own.
class MemoryMap {
 public:
  void add(const void* begin, std::uint64_t bytes) {
    ranges_[reinterpret_cast<std::uint64_t>(begin)] = bytes;
  }
  bool remove(const void* begin) {
    return ranges_.erase(reinterpret_cast<std::uint64_t>(begin)) != 0;
  }

  /// Whether [address, address + bytes) lies inside one allocation.
  bool holds(std::uint64_t address, std::uint64_t bytes) const {
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin()) return false;
    const auto& [begin, size] = *std::prev(next);
    return address - begin <= size && size - (address - begin) >= bytes;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace detgemm::gcn
