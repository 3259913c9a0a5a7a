// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/types.hpp"
#include "hip/gcn/types.hpp"

/// The matrix instructions, one per function. T is bf16 or fp16. The lane layouts are those that
/// AMD publishes, checked against a table in tests/hip; nothing here was run on AMD hardware.
namespace detgemm::hip::gcn {

/// acc += X * Y for 32 rows of X, 32 columns of Y and 8 consecutive k.
///
///   x, y   lane l: row l % 32, k = 4 * (l / 32) + 0..3           k:  0 1 2 3 | 4 5 6 7
///   acc    lane l, register i: x-row 8 * (i / 4) + 4 * (l / 32) + i % 4, y-row l % 32
///                                                             lanes:  0..31  | 32..63
/// The contract's steps inside: k 0..7 (cdna3); k 0..3, then k 4..7 (cdna2).
template <DType T>
DETGEMM_DEVICE f32x16 mfma_32x32x8(Packet x, Packet y, f32x16 acc) {
  if constexpr (T == DType::bf16) {
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(s16x4, x),
                                                    __builtin_bit_cast(s16x4, y), acc, 0, 0, 0);
  } else {
    return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(f16x4, x),
                                                __builtin_bit_cast(f16x4, y), acc, 0, 0, 0);
  }
}

/// acc += X * Y for 16 rows of X, 16 columns of Y and 16 consecutive k.
///
///   x, y   lane l: row l % 16, k = 4 * (l / 16) + 0..3
///   acc    lane l, register i: x-row 4 * (l / 16) + i, y-row l % 16
///
/// The contract's steps inside: k 0..7, k 8..15 (cdna3); four of 4, ascending (cdna2).
template <DType T>
DETGEMM_DEVICE f32x4 mfma_16x16x16(Packet x, Packet y, f32x4 acc) {
  if constexpr (T == DType::bf16) {
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(s16x4, x),
                                                     __builtin_bit_cast(s16x4, y), acc, 0, 0, 0);
  } else {
    return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(f16x4, x),
                                                 __builtin_bit_cast(f16x4, y), acc, 0, 0, 0);
  }
}

/// acc += X * Y for 32 rows of X, 32 columns of Y and 2 consecutive k, all fp32.
///
///   x, y   lane l: row l % 32, k = l / 32
///   acc    as for 32x32x8
///
/// ieee_fma's steps inside: k 0, then k 1.
DETGEMM_DEVICE f32x16 mfma_fp32_32x32x2(float x, float y, f32x16 acc) {
  return __builtin_amdgcn_mfma_f32_32x32x2f32(x, y, acc, 0, 0, 0);
}

}  // namespace detgemm::hip::gcn
