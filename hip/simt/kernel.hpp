// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "hip/arguments.hpp"
#include "hip/grid.hpp"
#include "hip/group_walk.hpp"
#include "hip/reduction_walk.hpp"
#include "hip/simt/tile.hpp"

/// ieee_fma with vector instructions: one fma per product, with ascending k. Written for any GPU
/// and waves of any width; compiled for every chip of hip/kernel_names.hpp, and by
/// tests/hip/on_cuda for NVIDIA.
namespace detgemm::hip::simt {

using arithmetic::Storage;

/// The exact fp32 value of an element.
template <DType T>
DETGEMM_DEVICE float widen(Storage<T> raw) {
#if defined(__AMDGCN__)
  if constexpr (T == DType::fp16) return static_cast<float>(__builtin_bit_cast(_Float16, raw));
#endif
  return arithmetic::to_float<T>(raw);
}

/// Copies kRows x kStage elements of one operand from global to shared memory, where element (row
/// r, step s of k) lies at s * (kRows + 1) + r. Neighbouring threads read neighbours in memory,
/// whichever way the operand lies. After `length` products comes `rest`; rows that do not exist
/// repeat the last one.
template <DType T, int kRows>
DETGEMM_DEVICE void fill(const Storage<T>* data, std::int64_t rows, std::int64_t row_stride,
                         std::int64_t k_stride, std::int64_t first, std::int64_t k, int length,
                         float rest, float* to) {
  const int thread = fresh_thread();
  const bool along_k = k_stride == 1;
#pragma unroll
  for (int i = 0; i < kRows * kStage / kThreads; ++i) {
    const int e = thread + i * kThreads;
    const int row = along_k ? e / kStage : e % kRows;
    const int step = along_k ? e % kStage : e / kRows;
    const std::int64_t at = first + row < rows ? first + row : rows - 1;
    const int inside = step < length ? step : length - 1;
    const float value = widen<T>(data[at * row_stride + (k + inside) * k_stride]);
    to[step * (kRows + 1) + row] = step < length ? value : rest;
  }
}

/// A thread's outputs: the sums of the current leaf and, for fold and tree, the newest entry of the
/// stack. Older entries wait in the workspace, where each thread reads only what it wrote itself.
template <class T>
struct Outputs {
  float sum[T::kRows][T::kCols];
  float top[T::kRows][T::kCols];
  int waiting = 0;

  template <class Fn>
  DETGEMM_DEVICE static void each(Fn&& fn) {
#pragma unroll
    for (int i = 0; i < T::kRows; ++i) {
#pragma unroll
      for (int j = 0; j < T::kCols; ++j) {
        fn(i, j, (i * T::kCols + j) * kThreads + thread_index());
      }
    }
  }
  DETGEMM_DEVICE static float* entry(const TileArguments& a, int index) {
    return a.stack + block_index() * a.stack_stride + std::int64_t{index} * (T::kM * T::kN);
  }

  /// Adds the sums of leaf `leaf` of `leaves` to the stack and sets them to zero.
  DETGEMM_DEVICE void add_leaf(const TileArguments& a, std::int64_t leaves, std::int64_t leaf) {
    const LeafStep step = leaf_step(a.g, leaves, leaf);
    if (step.push) {
      float* to = entry(a, waiting++);
      each([&](int i, int j, int at) { to[at] = top[i][j]; });
    }
    const bool replace = step.first || step.push;
    each([&](int i, int j, int) {
      top[i][j] = replace ? sum[i][j] : arithmetic::add_rn(top[i][j], sum[i][j]);
      sum[i][j] = 0.0F;
    });
    for (int more = step.more; more > 0; --more) {
      const float* from = entry(a, --waiting);
      each([&](int i, int j, int at) { top[i][j] = arithmetic::add_rn(from[at], top[i][j]); });
    }
  }
};

/// A tile whose outputs vector instructions compute, one fma per product.
template <class Tile>
struct Simt : Tile {
  /// Where output (i, j) of a thread lies in the tile.
  DETGEMM_DEVICE static int row(int thread, int i, int) { return thread / kSide + i * kSide; }
  DETGEMM_DEVICE static int col(int thread, int, int j) { return thread % kSide + j * kSide; }

