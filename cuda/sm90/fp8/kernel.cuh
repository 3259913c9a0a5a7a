// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/finish.cuh"
#include "cuda/sm90/fp8/lines.cuh"
#include "cuda/sm90/fp8/sums.cuh"
#include "cuda/sm90/leaves/c.cuh"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// The barriers of a kernel, by one thread of the CTA.
template <class T>
__device__ __forceinline__ void init_fp8_barriers(const SharedLayout<T>& shared, bool in_rows) {
  const int of_scales = in_rows ? kRowThreads : kScaleThreads;
  for (int s = 0; s < T::kStages; ++s) {
    ptx::mbarrier_init(shared.full + 8 * s, kFullArrivals + (T::kStageScales ? of_scales : 0));
    ptx::mbarrier_init(shared.empty + 8 * s, T::kEmpty);
  }
  if constexpr (!T::kStageScales) {
    for (int s = 0; s < T::kSlots; ++s) {
      ptx::mbarrier_init(scales_full(shared, s), of_scales);
      ptx::mbarrier_init(scales_empty(shared, s), 32 * T::kWarps);
    }
  }
}

/// Runs one consumer warp group: its share of every tile of the CTA, from the start value to D.
template <class T>
__device__ __forceinline__ void run_fp8_consumer(const SharedLayout<T>& shared,
                                                 const LaunchMaps& maps, const LaunchShape& shape,
                                                 const GemmArguments& g, const Fp8Shape& fp8,
                                                 int group) {
  RingCursor<T::kStages> cursor;
  RingCursor<T::kSlots> slots;
  ptx::griddepcontrol_wait();  // they may still read D or write C
  int box_index = 0;
  TileWalk<T> walk;
  int tile_x, tile_y;
  if (T::kTakesTurns && group == 1) ptx::bar_arrive(kTurnBarrier, 256);  // group 0 begins
  while (walk.next(shape.raster, tile_x, tile_y)) {
    const int x0 = x_of<T>(shape, tile_x);
    const int y0 = y_of<T>(shape, tile_y);
    TileBias<T>::prefetch(g, shape, group, x0, y0);
    Accumulators<T> sum;  // (64 * kBlocks, kN)
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < T::kN / 2; ++j) sum[i][j] = 0.0F;
    }
    if (fp8.from_c) start_sum_from_c<T>(g, shape, group, x0, y0, sum);
    Fp8Leaves<T>{shared, shape.k_blocks, fp8.leaf_blocks,
                 group,  y0 % 128 != 0,  RowsSkipped::of(fp8, x0, shape.x_rows),
                 cursor, slots,          sum}
        .run();
    // The origin is computed again, so that no register keeps it through the leaves.
    const int x_end = x_of<T>(shape, tile_x);
    const int y_end = y_of<T>(shape, tile_y);
    if constexpr (!T::kScaled) {
      if (fp8.of_lines) multiply_by_lines<T>(shared, slots, shape.swapped, group, sum);
    }
    TileBias<T> bias;
    bias.load(g, shape, group, x_end, y_end);
    finish<T>(shared, maps, shape, g, group, cursor, bias, box_index, x_end, y_end, sum);
  }
  if (T::kTakesTurns && group == 0)
    ptx::bar_sync(kTurnBarrier, 256);  // the turn that no group took
  ptx::tma_store_wait_read<0>();       // TMA may still read the boxes
}

/// The wgmma kernel of e4m3 under fold, scaled and chain. Warp group 0 produces and groups
/// 1 .. kGroups consume, as in chain_kernel.
///
///   TMA ->  [ X | Y ] [ X | Y ] ...     ring of stages: X (kX, 128 k), Y (kN, 128 k)
///   copies  [ scales  ] [ scales  ]     ring of slots: the scales of a leaf
///                |
///   leaf = a chain from +0 over its k32 steps;  sum = fma(sx * sy, leaf, sum)  (Fp8Leaves)
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    fp8_kernel(const __grid_constant__ LaunchMaps maps, const __grid_constant__ LaunchShape shape,
               const __grid_constant__ GemmArguments g, const __grid_constant__ Fp8Shape fp8) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = warp_of_cta();
  if (threadIdx.x == 0) {
    init_fp8_barriers(shared, fp8.in_rows);
    publish_barriers();
  }
  sync_barriers<T>();
  if (warp < 4) {
    become_producer<T>();
    run_fp8_producer<T>(shared, maps, shape, fp8, warp);
  } else {
    become_consumer<T>();
    run_fp8_consumer<T>(shared, maps, shape, g, fp8, warp / 4 - 1);
  }
  leave_cluster<T>();
}

}  // namespace detgemm::cuda::sm90
