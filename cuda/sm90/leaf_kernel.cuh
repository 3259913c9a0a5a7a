// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue_general.cuh"
#include "cuda/sm90/leaf_orders.cuh"
#include "cuda/sm90/leaf_parts.cuh"

namespace detgemm::cuda::sm90 {

/// The tiles of a CTA where tiles have parts: neighbouring CTAs take the parts of one tile. A pair
/// that shares an operand takes tiles of one part, as a chain's pairs do.
template <class T>
struct PartWalk {
  int parts;
  int part = T::kCluster > 1 ? 0 : static_cast<int>(blockIdx.x) % parts;
  int at = static_cast<int>(blockIdx.x) / (T::kCluster > 1 ? T::kCluster : parts);
  int tile = 0;

  __device__ explicit PartWalk(const LeafShape& leaf) : parts(leaf.parts) {}
  __device__ bool next(const Raster& raster, int& tile_x, int& tile_y) {
    if (at >= raster.tiles()) return false;
    tile = at;
    raster.locate(at, tile_x, tile_y);
    if constexpr (T::kCluster > 1) {
      int& mine = T::kSharesX ? tile_y : tile_x;
      mine = mine * T::kCluster + static_cast<int>(ptx::cluster_rank());
    }
    at += static_cast<int>(gridDim.x) / (T::kCluster > 1 ? T::kCluster : parts);
    return true;
  }
};

/// Asks L2 for the C that a tile will start from, long before it is read: a line a thread and turn.
template <class T>
__device__ __forceinline__ void prefetch_c(const GemmArguments& g, const LaunchShape& shape,
                                           int tile_x, int tile_y) {
  constexpr int kLine = 32;  // floats
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
  const bool rows_run_along_y = along_y == 1;
  const int lines = (rows_run_along_y ? T::kN : T::kX) / kLine + 1;
  const int rows = rows_run_along_y ? T::kX : T::kN;
  const auto* c = static_cast<const float*>(g.c);
  for (int i = static_cast<int>(threadIdx.x) - 128; i < rows * lines; i += T::kGroups * 128) {
    const int x = tile_x * T::kX + (rows_run_along_y ? i / lines : i % lines * kLine);
    const int y = tile_y * T::kN + (rows_run_along_y ? i % lines * kLine : i / lines);
    if (x >= shape.x_rows || y >= shape.y_rows) continue;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(c + x * along_x + y * along_y));
  }
}

/// A fold's start: fp32 C. Where neighbours along y are neighbours in memory two are one load, so
/// that each 32-byte sector is asked for once; start_from_c may not branch so.
template <class T>
__device__ __forceinline__ void start_sum_from_c(const GemmArguments& g, const LaunchShape& shape,
                                                 int group, int x0, int y0, Accumulators<T>& sum) {
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
  const auto* c = static_cast<const float*>(g.c);
  const bool in_pairs = along_y == 1 && along_x % 2 == 0 && shape.y_rows % 2 == 0 &&
                        reinterpret_cast<std::uintptr_t>(c) % 8 == 0;
  if (!in_pairs) {
    start_from_c<T>(g, shape, group, x0, y0, sum);
    return;
  }
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int x = x0 + (group * T::kBlocks + i) * 64 + warp * 16 + half * 8 + lane / 4;
      const float* row = c + min(x, shape.x_rows - 1) * along_x;
#pragma unroll
      for (int j = 0; j < T::kN / 8; ++j) {
        const int y = min(y0 + j * 8 + lane % 4 * 2, shape.y_rows - 2);
        const float2 pair = *reinterpret_cast<const float2*>(row + y);
        sum[i][j * 4 + half * 2] = pair.x;
        sum[i][j * 4 + half * 2 + 1] = pair.y;
      }
    }
  }
}

