// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/gather/tile.cuh"
#include "cuda/sm90/ptx/control.cuh"

namespace detgemm::cuda::sm90 {
namespace {

template <DType T, bool kLeaves>
__global__ void __launch_bounds__(gather::kThreads, 1)
    gather_kernel_of(const __grid_constant__ GemmArguments g, const GatherLeaves leaves) {
  __shared__ __align__(128) unsigned char memory[gather::kSharedBytes];
  const std::int64_t tiles_n = (g.n + gather::kTile - 1) / gather::kTile;
  const std::int64_t tiles = (g.m + gather::kTile - 1) / gather::kTile * tiles_n;
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    gather::compute_tile<T, kLeaves>(g, leaves, memory, tile, tiles_n);
  }
}

}  // namespace

Kernel gather_kernel(DType type, bool leaves) {
  const auto of = [&]<DType T>() {
    return leaves ? reinterpret_cast<const void*>(&gather_kernel_of<T, true>)
                  : reinterpret_cast<const void*>(&gather_kernel_of<T, false>);
  };
  return {type == DType::bf16 ? of.template operator()<DType::bf16>()
                              : of.template operator()<DType::fp16>(),
          gather::kThreads, 0};
}

}  // namespace detgemm::cuda::sm90
