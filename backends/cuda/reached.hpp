// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace detgemm::cuda {

/// Says, while it lives, that a device reads and writes a range of memory that is not its own: the
/// window of another rank, of this process or mapped from another one. Plans of that device then
/// take it for D. A null range is none.
class ReachedRange {
 public:
  ReachedRange(const std::byte* begin, std::size_t bytes, int device);
  ReachedRange(ReachedRange&& other) noexcept;
  ReachedRange& operator=(ReachedRange&&) = delete;
  ~ReachedRange();

  /// Whether the address lies in a range that this device has reached.
  static bool holds(const void* data, int device);

 private:
  const std::byte* begin_;
  std::size_t bytes_;
  int device_;
};

}  // namespace detgemm::cuda
