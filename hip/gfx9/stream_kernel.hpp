// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/stream_store.hpp"
#include "hip/gfx9/unit_of_work.hpp"

namespace detgemm::hip::gfx9 {

/// One output's stack of subtree sums, the newest of which is in a register.
struct OutputStack {
  float top = 0.0F;
  float* next;
  static constexpr int kEntry = kStreamBlock * kStreamBlock;

  DETGEMM_DEVICE explicit OutputStack(const TileArguments& a)
      : next(a.stack + block_index() * a.stack_stride) {}

  /// Adds leaf `leaf` of `leaves`.
  DETGEMM_DEVICE void add_leaf(const TileArguments& a, std::int64_t leaves, std::int64_t leaf,
                               float sum) {
    const LeafStep step = leaf_step(a.g, leaves, leaf);
    if (step.push) {
      next[thread_index()] = top;
      next += kEntry;
    }
    top = step.first || step.push ? sum : arithmetic::add_rn(top, sum);
#pragma unroll 1
    for (int more = step.more; more > 0; --more) {
      next -= kEntry;
      top = arithmetic::add_rn(next[thread_index()], top);
    }
  }
};

/// Chain: a workgroup is one wave and has 16 x 16 outputs, so that few columns fill many compute
/// units.
template <DType kType, Major kMajorA, Major kMajorB>
DETGEMM_DEVICE void stream_columns(const GemmArguments& g, float* staging, std::int64_t m0,
                                   std::int64_t n0, int lane) {
  f32x4 acc = {0.0F, 0.0F, 0.0F, 0.0F};
  if (g.continue_from_c) {
    const std::int64_t n = n0 + lane % 16;
    const float* column = static_cast<const float*>(g.c) + (n < g.n ? n : g.n - 1) * g.cs.col;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t m = m0 + result_row_16(lane, i);
      acc[i] = column[(m < g.m ? m : g.m - 1) * g.cs.row];
    }
  }
  if (g.k > 0) {
    const StreamRow<kMajorA> x(operand_a(g), m0, lane % 16);
    const StreamRow<kMajorB> y(operand_b(g), n0, lane % 16);
    acc = stream_chain<kType>(x, y, lane, 0, g.k, acc);
  }
  gcn::wave_fence();
  stage_stream(staging, lane, acc);
  gcn::wave_fence();
  finish_block<16, 16, kStreamPitch>(kernel_argument<TileArguments>().g, staging, m0, n0, lane);
}

/// Fold and tree: the 4 waves share 16 x 16 outputs and compute one leaf each. Then every thread
/// adds those four leaves to its output's stack, in order.
///
///   round 0:  wave 0: l0   wave 1: l1   wave 2: l2   wave 3: l3   | thread t: output t, l0 .. l3
///   round 1:  wave 0: l4   ...
template <DType kType, Major kMajorA, Major kMajorB>
DETGEMM_DEVICE void stream_leaves(const TileArguments& a, float* shared,
                                  const UnitOfWork<true>& work, int wave, int lane) {
  const GemmArguments& g = a.g;
  const std::int64_t m0 = std::int64_t{work.tile.m} * kStreamBlock;
  const std::int64_t n0 = std::int64_t{work.tile.n} * kStreamBlock;
  const int thread = wave * gcn::kWave + lane;
  const std::int64_t m = m0 + thread / 16;
  const std::int64_t n = n0 + thread % 16;
  const bool inside = m < g.m && n < g.n;
  const bool whole = a.parts == 1;
  OutputStack stack(a);
  if (g.continue_from_c && inside && whole) stack.top = start_value(g, m, n);
  if (g.k > 0) {
    const StreamRow<kMajorA> x(operand_a(g), m0, lane % 16);
    const StreamRow<kMajorB> y(operand_b(g), n0, lane % 16);
    const std::int64_t step = g.reduction.leaf_k;
    const std::int64_t count = work.part.count;
    float* round = shared;
#pragma unroll 1
    for (std::int64_t first = 0; first < count; first += kStreamWaves) {
      if (first + wave < count) {
        const std::int64_t begin = (work.part.first + first + wave) * step;
        const std::int64_t end = g.k - begin < step ? g.k : begin + step;
        const f32x4 zero = {0.0F, 0.0F, 0.0F, 0.0F};
        stage_stream(round + wave * kStreamPiece, lane,
                     stream_chain<kType>(x, y, lane, begin, end, zero));
      }
      block_barrier();
      const float* mine = round + thread / 16 * kStreamPitch + thread % 16;
#pragma unroll 1
      for (int w = 0; w < kStreamWaves && first + w < count; ++w) {
        stack.add_leaf(kernel_argument<TileArguments>(), count, first + w, mine[w * kStreamPiece]);
      }
      // The next round writes the other half. This half is written again two rounds later, after a
      // barrier that every reader of it has reached.
      round = round == shared ? shared + kStreamWaves * kStreamPiece : shared;
    }
  }
  const TileArguments& now = kernel_argument<TileArguments>();
  if (inside && whole) finish_element(now.g, m, n, stack.top);
  if (inside && !whole) {
    now.roots[(std::int64_t{work.part_index} * now.g.m + m) * now.g.n + n] = stack.top;
  }
  block_barrier();
}

template <DType kType, Major kMajorA, Major kMajorB, bool kLeaves>
DETGEMM_DEVICE void run_stream() {
  constexpr int kPieces = kLeaves ? 2 * kStreamWaves : 1;
  __shared__ __attribute__((aligned(16))) float shared[kPieces * kStreamPiece];
  UnitOfWork<kLeaves>::each(nullptr, [&](const UnitOfWork<kLeaves>& work) {
    const TileArguments& a = kernel_argument<TileArguments>();
    const int thread = fresh_thread();
    const int lane = thread % gcn::kWave;
    if constexpr (kLeaves) {
      const int wave = gcn::uniform(thread / gcn::kWave);
      stream_leaves<kType, kMajorA, kMajorB>(a, shared, work, wave, lane);
    } else {
      stream_columns<kType, kMajorA, kMajorB>(a.g, shared, std::int64_t{work.tile.m} * kStreamBlock,
                                              std::int64_t{work.tile.n} * kStreamBlock, lane);
    }
  });
}

}  // namespace detgemm::hip::gfx9
