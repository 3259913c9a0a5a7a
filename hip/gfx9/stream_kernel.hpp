// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "hip/gcn/mfma.hpp"
#include "hip/gfx9/epilogue.hpp"
#include "hip/gfx9/fill.hpp"

namespace detgemm::hip::gfx9 {

using gcn::f32x4;

/// A lane's row of one operand, read as packets of 4 consecutive k directly from global memory.
///
///   one MFMA:  k  0..3 | 4..7 | 8..11 | 12..15      32 bytes of each of 16 rows
///          lanes 0..15 |16..31| 32..47| 48..63
template <Major kMajor>
struct StreamRow {
  const std::uint16_t* at;
  std::int64_t k_stride;

  DETGEMM_DEVICE StreamRow(const Operand& o, std::int64_t first, int lane) : k_stride(o.k_stride) {
    const int last = rows_left(o, first, kStreamBlock) - 1;
    const int row = lane % 16;
    at = o.data + (first + (row < last ? row : last)) * o.row_stride;
  }

  /// Products k .. k + 3, all of which exist.
  DETGEMM_DEVICE Packet whole(std::int64_t k) const {
    if constexpr (kMajor == Major::k) return *reinterpret_cast<const Packet*>(at + k);
    return part(k, k + 4);
  }
  /// Products k .. k + 3 with zeros from `end` on.
  DETGEMM_DEVICE Packet part(std::int64_t k, std::int64_t end) const {
    Packet packet;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      std::uint32_t pair = 0;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const std::int64_t e = k + 2 * i + j;
        const std::uint32_t value = at[(e < end ? e : end - 1) * k_stride];
        pair |= (e < end ? value : 0U) << (16 * j);
      }
      packet[i] = pair;
    }
    return packet;
  }
};

/// Both operands of 8 MFMAs in registers; of 2 where every element is a load of its own.
template <Major kMajorA, Major kMajorB>
struct StreamBatch {
  static constexpr int kUnroll = kMajorA == Major::any ? 2 : kStreamUnroll;
  static constexpr int kProducts = kUnroll * kStreamStep;
  Packet a[kUnroll];
  Packet b[kUnroll];

  /// Loads kProducts products, all of which exist; `k` is that of the lane's first packet.
  DETGEMM_DEVICE void load(const StreamRow<kMajorA>& x, const StreamRow<kMajorB>& y,
                           std::int64_t k) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      a[u] = x.whole(k + u * kStreamStep);
      b[u] = y.whole(k + u * kStreamStep);
    }
  }
  /// The same with zeros from `end` on.
  DETGEMM_DEVICE void load_part(const StreamRow<kMajorA>& x, const StreamRow<kMajorB>& y,
                                std::int64_t k, std::int64_t end) {
    if (end % 4 == 0) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const std::int64_t at = k + u * kStreamStep;
        const bool inside = at < end;
        const Packet xs = x.whole(inside ? at : end - 4);
        const Packet ys = y.whole(inside ? at : end - 4);
        a[u] = inside ? xs : Packet{0, 0};
        b[u] = inside ? ys : Packet{0, 0};
      }
      return;
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      a[u] = x.part(k + u * kStreamStep, end);
      b[u] = y.part(k + u * kStreamStep, end);
      gcn::schedule_fence();  // keeps the masks of one packet at a time in registers
    }
  }
  template <DType kType>
  DETGEMM_DEVICE f32x4 multiply(f32x4 acc) const {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) acc = gcn::mfma_16x16x16<kType>(a[u], b[u], acc);
    return acc;
  }
};

/// The chain over products [begin, end), where begin is a multiple of 4. While one batch is
/// multiplied the next one is being loaded. The result has the contract's zeros: no -0.
template <DType kType, Major kMajorA, Major kMajorB>
DETGEMM_DEVICE f32x4 stream_chain(const StreamRow<kMajorA>& x, const StreamRow<kMajorB>& y,
                                  int lane, std::int64_t begin, std::int64_t end, f32x4 acc) {
  using Batch = StreamBatch<kMajorA, kMajorB>;
  constexpr int kProducts = Batch::kProducts;
  const int first = lane / 16 * 4;  // this lane's first k in a step
  std::int64_t k = begin;
  if (end - k >= kProducts) {
    Batch even;
    even.load(x, y, k + first);
    k += kProducts;
#pragma unroll 1
    while (end - k >= 2 * kProducts) {
      Batch odd;
      odd.load(x, y, k + first);
      acc = even.template multiply<kType>(acc);
      even.load(x, y, k + kProducts + first);
      acc = odd.template multiply<kType>(acc);
      k += 2 * kProducts;
    }
    acc = even.template multiply<kType>(acc);
  }
#pragma unroll 1
  for (; k < end; k += kProducts) {
    Batch rest;
    rest.load_part(x, y, k + first, end);
    acc = rest.template multiply<kType>(acc);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) acc[i] = arithmetic::add_rn(acc[i], 0.0F);
  return acc;
}

