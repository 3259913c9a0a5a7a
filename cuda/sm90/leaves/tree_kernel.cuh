// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/finish.cuh"
#include "cuda/sm90/leaves/tree.cuh"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// Runs one consumer warp group: its share of every tile of the CTA.
template <class T>
__device__ __forceinline__ void run_tree_consumer(const SharedLayout<T>& shared,
                                                  const LaunchMaps& maps, const LaunchShape& shape,
                                                  const GemmArguments& g, const LeafShape& leaf,
                                                  int group) {
  RingCursor<T::kStages> cursor;
  TreeSlot<T> waiting{shared, leaf, group};
  ptx::griddepcontrol_wait();  // they may still read D, write C or use the workspace
  int box_index = 0;
  TileWalk<T> walk;
  int tile_x, tile_y;
  if (group == 1) ptx::bar_arrive(kTurnBarrier, 256);  // group 0 begins
  while (walk.next(shape.raster, tile_x, tile_y)) {
    TileBias<T>::prefetch(g, shape, group, x_of<T>(shape, tile_x), y_of<T>(shape, tile_y));
    Accumulators<T> sum;  // (64 * kBlocks, kN)
    TreeOfLeaves<T>{shared, leaf, shape.k_blocks, group, cursor, waiting, sum}.run();
    // The tile is located again, so that no register keeps its place through the leaves.
    TileWalk<T> here = walk;
    here.at -= static_cast<int>(gridDim.x) / T::kCluster;
    here.next(shape.raster, tile_x, tile_y);
    const int x_end = x_of<T>(shape, tile_x);
    const int y_end = y_of<T>(shape, tile_y);
    // Boxes of D overwrite the slot: all warps of the group have read their sums from it.
    ptx::bar_sync(kGroupBarrier + group, 128);
    TileBias<T> bias;
    bias.load(g, shape, group, x_end, y_end);
    finish<T>(shared, maps, shape, g, group, cursor, bias, box_index, x_end, y_end, sum);
  }
  if (group == 0) ptx::bar_sync(kTurnBarrier, 256);  // the turn that no group took
  ptx::tma_store_wait_read<0>();                     // TMA may still read the boxes
}

/// The wgmma kernel of trees that one CTA per tile adds up, in wide tiles. Warp group 0 produces
/// and groups 1 and 2 consume, as in chain_kernel.
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    tree_kernel(const __grid_constant__ LaunchMaps maps, const __grid_constant__ LaunchShape shape,
                const __grid_constant__ GemmArguments g, const __grid_constant__ LeafShape leaf) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = warp_of_cta();
  if (threadIdx.x == 0) {
    init_ring<T>(shared);
    TreeSlot<T>::init(shared);
    publish_barriers();
  }
  sync_barriers<T>();
  if (warp < 4) {
    become_producer<T>();
    run_producer<T>(shared, maps, shape, false, warp, TileWalk<T>{},
                    LeavesFromTheRight{leaf.leaves, leaf.leaf_blocks, shape.k_blocks});
  } else {
    become_consumer<T>();
    run_tree_consumer<T>(shared, maps, shape, g, leaf, warp / 4 - 1);
  }
  leave_cluster<T>();
}

}  // namespace detgemm::cuda::sm90
