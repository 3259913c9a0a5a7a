// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/reduction.hpp"
#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// Sums that wait in shared memory, by level. A thread reads only what it stored itself, so no
/// thread waits for another.
///
///   waiting[level][group of 4 outputs][thread]      16 bytes per thread: no bank is met twice
///
/// A thread whose outputs are no multiple of 4 stores them one by one.
template <Tile kTile>
class WaitingSums {
  static constexpr int kCount = kTile.thread_rows * kTile.thread_cols;
  static constexpr int kThreads = kTile.threads();
  static constexpr bool kFours = kCount % 4 == 0;

 public:
  using Sums = float[kTile.thread_rows][kTile.thread_cols];

  __device__ __forceinline__ explicit WaitingSums(float* memory) : memory_(memory) {}

  __device__ __forceinline__ void store(int level, const Sums& sums) {
    const float* flat = &sums[0][0];
    if constexpr (kFours) {
#pragma unroll
      for (int i = 0; i < kCount / 4; ++i) {
        *at(level, i) = make_float4(flat[4 * i], flat[4 * i + 1], flat[4 * i + 2], flat[4 * i + 3]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) *single(level, i) = flat[i];
    }
  }
  /// sums = level + sums
  __device__ __forceinline__ void add_to(int level, Sums& sums) const {
    float* flat = &sums[0][0];
    if constexpr (kFours) {
#pragma unroll
      for (int i = 0; i < kCount / 4; ++i) {
        const float4 left = *at(level, i);
        flat[4 * i] = arithmetic::add_rn(left.x, flat[4 * i]);
        flat[4 * i + 1] = arithmetic::add_rn(left.y, flat[4 * i + 1]);
        flat[4 * i + 2] = arithmetic::add_rn(left.z, flat[4 * i + 2]);
        flat[4 * i + 3] = arithmetic::add_rn(left.w, flat[4 * i + 3]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) flat[i] = arithmetic::add_rn(*single(level, i), flat[i]);
    }
  }

 private:
  __device__ __forceinline__ float4* at(int level, int i) const {
    return reinterpret_cast<float4*>(memory_) + (level * (kCount / 4) + i) * kThreads + threadIdx.x;
  }
  __device__ __forceinline__ float* single(int level, int i) const {
    return memory_ + (level * kCount + i) * kThreads + threadIdx.x;
  }
  float* memory_;
};

/// What happens at the end of a leaf; reduce_leaves defines it.
///
///   fold: waiting[0] = start; after each leaf sum = waiting[0] + leaf, and waiting[0] = sum
///   tree: sum = leaf; nodes_closed_by(leaf) times sum = waiting[top] + sum; then the sum waits
///
/// After the last leaf nothing waits: the sum is the result.
template <Tile kTile>
class Reducer {
 public:
  __device__ __forceinline__ Reducer(ReductionKind kind, std::int64_t leaves, float* memory)
      : waiting_(memory), kind_(kind), leaves_(leaves) {}

  __device__ __forceinline__ void start(const typename WaitingSums<kTile>::Sums& start) {
    if (kind_ == ReductionKind::fold) waiting_.store(0, start);
  }
  __device__ __forceinline__ void end_leaf(std::int64_t leaf,
                                           typename WaitingSums<kTile>::Sums& sums) {
    const bool last = leaf + 1 == leaves_;
    if (kind_ == ReductionKind::fold) {
      waiting_.add_to(0, sums);
      if (!last) waiting_.store(0, sums);
      return;
    }
#pragma unroll 1
    for (int closed = nodes_closed_by(leaf, leaves_); closed > 0; --closed) {
      waiting_.add_to(--levels_, sums);
    }
    if (!last) waiting_.store(levels_++, sums);
  }

 private:
  WaitingSums<kTile> waiting_;
  ReductionKind kind_;
  std::int64_t leaves_;
  int levels_ = 0;  // sums of a tree that wait
};

}  // namespace detgemm::cuda::simt
