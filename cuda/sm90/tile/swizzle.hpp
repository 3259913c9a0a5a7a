// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/host_device.hpp"

namespace detgemm::cuda::sm90 {

/// Address of 16-byte chunk `chunk` of row `row` in a box with kRowBytes a row, under the TMA
/// swizzle of that width: the chunk's index is XORed with bits of the address above it.
template <int kRowBytes>
DETGEMM_HD std::uint32_t swizzled(std::uint32_t box, int row, int chunk) {
  constexpr int kChunks = kRowBytes / 16;
  const int turn = kRowBytes == 128  ? row & 7
                   : kRowBytes == 64 ? (row >> 1) & 3
                   : kRowBytes == 32 ? (row >> 2) & 1
                                     : 0;
  static_assert(kChunks == 1 || kChunks == 2 || kChunks == 4 || kChunks == 8);
  return box + row * kRowBytes + ((chunk ^ turn) << 4);
}

}  // namespace detgemm::cuda::sm90
