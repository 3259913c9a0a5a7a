// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/reduction.hpp"
#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// Accumulators parked in shared memory, by level; each thread sees its own alone, so nothing
/// waits.
///
///   park[level][quarter of 4 outputs][thread]      16 bytes a thread: no bank is met twice
template <Tile kTile>
class Park {
  static constexpr int kCount = kTile.thread_rows * kTile.thread_cols;
  static constexpr int kThreads = kTile.threads();
  static_assert(kCount % 4 == 0);

 public:
  using Sums = float[kTile.thread_rows][kTile.thread_cols];

  __device__ __forceinline__ explicit Park(float* memory) : memory_(memory) {}

  __device__ __forceinline__ void keep(int level, const Sums& sums) {
    const float* flat = &sums[0][0];
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      *at(level, i) = make_float4(flat[4 * i], flat[4 * i + 1], flat[4 * i + 2], flat[4 * i + 3]);
    }
  }
  /// sums = parked + sums
  __device__ __forceinline__ void add_to(int level, Sums& sums) const {
    float* flat = &sums[0][0];
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      const float4 parked = *at(level, i);
      flat[4 * i] = arithmetic::add_rn(parked.x, flat[4 * i]);
      flat[4 * i + 1] = arithmetic::add_rn(parked.y, flat[4 * i + 1]);
      flat[4 * i + 2] = arithmetic::add_rn(parked.z, flat[4 * i + 2]);
      flat[4 * i + 3] = arithmetic::add_rn(parked.w, flat[4 * i + 3]);
    }
  }

 private:
  __device__ __forceinline__ float4* at(int level, int i) const {
    return reinterpret_cast<float4*>(memory_) + (level * (kCount / 4) + i) * kThreads + threadIdx.x;
  }
  float* memory_;
};

/// What happens at the end of a leaf, as reduce_leaves says it.
///
///   fold: park[0] = start; sum = park[0] + leaf, parked again unless it was the last
///   tree: a leaf closes nodes_closed_by(leaf) nodes, each parked + sum; what is left is parked
template <Tile kTile>
class Reducer {
 public:
  __device__ __forceinline__ Reducer(ReductionKind kind, std::int64_t leaves, float* memory)
      : park_(memory), kind_(kind), leaves_(leaves) {}

  __device__ __forceinline__ void start(const typename Park<kTile>::Sums& start) {
    if (kind_ == ReductionKind::fold) park_.keep(0, start);
  }
  __device__ __forceinline__ void end_leaf(std::int64_t leaf, typename Park<kTile>::Sums& sums) {
    const bool last = leaf + 1 == leaves_;
    if (kind_ == ReductionKind::fold) {
      park_.add_to(0, sums);
      if (!last) park_.keep(0, sums);
      return;
    }
#pragma unroll 1
    for (int closed = nodes_closed_by(leaf, leaves_); closed > 0; --closed) {
      park_.add_to(--waiting_, sums);
    }
    if (!last) park_.keep(waiting_++, sums);
  }

 private:
  Park<kTile> park_;
  ReductionKind kind_;
  std::int64_t leaves_;
  int waiting_ = 0;
};

}  // namespace detgemm::cuda::simt
