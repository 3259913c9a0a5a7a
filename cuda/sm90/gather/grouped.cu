// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/gather/tile.cuh"
#include "cuda/sm90/ptx/control.cuh"
#include "cuda/walk.cuh"

// The kernel of gather over many groups, for all that no faster kernel takes: any strides, any
// offsets, chain, fold and tree. It multiplies as gather does, a group being a GEMM of its own:
//
//   warp 0:  offsets -> group and tile -> the group's arguments in shared memory
//   all:     a tile of that group (gather::compute_tile)

namespace detgemm::cuda::sm90 {
namespace {

template <DType T, bool kLeaves>
__global__ void __launch_bounds__(gather::kThreads, 1)
    grouped_gather_kernel_of(const __grid_constant__ GroupedArguments p,
                             const GatherLeaves leaves) {
  __shared__ __align__(128) unsigned char memory[gather::kSharedBytes];
  __shared__ __align__(16) unsigned char room[sizeof(GemmArguments)];
  __shared__ std::int64_t inside;
  auto* g = reinterpret_cast<GemmArguments*>(room);
  const std::int64_t tiles_n = (p.all.n + gather::kTile - 1) / gather::kTile;
  ptx::wait_for_earlier_work();
  grouped::GroupWalk walk(p, gather::kTile, tiles_n);
#pragma unroll 1
  for (std::int64_t tile = blockIdx.x;; tile += gridDim.x) {
    if (threadIdx.x < 32) {
      grouped::GroupTile found;
      const bool exists = walk.find(tile, found);
      if (threadIdx.x == 0) {
        inside = exists ? found.inside : -1;
        if (exists) *g = arguments_of_group(p, found.group);
      }
    }
    __syncthreads();
    if (inside < 0) return;
    gather::compute_tile<T, kLeaves, true>(*g, leaves, memory, inside, tiles_n);
  }
}

}  // namespace

Kernel grouped_gather_kernel(DType type, bool leaves) {
  const auto of = [&]<DType T>() {
    return leaves ? reinterpret_cast<const void*>(&grouped_gather_kernel_of<T, true>)
                  : reinterpret_cast<const void*>(&grouped_gather_kernel_of<T, false>);
  };
  const void* const kernel = type == DType::bf16   ? of.template operator()<DType::bf16>()
                             : type == DType::fp16 ? of.template operator()<DType::fp16>()
                                                   : of.template operator()<DType::tf32>();
  return {kernel, gather::kThreads, 0};
}

}  // namespace detgemm::cuda::sm90
