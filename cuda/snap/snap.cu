// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/snap/columns.hpp"
#include "cuda/snap/long_leaf.hpp"
#include "cuda/snap/rows.hpp"
#include "cuda/snap/warps.cuh"

// The kernels: warps and CTAs walk through the leaves of an operand. A launch may overlap the one
// before; it waits for all earlier work before it reads or writes, and lets the next one start.

namespace detgemm::cuda::snap {
namespace {

/// See columns.hpp.
template <int kWords>
struct Cta {
  ColumnWords<kWords> state;

  template <class F>
  __device__ __forceinline__ void each(const F& f) {
    f(static_cast<int>(threadIdx.x / 32), static_cast<int>(threadIdx.x % 32), state);
  }
  __device__ __forceinline__ void sync() { __syncthreads(); }
};

/// See long_leaf.hpp.
struct LongThread {
  template <class F>
  __device__ __forceinline__ void each(std::int64_t count, const F& f) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
  }
  template <class F>
  __device__ __forceinline__ std::uint32_t max(std::int64_t count, const F& f) {
    std::uint32_t most = 0;
    each(count, [&](std::int64_t i) { most = ::max(most, f(i)); });
    return most;
  }
  template <class F>
  __device__ __forceinline__ std::uint64_t sum(std::int64_t count, const F& f) {
    std::uint64_t sum = 0;
    each(count, [&](std::int64_t i) { sum += f(i); });
    return sum;
  }
};

template <int kWords, int kAtOnce>
__global__ void __launch_bounds__(kThreads, kWords* kAtOnce > 8 ? 2 : kCtasPerSm)
    snap_rows(const __grid_constant__ Operand o) {
  wait_for_earlier_work();
  for (Walk at = warps((o.leaves + kAtOnce - 1) / kAtOnce); at.row < o.vectors; at.next()) {
    Warp<LaneWords<kWords>> teams[kAtOnce];
    snap_leaves<kAtOnce>(o, {at.row, at.column * kAtOnce}, teams);
  }
}

template <int kWords, int kWarps>
__global__ void __launch_bounds__(kWarps * 32) snap_across(const __grid_constant__ Operand o) {
  __shared__ Shared<kWarps> shared;
  wait_for_earlier_work();
  const std::int64_t tiles = (o.vectors + kColumns - 1) / kColumns;
  for (Walk at(blockIdx.x, gridDim.x, tiles); at.row < o.leaves; at.next()) {
    Cta<kWords> team;
    snap_columns<kWords>(o, {at.column * kColumns, at.row}, team, shared);
  }
}

__global__ void __launch_bounds__(kThreads, 2) snap_long_rows(const __grid_constant__ Operand o) {
  wait_for_earlier_work();
  for (Walk at = warps(o.leaves); at.row < o.vectors; at.next()) {
    LongWarp team;
    snap_long_leaf(o, at.row, at.column, team);
  }
}

__global__ void __launch_bounds__(kThreads, 2) snap_long_across(const __grid_constant__ Operand o) {
  wait_for_earlier_work();
  for (Walk at(std::int64_t{blockIdx.x} * kThreads + threadIdx.x,
               std::int64_t{gridDim.x} * kThreads, o.vectors);
       at.row < o.leaves; at.next()) {
    LongThread team;
    snap_long_leaf(o, at.column, at.row, team);
  }
}

}  // namespace

Kernel kernel(int variant) {
  switch (variant) {  // in the order of kVariants
    case 0:
      return of(&snap_rows<1, 8>, kThreads);
    case 1:
      return of(&snap_rows<1, 1>, kThreads);
    case 2:
      return of(&snap_rows<2, 4>, kThreads);
    case 3:
      return of(&snap_rows<2, 1>, kThreads);
    case 4:
      return of(&snap_rows<4, 2>, kThreads);
    case 5:
      return of(&snap_rows<4, 1>, kThreads);
    case 6:
      return of(&snap_rows<8, 1>, kThreads);
    case 7:
      return of(&snap_rows<16, 1>, kThreads);
    case 8:
      return of(&snap_long_rows, kThreads);
    case 9:
      return of(&snap_across<16, 4>, 4 * 32);
    case 10:
      return of(&snap_across<32, 4>, 4 * 32);
    case 11:
      return of(&snap_across<32, 8>, 8 * 32);
    case 12:
      return of(&snap_across<64, 8>, 8 * 32);
    case 13:
      return of(&snap_long_across, kThreads);
  }
  const Variant& v = kVariants[variant];
  return group_kernel(v.lanes, v.longest, v.at_once);
}

}  // namespace detgemm::cuda::snap
