// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/log_prob/nodes.cuh"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// A consumer warp group of log_tiles_kernel.
template <class T>
__device__ __forceinline__ void run_log_consumer(const SharedLayout<T>& shared,
                                                 const LaunchShape& shape, const GemmArguments& g,
                                                 const LogTiles& tiles, int group) {
  RingCursor<T::kStages> cursor;
  ptx::griddepcontrol_wait();
  const bool lags = shape.raster.tiles() > static_cast<int>(gridDim.x);
  Stagger stagger = Stagger::start<T>(group, lags ? T::kLag : 0, shape.k_blocks);
  TileWalk<T> walk;
  int tile_x, tile_y;
  while (walk.next(shape.raster, tile_x, tile_y)) {
    const int x0 = x_of<T>(shape, tile_x);
    const int y0 = y_of<T>(shape, tile_y);
    Accumulators<T> acc;
    TileBias<T>::prefetch(g, shape, group, x0, y0);
    TileRows<T> rows;
    const int line = static_cast<int>(threadIdx.x % 128);
    rows.load(tiles, shape.x_rows, x0 + group * T::kBlocks * 64 + line / 32 * 16 + line % 32 / 4,
              y0);
    run_chain<T, true>(shared, shape.k_blocks, group, cursor, stagger, acc);
    if (shape.finishes) {
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
        for (int j = 0; j < T::kN / 2; ++j) {
          acc[i][j] = arithmetic::mul_rn(g.epilogue.alpha, acc[i][j]);
        }
      }
      if (g.epilogue.has_bias) {
        TileBias<T> bias;
        bias.load(g, shape, group, x0, y0);
        bias.add_to(shared, g, shape, group, acc);
      }
    }
    if (tiles.nodes.a != nullptr) {
      store_nodes<T, true>(shared, shape, tiles, group, x0, y0, rows, acc);
    } else {
      store_nodes<T, false>(shared, shape, tiles, group, x0, y0, rows, acc);
    }
  }
}

/// The chain kernel with logits that are never stored: each tile of T x kN of them becomes one node
/// of logsum16 per row.
///
///   TMA -> ring of stages -> wgmma -> registers: one node per row and kN columns -> planes of
///   nodes
///                                                the logits of targets -> target_logit
template <class T>
__global__ void __launch_bounds__(T::kThreads, T::kCtas)
    log_tiles_kernel(const __grid_constant__ LaunchMaps maps,
                     const __grid_constant__ LaunchShape shape,
                     const __grid_constant__ GemmArguments g,
                     const __grid_constant__ LogTiles tiles) {
  static_assert(T::kCluster == 1, "The ring of a cluster needs a barrier at the kernel's end.");
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = warp_of_cta();
  if (threadIdx.x == 0) {
    init_ring<T>(shared);
    publish_barriers();
  }
  __syncthreads();
  if (warp < 4) {
    become_producer<T>();
    run_producer<T>(shared, maps, shape, false, warp, TileWalk<T>{}, BlockRange{0, shape.k_blocks});
  } else {
    become_consumer<T>();
    run_log_consumer<T>(shared, shape, g, tiles, warp / 4 - 1);
  }
}

}  // namespace detgemm::cuda::sm90