  /// Multiplies one stage; every output adds its products in ascending order of k.
  ///
  ///   sum -> fma(a[k], b[k], sum) -> fma(a[k+1], b[k+1], sum) -> ...
  ///
  /// Stages shorter than 16 are padded with (-0) * (+0): sum + (-0) is sum, whatever sum is.
  template <class Sums>
  DETGEMM_DEVICE static void multiply(const float* a, const float* b, Sums& out) {
    const int thread = thread_index();
#pragma unroll 4
    for (int s = 0; s < kStage; ++s) {
      float x[Tile::kRows];
      float y[Tile::kCols];
#pragma unroll
      for (int i = 0; i < Tile::kRows; ++i) x[i] = a[s * (Tile::kM + 1) + row(thread, i, 0)];
#pragma unroll
      for (int j = 0; j < Tile::kCols; ++j) y[j] = b[s * (Tile::kN + 1) + col(thread, 0, j)];
      Sums::each([&](int i, int j, int) {
        out.sum[i][j] = arithmetic::fma_rn(x[i], y[j], out.sum[i][j]);
      });
    }
  }
};

/// Stores the thread's outputs in a loop, so that the epilogue's code exists once. An output is
/// selected by comparisons, since registers cannot be indexed.
template <class T>
DETGEMM_DEVICE void finish(const GemmArguments& g, std::int64_t m0, std::int64_t n0,
                           const float (&sums)[T::kRows][T::kCols]) {
  const int thread = fresh_thread();
#pragma unroll 1
  for (int e = 0; e < T::kRows * T::kCols; ++e) {
    float acc = 0.0F;
    Outputs<T>::each([&](int i, int j, int) {
      if (i * T::kCols + j == e) acc = sums[i][j];
    });
    const std::int64_t row = m0 + T::row(thread, e / T::kCols, e % T::kCols);
    const std::int64_t col = n0 + T::col(thread, e / T::kCols, e % T::kCols);
    if (row < g.m && col < g.n) finish_element(g, row, col, acc);
  }
}

/// The problem of a launch for one product, and how the kernel reads its argument again.
struct OneProblem {
  const TileArguments& argument;

  DETGEMM_DEVICE const GemmArguments& gemm() const { return reload(argument).g; }
  DETGEMM_DEVICE const TileArguments& tile() const { return reload(argument); }
  DETGEMM_DEVICE std::int64_t leaves() const { return reload(argument).leaves; }
};

/// The same for a group of a launch over groups.
struct GroupProblem {
  const GroupTileArguments& argument;
  const GroupPlace& place;

  DETGEMM_DEVICE GemmArguments gemm() const {
    return gemm_of_group(reload(argument), place.group, place.part);
  }
  DETGEMM_DEVICE const TileArguments& tile() const { return reload(argument).tile; }
  DETGEMM_DEVICE std::int64_t leaves() const { return place.leaves; }
};

template <DType kType, class T, bool kLeaves, class P>
DETGEMM_DEVICE void run_tile(const P& problem, float* shared, std::int64_t m0, std::int64_t n0) {
  const GemmArguments& g = problem.gemm();
  Outputs<T> out;
  {
    const int thread = thread_index();
    Outputs<T>::each([&](int i, int j, int) {
      const std::int64_t row = m0 + T::row(thread, i, j);
      const std::int64_t col = n0 + T::col(thread, i, j);
      const bool inside = row < g.m && col < g.n;
      const float start = inside ? start_value(g, row, col) : 0.0F;
      out.sum[i][j] = kLeaves ? 0.0F : start;
      out.top[i][j] = start;
    });
  }
  float* const shared_b = shared + kStage * (T::kM + 1);
  std::int64_t leaf = 0;
  for (KWalk walk(g); walk.more(); walk.next(kStage)) {
    const int length = walk.length(kStage);
    fill<kType, T::kM>(static_cast<const Storage<kType>*>(g.a), g.m, g.as.row, g.as.col, m0, walk.k,
                       length, -0.0F, shared);
    fill<kType, T::kN>(static_cast<const Storage<kType>*>(g.b), g.n, g.bs.col, g.bs.row, n0, walk.k,
                       length, 0.0F, shared_b);
    block_barrier();
    T::multiply(shared, shared_b, out);
    if (kLeaves && walk.ends_leaf(kStage)) out.add_leaf(problem.tile(), problem.leaves(), leaf++);
    block_barrier();
  }
  finish<T>(problem.gemm(), m0, n0, kLeaves ? out.top : out.sum);
}

template <DType kType, class T, bool kLeaves>
DETGEMM_DEVICE void run_tiles(const TileArguments& a) {
  __shared__ float shared[T::kSharedFloats];
#pragma unroll 1
  for (int index = block_index();;) {
    const TileArguments& now = reload(a);
    if (index >= now.raster.tiles_m * now.raster.tiles_n) break;
    const TilePlace place = tile_of(now.raster, index);
    index += now.blocks;
    run_tile<kType, T, kLeaves>(OneProblem{a}, shared, std::int64_t{place.m} * T::kM,
                                std::int64_t{place.n} * T::kN);
  }
}

/// The tiles of all groups.
template <DType kType, class T, bool kLeaves>
DETGEMM_DEVICE void run_group_tiles(const GroupTileArguments& a) {
  using Walk = GroupWalk<kThreads, T::kM>;
  __shared__ __attribute__((aligned(16))) float shared[T::kSharedFloats];
  static_assert(Walk::kSharedBytes <= T::kSharedFloats * 4, "the walk has the tile's memory");
  Walk walk(reinterpret_cast<char*>(shared));
  GroupPlace found;
#pragma unroll 1
  for (std::int64_t unit = block_index(); walk.find(a, unit, found);
       unit += reload(a).tile.blocks) {
    const TilePlace place = tile_of(raster_of_group<T::kM>(reload(a), found), found.inside);
    run_tile<kType, T, kLeaves>(GroupProblem{a, found}, shared, std::int64_t{place.m} * T::kM,
                                std::int64_t{place.n} * T::kN);
    block_barrier();
  }
}

}  // namespace detgemm::hip::simt
