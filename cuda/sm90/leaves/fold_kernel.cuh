// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/finish.cuh"
#include "cuda/sm90/leaves/fold.cuh"
#include "cuda/sm90/leaves/shape.hpp"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// Runs one consumer warp group: its share of every tile of the CTA.
template <class T>
__device__ __forceinline__ void run_fold_consumer(const SharedLayout<T>& shared,
                                                  const LaunchMaps& maps, const LaunchShape& shape,
                                                  const GemmArguments& g, const LeafShape& leaf,
                                                  int group) {
  RingCursor<T::kStages> cursor;
  ptx::griddepcontrol_wait();  // they may still read D or write C
  int box_index = 0;
  TileWalk<T> walk;
  int tile_x, tile_y;
  if (T::kTakesTurns && group == 1) ptx::bar_arrive(kTurnBarrier, 256);  // group 0 begins
  while (walk.next(shape.raster, tile_x, tile_y)) {
    TileBias<T>::prefetch(g, shape, group, x_of<T>(shape, tile_x), y_of<T>(shape, tile_y));
    Accumulators<T> sum;  // (64 * kBlocks, kN)
    if constexpr (T::kFromC) {
      start_chains<T>(shared, shape, g, group, cursor, x_of<T>(shape, tile_x),
                      y_of<T>(shape, tile_y), sum);
    } else {
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
        for (int j = 0; j < T::kN / 2; ++j) sum[i][j] = 0.0F;
      }
    }
    FoldedLeaves<T>{shared, shape.k_blocks, leaf.leaf_blocks, group, cursor, sum}.run();
    // The origin is computed again, so that no register keeps it through the leaves.
    const int x_end = x_of<T>(shape, tile_x);
    const int y_end = y_of<T>(shape, tile_y);
    TileBias<T> bias;
    bias.load(g, shape, group, x_end, y_end);
    finish<T>(shared, maps, shape, g, group, cursor, bias, box_index, x_end, y_end, sum);
  }
  if (T::kTakesTurns && group == 0)
    ptx::bar_sync(kTurnBarrier, 256);  // the turn that no group took
  ptx::tma_store_wait_read<0>();       // TMA may still read the boxes
}

/// The wgmma kernel of folds that one CTA per tile adds up, from +0, or from C, which the ring
/// brings ahead of the first leaf. Warp group 0 produces and groups 1 .. kGroups consume, as in
/// chain_kernel.
///
///   ring | C, slabs of y | l0, stage 0 | l0, stage 1 | ... | l1, stage 0 | ...
///   sum  = C, then + l0, + l1, ...
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    fold_kernel(const __grid_constant__ LaunchMaps maps, const __grid_constant__ LaunchShape shape,
                const __grid_constant__ GemmArguments g, const __grid_constant__ LeafShape leaf) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = warp_of_cta();
  if (threadIdx.x == 0) {
    init_ring<T>(shared);
    publish_barriers();
  }
  sync_barriers<T>();
  if (warp < 4) {
    become_producer<T>();
    run_producer<T>(shared, maps, shape, T::kFromC, warp, TileWalk<T>{},
                    BlockRange{0, shape.k_blocks});
  } else {
    become_consumer<T>();
    run_fold_consumer<T>(shared, maps, shape, g, leaf, warp / 4 - 1);
  }
  leave_cluster<T>();
}

}  // namespace detgemm::cuda::sm90
