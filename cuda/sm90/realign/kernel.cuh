// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <utility>

#include "cuda/sample.hpp"
#include "cuda/sm90/epilogue/general.cuh"
#include "cuda/sm90/pipeline/roles.cuh"
#include "cuda/sm90/realign/producer.cuh"
#include "cuda/sm90/realign/realign.hpp"

namespace detgemm::cuda::sm90 {

/// The wgmma kernel for operands at any alignment. Warp group 0 copies and realigns; the others
/// consume as in chain_kernel, with the same chains (run_chain). No registers move between them:
/// 168 per thread are enough for the accumulators and for the shift.
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    realign_kernel(const __grid_constant__ RealignMaps maps,
                   const __grid_constant__ RealignShifts shifts,
                   const __grid_constant__ LaunchShape shape,
                   const __grid_constant__ GemmArguments g) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = warp_of_cta();
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(shared.full + 8 * s, 4);  // the producer warps
      ptx::mbarrier_init(shared.empty + 8 * s, T::kGroups);
    }
    for (int s = 0; s < 4 * T::kRawStages; ++s) {
      ptx::mbarrier_init(shared.empty + 8 * (T::kStages + s), 1);
    }
    publish_barriers();
  }
  __syncthreads();
  if (warp < 4) {
    run_realigner<T>(shared, maps, shape, shifts, warp);
    return;
  }
  const int group = warp / 4 - 1;
  RingCursor<T::kStages> cursor;
  ptx::griddepcontrol_wait();  // they may still read D or write C; copies have begun
  Stagger in_step{0};          // the ring is too short for a lag
  TileWalk<T> walk;
  int tile_x, tile_y;
  while (walk.next(shape.raster, tile_x, tile_y)) {
    Accumulators<T> acc;  // (64 * kBlocks, kN)
    if constexpr (T::kForm == Form::from_c) {
      start_from_c<T>(g, shape, group, x_of<T>(shape, tile_x), y_of<T>(shape, tile_y), acc);
    } else {
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
        for (int j = 0; j < T::kN / 2; ++j) acc[i][j] = 0.0F;
        ptx::pin(acc[i]);  // a single definition, or ptxas serialises every wgmma
      }
    }
    run_chain<T>(shared, shape.k_blocks, group, cursor, in_step, acc);
    // The tile's origin is computed again: kept through the chain, it would cost a spill.
    finish_general<T>(shared, g, shape, group, x_of<T>(shape, tile_x), y_of<T>(shape, tile_y), acc);
  }
}

template <DType T, std::size_t kI, bool kXMn, bool kYMn, Form kForm>
Kernel compiled_realign() {
  constexpr Geometry kG = kRealignGeometries[kI];
  constexpr bool kHasForm = kForm != Form::from_c || starts_from_c(kG);
  if constexpr (kHasForm && is_built(accumulators_of(kRealignGeometries, kXMn, kYMn), kI,
                                     sampled_as(T, kXMn, kYMn))) {
    using Tile = RealignTile<T, kG, kXMn, kYMn, kForm>;
    return {reinterpret_cast<const void*>(&realign_kernel<Tile>), Tile::kThreads, Tile::kTotalBytes,
            1};
  } else {
    return {};
  }
}

template <DType T, bool kXMn, bool kYMn>
Kernel realign_kernel_of(int geometry, Form form) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, 2 * sizeof...(I)>{
        compiled_realign<T, I, kXMn, kYMn, Form::general>()...,
        compiled_realign<T, I, kXMn, kYMn, Form::from_c>()...};
  }
  (std::make_index_sequence<kRealignGeometries.size()>());
  const std::size_t first = form == Form::from_c ? kRealignGeometries.size() : 0;
  return all[first + static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
