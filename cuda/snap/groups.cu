// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/snap/groups.hpp"
#include "cuda/snap/warps.cuh"

// The kernels of groups.hpp. A launch may overlap the one before, as those of snap.cu.

namespace detgemm::cuda::snap {
namespace {

/// See groups.hpp.
template <int kLanes, int kWords>
struct GroupWarp {
  GroupLane<kWords> lane;

  template <class F>
  __device__ __forceinline__ void each(const F& f) {
    f(static_cast<int>(threadIdx.x % 32), lane);
  }
  template <class F>
  __device__ __forceinline__ bool any(const F& f) {
    return __any_sync(kAll, f(lane));
  }
  template <class F, class Take>
  __device__ __forceinline__ void add(const F& f, const Take& take) {
    float sum = f(lane);
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      sum = __fadd_rn(sum, __shfl_xor_sync(kAll, sum, distance));
    }
    take(lane, sum);
  }
  template <class F, class Take>
  __device__ __forceinline__ void sum(const F& f, const Take& take) {
    std::uint32_t sum = f(lane);
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(kAll, sum, distance);
    }
    take(lane, sum);
  }
  template <class F, class Take>
  __device__ __forceinline__ void max(const F& f, const Take& take) {
    std::uint32_t most = f(lane);
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      most = ::max(most, __shfl_xor_sync(kAll, most, distance));
    }
    take(lane, most);
  }
};

constexpr int ctas_of(int words) { return words <= 8 ? 6 : words <= 16 ? 4 : 2; }

template <int kLanes, int kWords, int kAtOnce>
__global__ void __launch_bounds__(kThreads, ctas_of(kWords* kAtOnce))
    snap_groups(const __grid_constant__ Operand o) {
  constexpr int kLeaves = 32 / kLanes;  // of a warp
  wait_for_earlier_work();
  const unsigned warps_per_cta = blockDim.x / 32;
  const unsigned warp = blockIdx.x * warps_per_cta + threadIdx.x / 32;
  const unsigned step = gridDim.x * warps_per_cta * kAtOnce * kLeaves;
  for (unsigned first = warp * kAtOnce * kLeaves; first < o.total; first += step) {
    GroupWarp<kLanes, kWords> teams[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      place(o, first + i * kLeaves + threadIdx.x % 32 / kLanes, teams[i].lane);
      load_groups<kLanes, kWords>(teams[i]);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      find_grids<kLanes * kWords * 2>(teams[i]);
      store_groups<kLanes, kWords>(teams[i]);
    }
  }
}

template <int kLanes, int kWords>
Kernel at_once(int count) {
  switch (count) {
    case 1:
      return of(&snap_groups<kLanes, kWords, 1>, kThreads);
    case 2:
      return of(&snap_groups<kLanes, kWords, 2>, kThreads);
    case 4:
      return of(&snap_groups<kLanes, kWords, 4>, kThreads);
  }
  return {};
}

}  // namespace

Kernel group_kernel(int lanes, int longest, int count) {
  switch (longest / lanes / 2) {  // words per lane
    case 8:
      return lanes == 4    ? at_once<4, 8>(count)
             : lanes == 8  ? at_once<8, 8>(count)
             : lanes == 16 ? at_once<16, 8>(count)
                           : at_once<32, 8>(count);
    case 16:
      return of(&snap_groups<32, 16, 1>, kThreads);
  }
  return {};
}

}  // namespace detgemm::cuda::snap