/// How many floats a wave's sums occupy in shared memory.
inline constexpr int kPiece = kStreamBlock * kStreamPitch;

/// Writes a wave's sums from the order of lanes to rows of kStreamPitch floats.
DETGEMM_DEVICE void stage_stream(float* staging, int lane, f32x4 acc) {
#pragma unroll
  for (int i = 0; i < 4; ++i) staging[result_row_16(lane, i) * kStreamPitch + lane % 16] = acc[i];
}

/// One output's stack of subtree sums, the newest of which is in a register.
struct OutputStack {
  float top = 0.0F;
  float* next;
  static constexpr int kEntry = kStreamBlock * kStreamBlock;

  DETGEMM_DEVICE explicit OutputStack(const TileArguments& a)
      : next(a.stack + block_index() * a.stack_stride) {}

  DETGEMM_DEVICE void add_leaf(const TileArguments& a, std::int64_t leaf, float sum) {
    const LeafStep step = leaf_step(a.g, a.leaves, leaf);
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

/// Chain: each of the workgroup's 4 waves has 16 columns to itself.
template <DType kType, Major kMajorA, Major kMajorB>
DETGEMM_DEVICE void stream_columns(const GemmArguments& g, float* shared, std::int64_t m0,
                                   std::int64_t n0, int wave, int lane) {
  n0 += wave * kStreamBlock;
  if (n0 >= g.n) return;
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
    const StreamRow<kMajorA> x(operand_a(g), m0, lane);
    const StreamRow<kMajorB> y(operand_b(g), n0, lane);
    acc = stream_chain<kType>(x, y, lane, 0, g.k, acc);
  }
  float* staging = shared + wave * kPiece;
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
DETGEMM_DEVICE void stream_leaves(const TileArguments& a, float* shared, std::int64_t m0,
                                  std::int64_t n0, int wave, int lane) {
  const GemmArguments& g = a.g;
  const int thread = wave * gcn::kWave + lane;
  const std::int64_t m = m0 + thread / 16;
  const std::int64_t n = n0 + thread % 16;
  const bool inside = m < g.m && n < g.n;
  OutputStack stack(a);
  if (g.continue_from_c && inside) stack.top = start_value(g, m, n);
  if (g.k > 0) {
    const StreamRow<kMajorA> x(operand_a(g), m0, lane);
    const StreamRow<kMajorB> y(operand_b(g), n0, lane);
    const std::int64_t step = g.reduction.leaf_k;
    const std::int64_t count = a.leaves;
    float* round = shared;
#pragma unroll 1
    for (std::int64_t first = 0; first < count; first += kStreamWaves) {
      if (first + wave < count) {
        const std::int64_t begin = (first + wave) * step;
        const std::int64_t end = g.k - begin < step ? g.k : begin + step;
        const f32x4 zero = {0.0F, 0.0F, 0.0F, 0.0F};
        stage_stream(round + wave * kPiece, lane,
                     stream_chain<kType>(x, y, lane, begin, end, zero));
      }
      block_barrier();
      const float* mine = round + thread / 16 * kStreamPitch + thread % 16;
#pragma unroll 1
      for (int w = 0; w < kStreamWaves && first + w < count; ++w) {
        stack.add_leaf(kernel_argument<TileArguments>(), first + w, mine[w * kPiece]);
      }
      // The next round writes the other half. This half is written again two rounds later, after a
      // barrier that every reader of it has reached.
      round = round == shared ? shared + kStreamWaves * kPiece : shared;
    }
  }
  if (inside) finish_element(kernel_argument<TileArguments>().g, m, n, stack.top);
  block_barrier();
}

template <DType kType, Major kMajorA, Major kMajorB, bool kLeaves>
DETGEMM_DEVICE void run_stream() {
  __shared__ __attribute__((aligned(16))) float shared[2 * kStreamWaves * kPiece];
#pragma unroll 1
  for (int index = block_index();;) {
    const TileArguments& a = kernel_argument<TileArguments>();
    if (index >= a.raster.tiles_m * a.raster.tiles_n) break;
    const TilePlace place = tile_of(a.raster, index);
    index += a.blocks;
    const int thread = fresh_thread();
    const int wave = gcn::uniform(thread / gcn::kWave);
    const int lane = thread % gcn::kWave;
    const std::int64_t m0 = std::int64_t{place.m} * kStreamBlock;
    if constexpr (kLeaves) {
      const std::int64_t n0 = std::int64_t{place.n} * kStreamBlock;
      stream_leaves<kType, kMajorA, kMajorB>(a, shared, m0, n0, wave, lane);
    } else {
      const std::int64_t n0 = std::int64_t{place.n} * (kStreamBlock * kStreamWaves);
      stream_columns<kType, kMajorA, kMajorB>(a.g, shared, m0, n0, wave, lane);
    }
  }
}

}  // namespace detgemm::hip::gfx9
