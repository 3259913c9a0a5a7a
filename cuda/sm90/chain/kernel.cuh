// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/chain/in_turn.cuh"
#include "cuda/sm90/epilogue/finish.cuh"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// Runs one consumer warp group: its share of every tile of the CTA, from the start value to D.
template <class T>
__device__ __forceinline__ void run_consumer(const SharedLayout<T>& shared, const LaunchMaps& maps,
                                             const LaunchShape& shape, const GemmArguments& g,
                                             int group) {
  RingCursor<T::kStages> cursor;
  ptx::griddepcontrol_wait();  // they may still read D or write C; loads have begun
  // A CTA with one tile has no epilogue to hide, and its whole ring to fill. A C from which chains
  // start takes stages that both groups must hand back before the ring goes on.
  const bool lags =
      shape.raster.tiles() > static_cast<int>(gridDim.x) / T::kCluster && !g.continue_from_c;
  Stagger stagger = Stagger::start<T>(group, lags ? T::kLag : 0, shape.k_blocks);
  int box_index = 0;
  TileWalk<T> walk;
  int tile_x, tile_y;
  while (walk.next(shape.raster, tile_x, tile_y)) {
    const int x0 = x_of<T>(shape, tile_x);
    const int y0 = y_of<T>(shape, tile_y);
    Accumulators<T> acc;  // (64 * kBlocks, kN)
    TileBias<T> bias;
    if constexpr (T::kLoadsBiasEarly) {
      bias.load(g, shape, group, x0, y0);
    } else {
      TileBias<T>::prefetch(g, shape, group, x0, y0);
    }
    start_chains<T>(shared, shape, g, group, cursor, x0, y0, acc);
    run_chain<T>(shared, shape.k_blocks, group, cursor, stagger, acc);
    finish<T>(shared, maps, shape, g, group, cursor, bias, box_index, x0, y0, acc);
  }
  ptx::tma_store_wait_read<0>();  // TMA may still read the boxes
}

/// The wgmma kernel of chains. Warp group 0 produces, and groups 1 .. kGroups consume.
///
///   TMA ->  [ X | Y ] [ X | Y ] [ X | Y ] ...   ring of kStages stages in shared memory:
///                |                               X (kX, 64 * kDepth), Y (kN, 64 * kDepth)
///                |
///              wgmma: group g multiplies its 64 * kBlocks rows of X with all of Y (run_chain);
///                |      or groups take tiles in turn (run_consumer_in_turn)
///                |
///              registers -> shared memory -> D
template <class T>
__global__ void __launch_bounds__(T::kThreads, T::kCtas)
    chain_kernel(const __grid_constant__ LaunchMaps maps, const __grid_constant__ LaunchShape shape,
                 const __grid_constant__ GemmArguments g) {
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
    run_producer<T>(shared, maps, shape, g.continue_from_c, warp, TileWalk<T>{},
                    BlockRange{0, shape.k_blocks});
  } else {
    become_consumer<T>();
    if constexpr (T::kTurns > 1) {
      run_consumer_in_turn<T>(shared, maps, shape, g, warp / 4 - 1);
    } else {
      run_consumer<T>(shared, maps, shape, g, warp / 4 - 1);
    }
  }
  leave_cluster<T>();
}

}  // namespace detgemm::cuda::sm90
