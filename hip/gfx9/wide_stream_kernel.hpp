// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/unit_of_work.hpp"
#include "hip/gfx9/wide_stream.hpp"

namespace detgemm::hip::gfx9 {

/// Fold and tree: the newest subtree's sums are in registers, older ones wait in this workgroup's
/// slice of the workspace, where each thread reads only what it wrote itself.
template <class W>
struct WideStack {
  StreamSums<W> top;
  int waiting = 0;

  /// Adds the finished sums of leaf `leaf` of `leaves` and sets them to zero.
  DETGEMM_DEVICE void add_leaf(std::int64_t leaves, std::int64_t leaf, StreamSums<W>& sums) {
    const LeafStep step = leaf_step(kernel_argument<TileArguments>().g, leaves, leaf);
    sums.restore_zeros();
    if (step.push) {
      float* const to = entry(waiting++);
      each([&](int b, int i, int at) { to[at] = top.block[b][i]; });
    }
    if (step.first || step.push) {
      top = sums;
    } else {
      each([&](int b, int i, int) {
        top.block[b][i] = arithmetic::add_rn(top.block[b][i], sums.block[b][i]);
      });
    }
#pragma unroll 1
    for (int more = step.more; more > 0; --more) {
      const float* const from = entry(--waiting);
      each([&](int b, int i, int at) {
        top.block[b][i] = arithmetic::add_rn(from[at], top.block[b][i]);
      });
    }
    sums.clear();
  }

 private:
  DETGEMM_DEVICE static float* entry(int index) {
    const TileArguments& a = kernel_argument<TileArguments>();
    constexpr int kOutputs = W::kRows * kStreamBlock * kStreamWaves;
    return a.stack + block_index() * a.stack_stride + std::int64_t{index} * kOutputs;
  }
  template <class Fn>
  DETGEMM_DEVICE static void each(Fn&& fn) {
    const int thread = fresh_thread();
#pragma unroll
    for (int b = 0; b < W::kRowBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 4; ++i) fn(b, i, (b * 4 + i) * W::kThreads + thread);
    }
  }
};

/// One unit of work of a wide stream.
///
///   time ->        stage 0      stage 1      stage 2
///   memory         load D       load D + 1   load D + 2     into the ring's batch that is free
///   A -> shared    write 0      write 1      write 2        into two buffers in turn
///   barrier       |            |            |
///   waves            multiply 0   multiply 1   multiply 2
template <DType kType, class W, bool kLeaves>
struct WideKernel {
  static constexpr int kDepth = kStreamDepth;
  StreamSums<W> sums;
  WideStack<W> stack;
  std::int64_t leaf = 0;

