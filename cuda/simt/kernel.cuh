// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <type_traits>

#include "cuda/simt/epilogue.cuh"
#include "cuda/simt/leaves.cuh"
#include "cuda/simt/line_mainloop.cuh"
#include "cuda/simt/mainloop.cuh"

namespace detgemm::cuda::simt {

/// The kernel of ieee_fma on CUDA cores, for any shape and strides. A CTA takes tiles of D in turn
/// and owns their outputs: K is never divided between threads.
///
///   shared memory: [ ring of stages | sums that wait, if there are leaves ]
///
/// The tile is Shape::tile, because nvcc's host stubs take types, but no structs, as template
/// arguments. Mainloop draws the chain of an output, and Reducer what happens between leaves.
template <DType T, class Shape, Way kA, Way kB>
__global__ void __launch_bounds__(Shape::tile.threads(), Shape::tile.ctas)
    simt_kernel(const __grid_constant__ Params p) {
  constexpr Tile kTile = Shape::tile;
  extern __shared__ __align__(16) float memory[];
  const Place<kTile> where;
  const std::int64_t tiles = p.tiles_m * p.tiles_n;
  const std::int64_t stripe = p.band * p.tiles_m;  // tiles per stripe
#pragma unroll 1
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t first = tile / stripe * p.band;
    const std::int64_t width = p.tiles_n - first < p.band ? p.tiles_n - first : p.band;
    const std::int64_t inside = tile % stripe;
    const std::int64_t row0 = inside / width * kTile.rows();
    const std::int64_t col0 = (first + inside % width) * kTile.cols();
    const Epilogue<kTile> ends(p.g, p.swapped, memory, where, row0, col0);
    float start[kTile.thread_rows][kTile.thread_cols];  // outputs of this thread
#pragma unroll
    for (int i = 0; i < kTile.thread_rows; ++i) {
#pragma unroll
      for (int j = 0; j < kTile.thread_cols; ++j) start[i][j] = 0.0F;
    }
    if (p.g.continue_from_c) {
      ends.load_start(start);
      __syncthreads();
    }
    using Loop = std::conditional_t<kTile.lines, LineMainloop<kTile>, Mainloop<T, kTile, kA, kB>>;
    Loop loop(p, memory, where, row0, col0);
    const auto set = [&](bool zero) {
#pragma unroll
      for (int i = 0; i < kTile.thread_rows; ++i) {
#pragma unroll
        for (int j = 0; j < kTile.thread_cols; ++j) loop.acc[i][j] = zero ? 0.0F : start[i][j];
      }
    };
    set(false);
    if constexpr (!kTile.leaves) {
      loop.multiply(p.g.k);
    } else {  // a chain is its only leaf, so that the slab code is emitted once
      const bool chain = p.g.reduction.kind == ReductionKind::chain;
      Reducer<kTile> reducer(p.g.reduction.kind, p.leaves, memory + ring_bytes(kTile) / 4);
      if (!chain && p.leaves > 0) reducer.start(loop.acc);
      std::int64_t left = p.g.k;
#pragma unroll 1
      for (std::int64_t leaf = 0; leaf < p.leaves; ++leaf) {
        if (!chain) set(true);
        loop.multiply(left < p.leaf_k ? left : p.leaf_k);
        left -= p.leaf_k;
        if (!chain) reducer.end_leaf(leaf, loop.acc);
      }
    }
    __syncthreads();  // the ring is free for the epilogue
    if (p.plain) {
      ends.store_plain(loop.acc);
    } else {
      ends.store(loop.acc);
    }
    __syncthreads();
  }
}

}  // namespace detgemm::cuda::simt
