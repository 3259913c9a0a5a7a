// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaves/sums.cuh"

// Folds of whole tiles, from a sum that has its value. What is between the last step of one leaf
// and the next stage is a straight line of adds: the branches that trees, parts and C need there
// cost 30 % at leaves of 128 k, since no group has more than a stage's steps ahead of it.

namespace detgemm::cuda::sm90 {

/// Runs the stages of a tile's leaves and adds each leaf to the sum:
///
///   leaf = +0 -> [k 0..15] -> [k 16..31] -> ... -> [last k of the leaf];   sum = sum + leaf
///
/// kOverlaps: a leaf is added while the first stage of the next one runs; two leaves in registers.
///
///   tensor core   | l0, stage 0 | l0, stage 1 | l1, stage 0 | l1, stage 1 | l2, stage 0 | ...
///   adds                                      | add l0      |             | add l1      |
///
/// Else there is one, and the groups start stages in turn, so that one adds while the other
/// multiplies:
///
///   tensor core   | g0, last of l0 | g1, last of l0 | g0, l1, stage 0 | g1, l1, stage 0 | ...
///   adds                           | g0: l0         | g1: l0          |
template <class T>
struct FoldedLeaves {
  const SharedLayout<T>& shared;
  int k_blocks;
  int leaf_blocks;
  int group;
  RingCursor<T::kStages>& cursor;
  Accumulators<T>& sum;
  int previous = -1;  ///< the stage that runs, or waits to be handed back

  __device__ __forceinline__ void next_stage() {
    previous = cursor.stage;
    cursor.advance();
  }
  template <bool kFresh>
  __device__ __forceinline__ void start(Accumulators<T>& leaf) {
    if constexpr (T::kTakesTurns) ptx::bar_sync(kTurnBarrier + group, 256);
    start_stage<T, kFresh>(shared, group, cursor, leaf);
    if constexpr (T::kTakesTurns) ptx::bar_arrive(kTurnBarrier + 1 - group, 256);
  }
  __device__ __forceinline__ void add(Accumulators<T>& leaf) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) ptx::pin(leaf[i]);
    add_to<T>(sum, leaf);
  }
  /// The stages of the leaf that begins at `block`, but for the first.
  __device__ __forceinline__ void run_rest(int block, Accumulators<T>& leaf) {
    const int end = min(block + leaf_blocks, k_blocks);
#pragma unroll 1
    for (++block; block < end; ++block) {
      start<false>(leaf);
      ptx::wgmma_wait<1>();
      release<T>(shared, previous);
      next_stage();
    }
  }
  __device__ __forceinline__ void end(Accumulators<T>& leaf) {
    ptx::wgmma_wait<0>();
    release<T>(shared, previous);
    add(leaf);
  }
  __device__ __forceinline__ void run_one(int block, Accumulators<T>& mine,
                                          Accumulators<T>& other) {
    start<true>(mine);
    ptx::wgmma_wait<1>();
    if (block > 0) {
      release<T>(shared, previous);
      add(other);
    }
    next_stage();
    run_rest(block, mine);
  }
  __device__ __forceinline__ void run() {
    if constexpr (T::kOverlaps) {
      Accumulators<T> even, odd;  // (64 * kBlocks, kN) each: two leaves
      int block = 0;
#pragma unroll 1
      for (; block + leaf_blocks < k_blocks; block += 2 * leaf_blocks) {
        run_one(block, even, odd);
        run_one(block + leaf_blocks, odd, even);
      }
      if (block < k_blocks) {
        run_one(block, even, odd);
        end(even);
      } else {
        end(odd);
      }
    } else {
#pragma unroll 1
      for (int block = 0; block < k_blocks; block += leaf_blocks) {
        Accumulators<T> leaf;  // (64 * kBlocks, kN)
        start<true>(leaf);
        next_stage();
        run_rest(block, leaf);
        end(leaf);
      }
    }
  }
};

}  // namespace detgemm::cuda::sm90
