// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "cuda/kernel.hpp"
#include "cuda/sm90/ptx/control.cuh"
#include "cuda/snap/snap.hpp"

/// What the kernels of this folder share on a device: how they begin, warps as the templates of
/// rows.hpp and long_leaf.hpp see them, and how warps walk through the leaves of an operand.
namespace detgemm::cuda::snap {
namespace {

constexpr unsigned kAll = 0xffffffffU;

using sm90::ptx::wait_for_earlier_work;

/// See rows.hpp. `State`: what a lane holds.
template <class State>
struct Warp {
  State state;

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

template <class Function>
Kernel of(Function* function, int threads) {
  return {reinterpret_cast<const void*>(function), threads, 0, 1};
}

}  // namespace
}  // namespace detgemm::cuda::snap
