// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/pipeline/producer.cuh"
#include "cuda/sm90/ptx/wgmma.cuh"

namespace detgemm::cuda::sm90 {

/// Named barriers of a CTA; group g of the consumers has kGroupBarrier + g to itself.
inline constexpr std::uint32_t kGroupBarrier = 1;
inline constexpr std::uint32_t kPartsBarrier = 4;
inline constexpr std::uint32_t kStaggerBarrier = 5;
/// Whose turn it is, of group 0 and of group 1: to start a stage, or a tile.
inline constexpr std::uint32_t kTurnBarrier = 6;

/// Accumulators of one consumer warp group: kBlocks blocks of 64 x kN, whose layout Wgmma
/// describes.
template <class T>
using Accumulators = float[T::kBlocks][T::kN / 2];  // (64 * kBlocks, kN) per group

/// Two consumer groups that wait for the same stages end their tiles and leaves together, and the
/// tensor core idles while both round, store or add. So the second group begins `stages` stages
/// behind the first. From then on the epilogue of one runs under the steps of the other.
///
///   group 0   | 0 1 2 3 4 5 6 7 | store | 8 9 ...
///   group 1       | 0 1 2 3 4 5 6 7 | store | 8 9 ...
struct Stagger {
  int countdown;  ///< in group 0: stages until the other group may begin; 0 where neither waits

  template <class T>
  static __device__ __forceinline__ Stagger start(int group, int stages, int k_blocks) {
    if constexpr (T::kGroups == 2) {
      const bool on = stages > 0 && k_blocks > stages * T::kDepth;
      if (on && group == 1) ptx::bar_sync(kStaggerBarrier, 256);
      return {on && group == 0 ? stages : 0};
    } else {
      return {0};
    }
  }
  __device__ __forceinline__ void stage_started() {
    if (countdown > 0 && --countdown == 0) ptx::bar_arrive(kStaggerBarrier, 256);
  }
};

/// Hands a stage back to the CTA's own producers and, where an operand is shared, to those of the
/// whole cluster, whose multicasts write here too. All threads of the group call it.
template <class T>
__device__ __forceinline__ void release(const SharedLayout<T>& shared, int stage) {
  const std::uint32_t barrier = shared.empty + 8 * stage;
  if constexpr (T::kCluster == 1) {
    if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(barrier);
  } else {
    const std::uint32_t lane = threadIdx.x % 128;
    if (lane < T::kCluster) ptx::mbarrier_arrive_cluster(ptx::mapa(barrier, lane));
  }
}

/// The accumulators of kColumns columns from column `first` on.
template <int kColumns, int kAll>
__device__ __forceinline__ auto& columns(float (&block)[kAll], int first) {
  if constexpr (kColumns == 2 * kAll) {
    return block;
  } else {
    return reinterpret_cast<float(&)[kColumns / 2]>(block[first / 2]);
  }
}

/// Waits for a stage and starts its 4 * kDepth steps as one wgmma group. With kFresh, chains begin
/// here from +0, and no move has to clear the accumulators.
template <class T, bool kFresh = false>
__device__ __forceinline__ void start_stage(const SharedLayout<T>& shared, int group,
                                            const RingCursor<T::kStages>& cursor,
                                            Accumulators<T>& acc) {
  // Descriptors count in units of 16 bytes.
  constexpr std::uint64_t kXStep = k16_step_bytes(T::kXMn) >> 4;
  constexpr std::uint64_t kYStep = k16_step_bytes(T::kYMn) >> 4;
  ptx::mbarrier_wait(shared.full + 8 * cursor.stage, cursor.parity);
  ptx::wgmma_fence();
#pragma unroll
  for (int b = 0; b < T::kDepth; ++b) {
    const std::uint64_t x =  // (64 * kBlocks, 64 k) of this group
        ptx::descriptor(shared.x(cursor.stage) + b * T::kXBytes + group * T::kBlocks * kSlabBytes,
                        kSlabBytes);
    const std::uint64_t y =  // (kN, 64 k)
        ptx::descriptor(shared.y(cursor.stage) + b * T::kYBytes, kSlabBytes);
#pragma unroll
    for (int step = 0; step < kBlockK / 16; ++step) {
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
        using Wgmma = ptx::Wgmma<T::kInput, T::kStepN, T::kXMn, T::kYMn>;
        const std::uint64_t x_step = x + i * (kSlabBytes >> 4) + step * kXStep;  // (64, 16 k)
#pragma unroll
        for (int n = 0; n < T::kN; n += T::kStepN) {
          auto& part = columns<T::kStepN>(acc[i], n);
          const std::uint64_t y_part = y + (n * kSpanBytes >> 4);  // (kStepN, 64 k)
          if (kFresh && b == 0 && step == 0) {
            Wgmma::template run<true>(part, x_step, y_part);
          } else {
            Wgmma::template run<false>(part, x_step, y_part + step * kYStep);
          }
        }
      }
    }
  }
  ptx::wgmma_commit();
}

/// The chain of every output of a tile: its k16 steps in ascending order.
///
///   acc = start -> [k 0..15] -> [k 16..31] -> ... -> [last k, zero-padded] -> epilogue
///                  '------------ one pipeline stage: 4 * kDepth steps ----'
///
/// One wgmma group stays in flight. While it runs, the stage of the group before it is handed back.
/// With kFresh the start is +0, and there is a stage.
template <class T, bool kFresh = false>
__device__ __forceinline__ void run_chain(const SharedLayout<T>& shared, int k_blocks, int group,
                                          RingCursor<T::kStages>& cursor, Stagger& stagger,
                                          Accumulators<T>& acc) {
  int previous = -1;
  int block = 0;
  if constexpr (kFresh) {
    start_stage<T, true>(shared, group, cursor, acc);
    stagger.stage_started();
    previous = cursor.stage;
    cursor.advance();
    block = T::kDepth;
  }
#pragma unroll 1
  for (; block < k_blocks; block += T::kDepth) {
    start_stage<T>(shared, group, cursor, acc);
    stagger.stage_started();
    ptx::wgmma_wait<1>();
    if (previous >= 0) release<T>(shared, previous);
    previous = cursor.stage;
    cursor.advance();
  }
  ptx::wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) ptx::pin(acc[i]);
  if (previous >= 0) release<T>(shared, previous);
}

}  // namespace detgemm::cuda::sm90