  /// Stages [0, count) from product k on, all whole; `to_end` where K, and with it a leaf that may
  /// be short, ends with the last of them. As in stream_whole, a load in every turn lets the
  /// compiler wait for the oldest batch alone. Returns which buffer is written next: 0 or 1.
  DETGEMM_DEVICE int whole_stages(const UnitOfWork<kLeaves>& work, const WideSource<W>& source,
                                  char* shared, std::int64_t k, std::int64_t count, bool to_end,
                                  int thread) {
    const auto at = [&](std::int64_t stage) {
      return k + (stage < count ? stage : count - 1) * kStreamStage;
    };
    WideBatch<W> ring[kDepth];
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      source.load(ring[d], at(d), thread);
      gcn::schedule_fence();
    }
    const std::int64_t per_leaf =
        kLeaves ? whole_pieces<kStreamStage>(kernel_argument<TileArguments>().g.reduction.leaf_k)
                : count;
    std::int64_t left = per_leaf;  // stages of the running leaf
    std::int64_t done = 0;
    int buffer = 0;
    for (;;) {
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        char* const stage = shared + buffer * W::kBufferBytes;
        store(ring[d].a, stage, thread);
        block_barrier();
        multiply_stage<kType, W>(stage, ring[d].b, thread % gcn::kWave, sums);
        buffer ^= 1;
        ++done;
        if (kLeaves && (--left == 0 || (to_end && done == count))) {
          stack.add_leaf(work.part.count, leaf++, sums);
          left = per_leaf;
        }
        if (done == count) return buffer;
        source.load(ring[d], at(done + kDepth - 1), thread);
        gcn::schedule_fence();
      }
    }
  }

  /// The stage in which K ends: products k .. end - 1, followed by zeros.
  DETGEMM_DEVICE void last_stage(const GemmArguments& g, const UnitOfWork<kLeaves>& work,
                                 const WideSource<W>& source, char* buffer, std::int64_t k,
                                 std::int64_t end, int thread) {
    Packet b[kStreamSteps];
#pragma unroll
    for (int u = 0; u < kStreamSteps; ++u) {
      b[u] = source.b.part(k + thread % gcn::kWave / 16 * 4 + u * kStreamStep, end);
      gcn::schedule_fence();  // keeps the masks of one packet at a time in registers
    }
#pragma unroll 1
    for (int i = 0; i < W::kRowBlocks; ++i) {
      const auto row = WideSource<W>::row(g, std::int64_t{work.tile.m} * W::kRows, thread, i);
      *stream_packet<W>(buffer, thread / 16 + i * kStreamBlock, thread % 16) =
          row.part(k + thread % 16 * 4, end);
    }
    block_barrier();
    multiply_stage<kType, W>(buffer, b, thread % gcn::kWave, sums);
    if (kLeaves) stack.add_leaf(work.part.count, leaf++, sums);
  }

  DETGEMM_DEVICE void run(const TileArguments& a, const UnitOfWork<kLeaves>& work, char* shared) {
    const int thread = fresh_thread();
    const int lane = thread % gcn::kWave;
    const int wave = gcn::uniform(thread / gcn::kWave);
    const std::int64_t m0 = std::int64_t{work.tile.m} * W::kRows;
    const std::int64_t n0 = (std::int64_t{work.tile.n} * kStreamWaves + wave) * kStreamBlock;
    StreamSums<W>& result = kLeaves ? stack.top : sums;
    sums.clear();
    result.clear();
    if (a.g.continue_from_c && a.parts == 1) result.start_from_c(a.g, m0, n0, lane);
    const std::int64_t k = kLeaves ? work.begin_k(a.g) : 0;
    const std::int64_t end = kLeaves ? work.end_k(a.g) : a.g.k;
    if (k < end) {
      const WideSource<W> source(a.g, m0, n0, thread);
      const std::int64_t whole = whole_pieces<kStreamStage>(end - k);
      int buffer = 0;
      const std::int64_t rest = k + whole * kStreamStage;
      if (whole > 0) buffer = whole_stages(work, source, shared, k, whole, rest == end, thread);
      if (rest < end) {
        last_stage(kernel_argument<TileArguments>().g, work, source,
                   shared + buffer * W::kBufferBytes, rest, end, thread);
      }
      if (!kLeaves) sums.restore_zeros();
    }
    block_barrier();
    finish(work, shared, m0, n0, result);
    block_barrier();
  }

 private:
  DETGEMM_DEVICE static void store(const Packet (&a)[W::kRowBlocks], char* buffer, int thread) {
#pragma unroll
    for (int i = 0; i < W::kRowBlocks; ++i) {
      *stream_packet<W>(buffer, thread / 16 + i * kStreamBlock, thread % 16) = a[i];
    }
  }

  /// Stores a wave's blocks, one after the other through its own piece of shared memory. The loop
  /// is not unrolled, so the epilogue's code exists once; registers can only be named by constants.
  DETGEMM_DEVICE static void finish(const UnitOfWork<kLeaves>& work, char* shared, std::int64_t m0,
                                    std::int64_t n0, const StreamSums<W>& result) {
    const int thread = fresh_thread();
    const int lane = thread % gcn::kWave;
    float* const staging =
        reinterpret_cast<float*>(shared) + gcn::uniform(thread / gcn::kWave) * kPiece;
#pragma unroll 1
    for (int block = 0; block < W::kRowBlocks; ++block) {
      const TileArguments& a = kernel_argument<TileArguments>();
      const std::int64_t m = m0 + block * kStreamBlock;
      if (m >= a.g.m || n0 >= a.g.n) break;
      gcn::wave_fence();
#pragma unroll
      for (int b = 0; b < W::kRowBlocks; ++b) {
        if (b == block) stage_stream(staging, lane, result.block[b]);
      }
      gcn::wave_fence();
      if (a.parts > 1) {
        store_root<kStreamBlock, kStreamPitch>(a, work.part_index, staging, m, n0, lane);
      } else {
        finish_block<16, 16, kStreamPitch>(a.g, staging, m, n0, lane);
      }
    }
  }
};

template <DType kType, class W, bool kLeaves>
DETGEMM_DEVICE void run_wide_stream() {
  __shared__ __attribute__((aligned(16))) char shared[W::kSharedBytes];
#pragma unroll 1
  for (int unit = block_index();;) {
    const TileArguments& a = kernel_argument<TileArguments>();
    if (UnitOfWork<kLeaves>::ends(a, unit)) break;
    const UnitOfWork<kLeaves> work(a, unit);
    unit += a.blocks;
    WideKernel<kType, W, kLeaves> kernel;
    kernel.run(a, work, shared);
  }
}

}  // namespace detgemm::hip::gfx9