/// One consumer warp group: its share of every tile, or part of a tile, of the CTA.
template <class T>
__device__ __forceinline__ void run_leaf_consumer(const SharedLayout<T>& shared,
                                                  const LaunchMaps& maps, const LaunchShape& shape,
                                                  const GemmArguments& g, const LeafShape& leaf,
                                                  int group) {
  RingCursor<T::kStages> cursor;
  const LeafShared<T> leaf_shared(shared);
  ptx::wait_for_earlier_kernels();  // they may still read D, write C or use the workspace
  int box_index = 0;
  PartWalk<T> walk(leaf);
  const LeafRange range = part_of(leaf, walk.part);
  int tile_x, tile_y;
  while (walk.next(shape.raster, tile_x, tile_y)) {
    const int x0 = tile_x * T::kX;
    const int y0 = tile_y * T::kN;
    const bool from_c = leaf.from_c && walk.part == 0;
    if (from_c) {
      PartWalk<T> ahead = walk;
      int next_x, next_y;
      if (ahead.next(shape.raster, next_x, next_y)) prefetch_c<T>(g, shape, next_x, next_y);
    }
    Accumulators<T> sums[T::kSums];
    Leaves<T> leaves{leaf, range, group, {leaf, leaf_shared, group}, sums, 0};
    Accumulators<T>& sum = sums[0];
    if (from_c) {
      start_sum_from_c<T>(g, shape, group, x0, y0, sum);
      leaves.held = 1;
    }
    const LeafStages<T> stages{shared, shape.k_blocks, group, cursor};
    if constexpr (T::kRegisters.order == Order::under) {
      run_leaves_under<T>(stages, leaves);
    } else if constexpr (T::kRegisters.order == Order::fours) {
      run_leaves_in_fours<T>(stages, leaves);
    } else {
      run_leaves_in_turn<T>(stages, leaves);
    }
    if (T::kCluster == 1 && leaf.split == Split::cluster) {
      if (!meet_in_cluster<T>(leaf, leaf_shared, group, sum)) continue;
    } else if (T::kCluster == 1 && leaf.split == Split::grid) {
      if (!meet_in_workspace<T>(leaf, leaf_shared, walk.tile, walk.part, group, sum)) continue;
    }
    if constexpr (T::kGeneral) {
      finish_general<T>(shared, g, shape, group, x0, y0, sum);
    } else {
      // Boxes of D overwrite the slot: all warps of the group have read their sums from it.
      if constexpr (T::kBoxesInSlot) ptx::named_barrier(1 + group, 128);
      store_plain<T>(shared, maps.d, shape, group, box_index, sum, x0, y0);
    }
  }
  if (!T::kGeneral) ptx::tma_store_wait_read<0>();  // shared memory outlives its readers
}

/// The wgmma kernel of fold and tree: warp group 0 produces, groups 1 .. kGroups consume, as in
/// chain_kernel. A cluster here is the parts of one tile.
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    leaf_kernel(const __grid_constant__ LaunchMaps maps, const __grid_constant__ LaunchShape shape,
                const __grid_constant__ GemmArguments g, const __grid_constant__ LeafShape leaf) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = __shfl_sync(0xffffffffU, threadIdx.x / 32, 0);
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(shared.full + 8 * s, kFullArrivals);
      ptx::mbarrier_init(shared.empty + 8 * s, T::kGroups * T::kCluster);
    }
    expect_parts<T>(leaf, LeafShared<T>(shared));
    ptx::fence_mbarrier_init();
    ptx::let_next_kernel_start();
  }
  ptx::cluster_sync();  // no part may send before part 0 is there
  if (warp < 4) {
    if constexpr (T::kGroups == 2) ptx::registers_decrease<40>();
    const PartWalk<T> walk(leaf);
    run_producer<T>(shared, maps, shape, warp, walk,
                    blocks_of(leaf, part_of(leaf, walk.part), shape.k_blocks));
  } else {
    if constexpr (T::kGroups == 2) ptx::registers_increase<232>();
    run_leaf_consumer<T>(shared, maps, shape, g, leaf, warp / 4 - 1);
  }
  if constexpr (T::kCluster > 1) ptx::cluster_sync();  // a neighbour may still write here
}

}  // namespace detgemm::cuda::sm90
