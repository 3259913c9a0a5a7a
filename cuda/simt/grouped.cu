// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/simt/grouped.hpp"
#include "cuda/simt/kernel.cuh"
#include "cuda/walk.cuh"

// The kernel of ieee_fma over many groups: any strides and offsets, chain, fold and tree. It is
// simt_kernel with another walk over tiles:
//
//   warp 0:  offsets -> group and tile -> the group's parameters in shared memory
//   all:     a tile of that group, by the main loop and the epilogue of simt_kernel

namespace detgemm::cuda::simt {
namespace {

constexpr Tile kTile = kTiles[kGroupedTile];
constexpr int kCtas = kTile.ctas - 2;  // the arguments of a group take registers too

template <DType T>
__device__ __forceinline__ Operand operand_of(const void* data, std::int64_t lines,
                                              std::int64_t line_stride, std::int64_t k_stride,
                                              const GemmArguments& g) {
  constexpr std::int64_t kRun = T == DType::fp32 ? 4 : 8;  // elements of 16 bytes
  Operand o{data, lines, line_stride, k_stride, k_stride == 1 && line_stride != 1, false};
  const std::int64_t unit = o.along ? k_stride : line_stride;
  const std::int64_t apart = o.along ? line_stride : k_stride;
  const bool chain = g.reduction.kind == ReductionKind::chain;
  o.vector = unit == 1 && apart % kRun == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
             (!o.along || chain || g.reduction.leaf_k % kRun == 0);
  return o;
}

/// What make_params makes of a GEMM on the host.
template <DType T>
__device__ __forceinline__ void put_params(const GemmArguments& g, Params& p) {
  p.g = g;
  p.a = operand_of<T>(g.a, g.m, g.as.row, g.as.col, g);
  p.b = operand_of<T>(g.b, g.n, g.bs.col, g.bs.row, g);
  p.swapped = false;
  p.leaf_k = g.reduction.kind == ReductionKind::chain ? g.k : g.reduction.leaf_k;
  p.leaves = g.k == 0 ? 0 : leaves_of(g.k, p.leaf_k);
  const std::int64_t run = g.output == DType::fp32 ? 16 : 8;  // bytes of 4 outputs
  p.plain = only_rounds(g.epilogue) && (g.ds.col == 1 || g.n == 1) && g.ds.row % 4 == 0 &&
            reinterpret_cast<std::uintptr_t>(g.d) % run == 0;
}

template <DType T>
__global__ void __launch_bounds__(kTile.threads(), kCtas)
    grouped_simt_kernel(const __grid_constant__ GroupedArguments all) {
  extern __shared__ __align__(16) float memory[];
  __shared__ __align__(16) unsigned char room[sizeof(Params)];
  __shared__ std::int64_t inside;
  auto& p = *reinterpret_cast<Params*>(room);
  const Place<kTile> where;
  const std::int64_t tiles_n = (all.all.n + kTile.cols() - 1) / kTile.cols();
  grouped::GroupWalk walk(all, kTile.rows(), tiles_n);
#pragma unroll 1
  for (std::int64_t tile = blockIdx.x;; tile += gridDim.x) {
    if (threadIdx.x < 32) {
      grouped::GroupTile found;
      const bool exists = walk.find(tile, found);
      if (threadIdx.x == 0) {
        inside = exists ? found.inside : -1;
        if (exists) put_params<T>(arguments_of_group(all, found.group), p);
      }
    }
    __syncthreads();
    if (inside < 0) return;
    const std::int64_t row0 = inside / tiles_n * kTile.rows();
    const std::int64_t col0 = inside % tiles_n * kTile.cols();
    if (row0 >= p.g.m) {  // the offsets have changed since the tile was found
      __syncthreads();
      continue;
    }
    const Epilogue<kTile> ends(p.g, false, memory, where, row0, col0);
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
    Mainloop<T, kTile, Way::any, Way::any> loop(p, memory, where, row0, col0);
    const bool chain = p.g.reduction.kind == ReductionKind::chain;
    const std::int64_t leaves = p.leaves;
    const auto set = [&](bool zero) {
#pragma unroll
      for (int i = 0; i < kTile.thread_rows; ++i) {
#pragma unroll
        for (int j = 0; j < kTile.thread_cols; ++j) loop.acc[i][j] = zero ? 0.0F : start[i][j];
      }
    };
    set(false);
    Reducer<kTile> reducer(p.g.reduction.kind, leaves, memory + ring_bytes(kTile) / 4);
    if (!chain && leaves > 0) reducer.start(loop.acc);
    std::int64_t left = p.g.k;
#pragma unroll 1
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
      if (!chain) set(true);
      loop.multiply(left < p.leaf_k ? left : p.leaf_k);
      left -= p.leaf_k;
      if (!chain) reducer.end_leaf(leaf, loop.acc);
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

}  // namespace

Kernel grouped_kernel(DType type) {
  const void* function =
      type == DType::bf16   ? reinterpret_cast<const void*>(&grouped_simt_kernel<DType::bf16>)
      : type == DType::fp16 ? reinterpret_cast<const void*>(&grouped_simt_kernel<DType::fp16>)
                            : reinterpret_cast<const void*>(&grouped_simt_kernel<DType::fp32>);
  return {function, kTile.threads(), kMaxShared};
}

}  // namespace detgemm::cuda::simt
