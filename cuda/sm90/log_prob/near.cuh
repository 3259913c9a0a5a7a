// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/log_near.hpp"
#include "cuda/sm90/ptx/arithmetic.cuh"

namespace detgemm::cuda::sm90 {

/// A block of 64 rows x kN logits as a warp group holds it: of 16 bits two to a register. Thread t
/// has rows 16 (t / 32) + t % 32 / 4 + 8 h and, of each 8 columns j, columns 2 (t % 4) + i. Logit
/// (p, i) of pair p = 2 j + h stands in acc[2 p + i].
template <int kN, bool k16>
struct Logits {
  static constexpr int kPairs = kN / 4;
  float (&acc)[kN / 2];

  /// Rounds to bf16 where that is the type of the logits; the pair stands in acc[2 p] then.
  __device__ __forceinline__ void round() const {
    if constexpr (k16) {
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        acc[2 * p] = __uint_as_float(ptx::cvt_rn_bf16x2_f32(acc[2 * p + 1], acc[2 * p]));
      }
    }
  }
  __device__ __forceinline__ float get(int p, int i) const {
    if constexpr (!k16) return acc[2 * p + i];
    const std::uint32_t pair = __float_as_uint(acc[2 * p]);
    return __uint_as_float(i == 0 ? pair << 16 : pair & 0xffff0000U);
  }
};

/// The extremes of this thread's logits of one row; NaN where one of them is.
struct Extremes {
  float lowest, highest, least;  ///< the last one of absolute values
};

template <bool kEntropy, int kN, bool k16>
__device__ __forceinline__ Extremes extremes_of(const Logits<kN, k16>& z, int h) {
  Extremes e;
  if constexpr (k16) {
    std::uint32_t low = __float_as_uint(z.acc[2 * h]), high = low, least = low & 0x7fff7fffU;
#pragma unroll
    for (int p = 2 + h; p < z.kPairs; p += 2) {
      const std::uint32_t pair = __float_as_uint(z.acc[2 * p]);
      low = ptx::min_nan_bf16x2(low, pair);
      high = ptx::max_nan_bf16x2(high, pair);
      if constexpr (kEntropy) least = ptx::min_nan_bf16x2(least, pair & 0x7fff7fffU);
    }
    const auto first = [](std::uint32_t pair) { return __uint_as_float(pair << 16); };
    const auto second = [](std::uint32_t pair) { return __uint_as_float(pair & 0xffff0000U); };
    e.lowest = ptx::min_nan_f32(first(low), second(low));
    e.highest = ptx::max_nan_f32(first(high), second(high));
    e.least = ptx::min_nan_f32(first(least), second(least));
  } else {
    e = {z.get(h, 0), z.get(h, 0), fabsf(z.get(h, 0))};
#pragma unroll
    for (int p = h; p < z.kPairs; p += 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        e.lowest = ptx::min_nan_f32(e.lowest, z.get(p, i));
        e.highest = ptx::max_nan_f32(e.highest, z.get(p, i));
        if constexpr (kEntropy) e.least = ptx::min_nan_f32(e.least, fabsf(z.get(p, i)));
      }
    }
  }
  return e;
}

/// The sum of two lanes' numbers, of which each lane needs one: lanes without the bit of `mask` get
/// that of `first`, those with it that of `second`. One shuffle in place of two.
__device__ __forceinline__ float exchange(bool has_bit, int mask, float first, float second) {
  const float sent = __shfl_xor_sync(0xffffffffU, has_bit ? first : second, mask);
  return arithmetic::add_rn(has_bit ? second : first, sent);
}

/// Plain sums of e^x, and of x e^x, of the kN columns of a block, each lane those of one row: rows h
/// go to the lanes with lane % 2 = h.
///
///   columns of a leaf    8 j + 2 q + i, j of 2:   i and j in a thread, then lanes q and q ^ 1, q ^ 2
///   leaves of a block    l < half: lanes of q / 2 = 0, the others q / 2 = 1; a tree in each thread,
///                        then both halves
template <bool kEntropy, int kN, bool k16>
__device__ __forceinline__ void add_near(const Logits<kN, k16>& z, const float (&scale)[2],
                                         int lane, float& sum, float& weighted) {
  constexpr int kHalf = kN / 32;  // leaves of each half
  constexpr int kParts = kEntropy ? 2 : 1;
  float waiting[kParts][8];
#pragma unroll
  for (int l = 0; l < kHalf; ++l) {
    float sums[kParts][2];  // of a leaf of each half
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float rows[kParts][2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float pairs[kParts][2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int p = (2 * (l + half * kHalf) + j) * 2 + h;
          const float x0 = arithmetic::mul_rn(z.get(p, 0), scale[h]);
          const float x1 = arithmetic::mul_rn(z.get(p, 1), scale[h]);
          const float e0 = arithmetic::near_exponential(x0);
          const float e1 = arithmetic::near_exponential(x1);
          pairs[0][j] = arithmetic::add_rn(e0, e1);
          if constexpr (kEntropy) {
            pairs[1][j] = arithmetic::add_rn(arithmetic::mul_rn(e0, x0), arithmetic::mul_rn(e1, x1));
          }
        }
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          rows[part][h] = arithmetic::add_rn(pairs[part][0], pairs[part][1]);
        }
      }
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        sums[part][half] = exchange((lane & 1) != 0, 1, rows[part][0], rows[part][1]);
      }
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      float node = exchange((lane & 2) != 0, 2, sums[part][0], sums[part][1]);
      int level = 0;
#pragma unroll
      for (; (l >> level & 1) != 0; ++level) {
        node = arithmetic::add_rn(waiting[part][level], node);
      }
      waiting[part][level] = node;
    }
  }
  constexpr int kTop = kHalf == 1 ? 0 : kHalf == 2 ? 1 : kHalf == 4 ? 2 : 3;
  static_assert(1 << kTop == kHalf, "A tile's columns are one node: a power of two of leaves.");
  float roots[kParts];
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    roots[part] = arithmetic::add_rn(waiting[part][kTop],
                                     __shfl_xor_sync(0xffffffffU, waiting[part][kTop], 2));
  }
  sum = roots[0];
  weighted = kEntropy ? roots[kParts - 1] : -0.0F;
}

}  // namespace detgemm::cuda::sm90
