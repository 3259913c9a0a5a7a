// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/log_prob/near.cuh"
#include "cuda/sm90/ptx/memory.cuh"

// Nodes of logits of any value, also of columns that do not exist. Rare, hence short code: logits
// pass through words of shared memory that each thread has to itself, since registers have no
// index.

namespace detgemm::cuda::sm90 {

/// Words of one thread, those of a warp's lanes side by side.
struct OwnWords {
  static constexpr int kCount = 32;
  std::uint32_t at;
  __device__ __forceinline__ float get(int i) const { return ptx::ld_shared_f32(at + i * 128); }
  __device__ __forceinline__ void put(int i, float v) const { ptx::st_shared_f32(at + i * 128, v); }
};

/// The node of a leaf of one row, of which this thread has columns `at` + 2 q + {0, 1, 8, 9}.
template <bool kEntropy>
__device__ __forceinline__ arithmetic::LogNode far_leaf(const OwnWords& words, int first, int at,
                                                        int end, float scale) {
  using namespace arithmetic;
  constexpr unsigned kAll = 0xffffffffU;
  LogTerm t[4];
  std::int32_t k = kLogAbsent;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float x = mul_rn(words.get(first + i), scale);
    const bool exists = at + i / 2 * 8 + i % 2 < end;
    t[i] = log_term(exists ? x : float_of(0x80000000U | kInfBits));
    k = max(k, t[i].n);
  }
  k = max(k, __shfl_xor_sync(kAll, k, 1));
  k = max(k, __shfl_xor_sync(kAll, k, 2));
  float power[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) power[i] = power_below(t[i].n - k);
  const auto add = [&](float t0, float t1, float t8, float t9) {
    float sum = add_rn(add_rn(t0, t1), add_rn(t8, t9));
    sum = add_rn(sum, __shfl_xor_sync(kAll, sum, 1));
    return canonical(add_rn(sum, __shfl_xor_sync(kAll, sum, 2)));
  };
  const float s = add(mul_rn(t[0].f, power[0]), mul_rn(t[1].f, power[1]), mul_rn(t[2].f, power[2]),
                      mul_rn(t[3].f, power[3]));
  if constexpr (!kEntropy) return {k, s, -0.0F};
  return {k, s,
          add(mul_rn(t[0].g, power[0]), mul_rn(t[1].g, power[1]), mul_rn(t[2].g, power[2]),
              mul_rn(t[3].g, power[3]))};
}

/// The node of the kN columns of a block, each lane that of row h = lane % 2. `y0`: the first
/// column; those from `end` on do not exist.
///
///   words 0..15   logits of 2 leaves x 2 rows      words 16..30   nodes that wait, one per level
template <bool kEntropy, int kN>
__device__ __forceinline__ arithmetic::LogNode far_node(const Logits<kN>& z, const OwnWords& words,
                                                        const float (&scale)[2], int lane, int y0,
                                                        int end) {
  constexpr int kSlot = 16;
  static_assert(kN <= 256, "Five nodes wait at most.");
  arithmetic::LogNode node;
#pragma unroll 1
  for (int chunk = 0; chunk < kN / 32; ++chunk) {
#pragma unroll
    for (int c = 0; c < kN / 32; ++c) {
      if (c == chunk) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {  // leaf i / 8, row i / 4 % 2, 8 columns i / 2 % 2
          const int j = c * 4 + i / 8 * 2 + i / 2 % 2;
          words.put(i, z[2 * (2 * j + i / 4 % 2) + i % 2]);
        }
      }
    }
#pragma unroll 1
    for (int leaf = 0; leaf < 2; ++leaf) {
      const int index = chunk * 2 + leaf;
      const int at = y0 + index * 16 + lane % 4 * 2;
#pragma unroll 1
      for (int h = 0; h < 2; ++h) {
        const auto found =
            far_leaf<kEntropy>(words, leaf * 8 + h * 4, at, end, h == 0 ? scale[0] : scale[1]);
        if (h == lane % 2) node = found;
      }
      int level = 0;
#pragma unroll 1
      for (; (index >> level & 1) != 0; ++level) {
        const int slot = kSlot + 3 * level;
        const arithmetic::LogNode left = {static_cast<int>(__float_as_uint(words.get(slot))),
                                          words.get(slot + 1), words.get(slot + 2)};
        node = arithmetic::log_join(left, node);
      }
      const int slot = kSlot + 3 * level;
      words.put(slot, __uint_as_float(static_cast<std::uint32_t>(node.k)));
      words.put(slot + 1, node.s);
      words.put(slot + 2, node.a);
    }
  }
  return node;
}

}  // namespace detgemm::cuda::sm90
