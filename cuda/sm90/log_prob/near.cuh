// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/log_near.hpp"
#include "cuda/sm90/ptx/arithmetic.cuh"

namespace detgemm::cuda::sm90 {

/// A block of 64 rows x kN logits as a warp group holds it. Thread t has rows 16 (t / 32) + t % 32
/// / 4 + 8 h and, of each 8 columns j, columns 2 (t % 4) + i: logit (p, i) of pair p = 2 j + h
/// stands in z[2 p + i].
template <int kN>
using Logits = float[kN / 2];

/// The extremes of this thread's logits of one row; NaN where one of them is.
struct Extremes {
  float lowest, highest, least;  ///< the last one of absolute values
};

template <int kN>
__device__ __forceinline__ void find_extremes(const float (&z)[kN], Extremes (&rows)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    Extremes e = {z[2 * h], z[2 * h], fabsf(z[2 * h])};
#pragma unroll
    for (int p = h; p < kN / 2; p += 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        e.lowest = ptx::min_nan_f32(e.lowest, z[2 * p + i]);
        e.highest = ptx::max_nan_f32(e.highest, z[2 * p + i]);
        e.least = ptx::min_nan_f32(e.least, fabsf(z[2 * p + i]));
      }
    }
    rows[h] = e;
  }
}

/// The same behind rounding to bf16, two numbers at a time.
template <int kN>
__device__ __forceinline__ void round_to_bf16(float (&z)[kN], Extremes (&rows)[2]) {
  const auto first = [](std::uint32_t pair) { return __uint_as_float(pair << 16); };
  const auto second = [](std::uint32_t pair) { return __uint_as_float(pair & 0xffff0000U); };
  std::uint32_t low[2], high[2], least[2];
#pragma unroll
  for (int p = 0; p < kN / 2; ++p) {
    const int h = p % 2;
    const std::uint32_t pair = ptx::cvt_rn_bf16x2_f32(z[2 * p + 1], z[2 * p]);
    const std::uint32_t absolute = pair & 0x7fff7fffU;
    low[h] = p < 2 ? pair : ptx::min_nan_bf16x2(low[h], pair);
    high[h] = p < 2 ? pair : ptx::max_nan_bf16x2(high[h], pair);
    least[h] = p < 2 ? absolute : ptx::min_nan_bf16x2(least[h], absolute);
    z[2 * p] = first(pair);
    z[2 * p + 1] = second(pair);
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    rows[h] = {ptx::min_nan_f32(first(low[h]), second(low[h])),
               ptx::max_nan_f32(first(high[h]), second(high[h])),
               ptx::min_nan_f32(first(least[h]), second(least[h]))};
  }
}

/// The sum of two lanes' numbers, of which each lane needs one: lanes without the bit of `mask` get
/// that of `first`, those with it that of `second`. One shuffle in place of two.
__device__ __forceinline__ float exchange(bool has_bit, int mask, float first, float second) {
  const float sent = __shfl_xor_sync(0xffffffffU, has_bit ? first : second, mask);
  return arithmetic::add_rn(has_bit ? second : first, sent);
}

/// Plain sums of e^x, and of x e^x, of the kN columns of a block, each lane those of one row: rows
/// h go to the lanes with lane % 2 = h.
///
///   columns of a leaf    8 j + 2 q + i, j of 2:   i and j in a thread, then lanes q and q ^ 1, q ^
///   2 leaves of a block    l < half: lanes of q / 2 = 0, the others q / 2 = 1; a tree in each
///   thread,
///                        then both halves
///
/// Without kScaled the scales are 1 and are not read: x is the logit itself.
template <bool kEntropy, bool kScaled, int kN>
__device__ __forceinline__ void add_near(const Logits<kN>& z, const float (&scale)[2], int lane,
                                         float& sum, float& weighted) {
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
          const float x0 = kScaled ? arithmetic::mul_rn(z[2 * p], scale[h]) : z[2 * p];
          const float x1 = kScaled ? arithmetic::mul_rn(z[2 * p + 1], scale[h]) : z[2 * p + 1];
          const float e0 = arithmetic::near_exponential(x0);
          const float e1 = arithmetic::near_exponential(x1);
          pairs[0][j] = arithmetic::add_rn(e0, e1);
          if constexpr (kEntropy) {
            pairs[1][j] =
                arithmetic::add_rn(arithmetic::mul_rn(e0, x0), arithmetic::mul_rn(e1, x1));
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
