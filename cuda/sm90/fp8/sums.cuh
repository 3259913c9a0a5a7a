// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/fp8/scales.cuh"
#include "cuda/sm90/leaves/sums.cuh"

namespace detgemm::cuda::sm90 {

/// Hands a stage back, to both CTAs of a pair. All threads of the group call it, and each warp
/// arrives for itself.
template <class T>
__device__ __forceinline__ void release_fp8(const SharedLayout<T>& shared, int stage) {
  const std::uint32_t barrier = shared.empty + 8 * stage;
  const std::uint32_t lane = threadIdx.x % 32;
  if constexpr (T::kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(barrier);
  } else {
    if (lane < T::kCluster) ptx::mbarrier_arrive_cluster(ptx::mapa(barrier, lane));
  }
}

/// Joins a leaf to the sum, in the sum's own registers:
///
///   fold:    sum = sum + leaf
///   scaled:  s = sx * sy, rounded once;  sum = fma(s, leaf, sum)
///
/// The scales are those of the next slot.
template <class T>
__device__ __forceinline__ void join_leaf(const SharedLayout<T>& shared,
                                          RingCursor<T::kSlots>& slots, int group,
                                          const Accumulators<T>& leaf, Accumulators<T>& sum) {
  if constexpr (!T::kScaled) {
    add_to<T>(sum, leaf);
  } else {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 % 4;
    const std::uint32_t slot = scale_slot(shared, slots.stage);
    const std::uint32_t columns = slot + 4 * T::kX;
    ptx::mbarrier_wait(scales_full(shared, slots.stage), slots.parity);
    float rows[T::kBlocks][2];
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int x = (group * T::kBlocks + i) * 64 + warp * 16 + half * 8 + lane / 4;
        rows[i][half] = ptx::ld_shared_f32(slot + 4 * x);
        if constexpr (T::kJoin == Join::one) {
          rows[i][half] = arithmetic::mul_rn(rows[i][half], ptx::ld_shared_f32(columns));
        }
      }
    }
#pragma unroll
    for (int j = 0; j < T::kN / 8; ++j) {
      float2 pair{1.0F, 1.0F};
      if constexpr (T::kJoin == Join::columns) {
        pair = ptx::ld_shared_v2_f32(columns + 4 * (j * 8 + lane % 4 * 2));
      }
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int at = j * 4 + half * 2;
          float s0 = rows[i][half], s1 = rows[i][half];
          if constexpr (T::kJoin == Join::columns) {
            s0 = arithmetic::mul_rn(s0, pair.x);
            s1 = arithmetic::mul_rn(s1, pair.y);
          }
          ptx::fma_rn_f32(sum[i][at], s0, leaf[i][at]);
          ptx::fma_rn_f32(sum[i][at + 1], s1, leaf[i][at + 1]);
        }
      }
    }
    release_scales<T>(shared, slots);
  }
}

/// Runs the stages of leaves and joins each to the sum. A leaf is a chain from +0 over its k32
/// steps, four per stage:
///
///   leaf = +0 -> [k 0..31] -> [k 32..63] -> [k 64..95] -> [k 96..127] -> next stage of the leaf
///
/// kOverlaps: a leaf joins while the first stage of the next one runs; two leaves in registers.
///
///   tensor core   | l0 | l1      | l2      | ...
///   joins              | l0 join | l1 join | ...
///
/// Else it joins when its last step has ended; the other consumer group multiplies meanwhile.
template <class T>
struct Fp8Leaves {
  const SharedLayout<T>& shared;
  int k_blocks;
  int leaf_blocks;
  int group;
  RingCursor<T::kStages>& cursor;
  RingCursor<T::kSlots>& slots;
  Accumulators<T>& sum;
  int previous = -1;  ///< the stage that runs, or waits to be handed back

  static __device__ __forceinline__ void pin(Accumulators<T>& value) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) ptx::pin(value[i]);
  }
  /// The stage is handed back before the leaf joins: a ring that had to wait for the adds of a fold
  /// too would hold less, and took up to 26 % longer.
  __device__ __forceinline__ void release_and_join(Accumulators<T>& leaf) {
    pin(leaf);
    release_fp8<T>(shared, previous);
    join_leaf<T>(shared, slots, group, leaf, sum);
  }
  __device__ __forceinline__ void next_stage() {
    previous = cursor.stage;
    cursor.advance();
  }
  /// The stages of the leaf that begins at `block`, but for the first.
  __device__ __forceinline__ void run_rest(int block, Accumulators<T>& leaf) {
    const int end = min(block + leaf_blocks, k_blocks);
#pragma unroll 1
    for (++block; block < end; ++block) {
      start_stage<T>(shared, group, cursor, leaf);
      ptx::wgmma_wait<1>();
      release_fp8<T>(shared, previous);
      next_stage();
    }
  }
  __device__ __forceinline__ void run_one(int block, Accumulators<T>& mine,
                                          Accumulators<T>& other) {
    start_stage<T, true>(shared, group, cursor, mine);
    ptx::wgmma_wait<1>();
    if (block > 0) release_and_join(other);
    next_stage();
    run_rest(block, mine);
  }
  __device__ __forceinline__ void end(Accumulators<T>& leaf) {
    ptx::wgmma_wait<0>();
    release_and_join(leaf);
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
        start_stage<T, true>(shared, group, cursor, leaf);
        next_stage();
        run_rest(block, leaf);
        end(leaf);
      }
    }
  }
};

}  // namespace detgemm::cuda::sm90
