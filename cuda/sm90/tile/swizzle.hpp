// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/host_device.hpp"

namespace detgemm::cuda::sm90 {

/// How operands are laid out in shared memory under the 128-byte swizzle. A span is 128 bytes: 64 k
/// of one row (K-major), or 64 rows of one k (MN-major). The swizzle repeats every 8 spans. A slab
/// is 64 spans: 64 rows x 64 k, in either order.
inline constexpr int kSpanBytes = 128;
inline constexpr int kSlabBytes = 64 * kSpanBytes;

/// Bytes from one k16 step to the next inside a slab: 16 elements of a span, or 16 spans.
constexpr int k16_step_bytes(bool mn_major) { return mn_major ? 16 * kSpanBytes : 16 * 2; }

/// The address of 16-byte chunk `chunk` of row `row` in a box with kRowBytes per row, under the TMA
/// swizzle of that width: the chunk's index is XORed with bits of the address above it.
template <int kRowBytes>
DETGEMM_HD std::uint32_t swizzled(std::uint32_t box, int row, int chunk) {
  constexpr int kChunks = kRowBytes / 16;
  const int turn = kRowBytes == 128  ? row & 7
                   : kRowBytes == 64 ? (row >> 1) & 3
                   : kRowBytes == 32 ? (row >> 2) & 1
                                     : 0;
  static_assert(kChunks == 1 || kChunks == 2 || kChunks == 4 || kChunks == 8,
                "TMA swizzles rows of 32, 64 and 128 bytes, and does not change rows of 16.");
  return box + row * kRowBytes + ((chunk ^ turn) << 4);
}

}  // namespace detgemm::cuda::sm90
