// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/ptx/control.cuh"
#include "cuda/snap/columns.hpp"
#include "cuda/snap/long_leaf.hpp"
#include "cuda/snap/rows.hpp"

// The kernels: warps and CTAs walk through the leaves of an operand. A launch may overlap the one
// before; it waits for all earlier work before it reads or writes, and lets the next one start.

namespace detgemm::cuda::snap {
namespace {

constexpr unsigned kAll = 0xffffffffU;

/// Programmatic dependent launch; on devices below 9.0, and where a launch does not overlap, there
/// is nothing to wait for.
__device__ __forceinline__ void wait_for_earlier_work() {
#if __CUDA_ARCH__ >= 900
  sm90::ptx::griddepcontrol_launch_dependents();
  sm90::ptx::griddepcontrol_wait();
#endif
}

/// See rows.hpp.
template <int kWords>
struct Warp {
  LaneWords<kWords> state;

  template <class F>
  __device__ __forceinline__ void each(const F& f) {
    f(static_cast<int>(threadIdx.x % 32), state);
  }
  template <class F>
  __device__ __forceinline__ std::uint32_t max(const F& f) {
    return __reduce_max_sync(kAll, f(state));
  }
  template <class F>
  __device__ __forceinline__ std::uint32_t sum(const F& f) {
    return __reduce_add_sync(kAll, f(state));
  }
};

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
struct LongWarp {
  template <class F>
  __device__ __forceinline__ void each(std::int64_t count, const F& f) {
    for (std::int64_t i = threadIdx.x % 32; i < count; i += 32) f(i);
  }
  template <class F>
  __device__ __forceinline__ std::uint32_t max(std::int64_t count, const F& f) {
    std::uint32_t most = 0;
    each(count, [&](std::int64_t i) { most = ::max(most, f(i)); });
    return __reduce_max_sync(kAll, most);
  }
  template <class F>
  __device__ __forceinline__ std::uint64_t sum(std::int64_t count, const F& f) {
    unsigned long long sum = 0;
    each(count, [&](std::int64_t i) { sum += f(i); });
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(kAll, sum, distance);
    }
    return sum;
  }
};
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

/// Walks through rows * columns places, `step` at a time, without a division per place.
struct Walk {
  std::int64_t row, column, columns, step_rows, step_columns;

  __device__ Walk(std::int64_t first, std::int64_t step, std::int64_t all_columns)
      : row(first / all_columns),
        column(first % all_columns),
        columns(all_columns),
        step_rows(step / all_columns),
        step_columns(step % all_columns) {}
  __device__ void next() {
    row += step_rows;
    column += step_columns;
    if (column >= columns) {
      column -= columns;
      ++row;
    }
  }
};

__device__ __forceinline__ Walk warps(std::int64_t columns) {
  return {std::int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32,
          std::int64_t{gridDim.x} * (kThreads / 32), columns};
}

template <int kWords, int kAtOnce>
__global__ void __launch_bounds__(kThreads, kWords* kAtOnce > 8 ? 2 : kCtasPerSm)
    snap_rows(const __grid_constant__ Operand o) {
  wait_for_earlier_work();
  for (Walk at = warps((o.leaves + kAtOnce - 1) / kAtOnce); at.row < o.vectors; at.next()) {
    Warp<kWords> teams[kAtOnce];
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

template <class Function>
Kernel of(Function* function, int threads) {
  return {reinterpret_cast<const void*>(function), threads, 0, 1};
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
  return {};
}

}  // namespace detgemm::cuda::snap
