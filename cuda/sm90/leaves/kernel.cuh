// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/finish.cuh"
#include "cuda/sm90/leaves/orders.cuh"
#include "cuda/sm90/leaves/parts.cuh"
#include "cuda/sm90/leaves/walk.cuh"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// Runs one consumer warp group: its share of every tile, or part of a tile, of the CTA.
template <class T>
__device__ __forceinline__ void run_leaf_consumer(const SharedLayout<T>& shared,
                                                  const LaunchMaps& maps, const LaunchShape& shape,
                                                  const GemmArguments& g, const LeafShape& leaf,
                                                  int group) {
  RingCursor<T::kStages> cursor;
  const LeafShared<T> leaf_shared(shared);
  ptx::griddepcontrol_wait();  // they may still read D, write C or use the workspace
  int box_index = 0;
  PartWalk<T> walk(leaf);
  LeafRange range = part_of(leaf, walk.part);
  int tile_x, tile_y;
  while (walk.next(shape.raster, tile_x, tile_y)) {
    if constexpr (T::kTakesRounds) range = part_of(leaf, walk.part);
    const int x0 = x_of<T>(shape, tile_x);
    const int y0 = y_of<T>(shape, tile_y);
    TileBias<T>::prefetch(g, shape, group, x0, y0);
    Accumulators<T> sums[T::kSums];  // (kSums, 64 * kBlocks, kN)
    Accumulators<T>& sum = sums[0];
    const bool from_c = leaf.from_c && walk.part == 0;
    IncomingC<T> c(leaf_shared, maps.c, from_c && leaf.c_by_tma, group, x0, y0, sum);
    if (from_c) {
      PartWalk<T> ahead = walk;
      int next_x, next_y;
      if (ahead.next(shape.raster, next_x, next_y)) {
        if (c.on) {
          c.prefetch(x_of<T>(shape, next_x), y_of<T>(shape, next_y));
        } else {
          prefetch_c<T>(g, shape, next_x, next_y);
        }
      }
      if (!c.on) start_sum_from_c<T>(g, shape, group, x0, y0, sum);
    }
    Leaves<T> leaves{leaf, range, group, {leaf, leaf_shared, group}, sums, from_c ? 1 : 0};
    const LeafStages<T> stages{shared, shape.k_blocks, group, cursor, c};
    if constexpr (T::kRegisters.order == Order::overlapped) {
      run_leaves_overlapped<T>(stages, leaves);
    } else if constexpr (T::kRegisters.order == Order::runs) {
      run_leaves_in_runs<T>(stages, leaves);
    } else {
      run_leaves_sequentially<T>(stages, leaves);
    }
    if (T::kCluster == 1 && leaf.split == Split::cluster) {
      if (!combine_in_cluster<T>(leaf, leaf_shared, group, sum)) continue;
    } else if (T::kCluster == 1 && leaf.split == Split::grid) {
      if (!combine_in_workspace<T>(leaf, leaf_shared, walk.tile, walk.part, group, sum)) continue;
    }
    // The origin is computed again: kept through the leaves, it would cost 128 x 128 a spill.
    const int x_end = x_of<T>(shape, tile_x);
    const int y_end = y_of<T>(shape, tile_y);
    // Boxes of D overwrite the slot: all warps of the group have read their sums from it.
    if constexpr (T::kBoxesInSlot) ptx::bar_sync(kGroupBarrier + group, 128);
    TileBias<T> bias;
    bias.load(g, shape, group, x_end, y_end);
    finish<T>(shared, maps, shape, g, group, cursor, bias, box_index, x_end, y_end, sum);
  }
  ptx::tma_store_wait_read<0>();  // TMA may still read the boxes
}

/// The wgmma kernel of fold and tree. Warp group 0 produces and groups 1 .. kGroups consume, as in
/// chain_kernel. A cluster consists of the parts of one tile.
///
///   leaf = a chain from +0 over its k blocks;  sum = a fold or tree over leaves (see Leaves)
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    leaf_kernel(const __grid_constant__ LaunchMaps maps, const __grid_constant__ LaunchShape shape,
                const __grid_constant__ GemmArguments g, const __grid_constant__ LeafShape leaf) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = warp_of_cta();
  if (threadIdx.x == 0) {
    init_ring<T>(shared);
    expect_parts<T>(leaf, LeafShared<T>(shared));
    IncomingC<T>::init(LeafShared<T>(shared));
    publish_barriers();
  }
  ptx::cluster_sync();  // no part may send before part 0 is ready
  if (warp < 4) {
    become_producer<T>();
    run_producer<T>(shared, maps, shape, false, warp, PartWalk<T>(leaf),
                    PartStages<T>{leaf, shape.k_blocks});
  } else {
    become_consumer<T>();
    run_leaf_consumer<T>(shared, maps, shape, g, leaf, warp / 4 - 1);
  }
  leave_cluster<T>();
}

}  // namespace detgemm::cuda::sm90
