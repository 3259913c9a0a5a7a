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
    return a.stack + block_index() * a.stack_stride + std::int64_t{index} * (W::kM * W::kN);
  }
  template <class Fn>
  DETGEMM_DEVICE static void each(Fn&& fn) {
    const int thread = fresh_thread();
#pragma unroll
    for (int b = 0; b < W::kBlocks; ++b) {
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
template <DType kType, class W, bool kLeaves, class Work>
struct WideKernel {
  static constexpr int kDepth = kLeaves ? W::kLeavesDepth : W::kDepth;
  StreamSums<W> sums;
  WideStack<W> stack;
  std::int64_t leaf = 0;

  /// Stages [0, count) from product k on, all whole; `to_end` where K, and with it a leaf that may
  /// be short, ends with the last of them. Every turn loads, on each of its paths, which lets the
  /// compiler wait for the oldest batch alone (tests/hip/ring.py): where no stage is left, the last
  /// one is loaded again and not multiplied, and the loop ends with a round. Returns which buffer
  /// is written next: 0 or 1.
  DETGEMM_DEVICE int whole_stages(const Work& work, const WideSource<W>& source, char* shared,
                                  std::int64_t k, std::int64_t count, bool to_end, int thread) {
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
        if (done < count) {
          char* const stage = shared + buffer * W::kBufferBytes;
          store(ring[d].a, stage, thread);
          Packet weights[W::kColBlocks][kStreamSteps];
          ring[d].deal(weights, thread % gcn::kWave);
          block_barrier();
          multiply_stage<kType, W>(stage, weights, thread % gcn::kWave, sums);
          buffer ^= 1;
          ++done;
          if (kLeaves && (--left == 0 || (to_end && done == count))) {
            stack.add_leaf(work.part.count, leaf++, sums);
            left = per_leaf;
          }
        }
        source.load(ring[d], at(done + kDepth - 1), thread);
        gcn::schedule_fence();
      }
      if (done == count) return buffer;
    }
  }

  /// The stage in which K ends: products k .. end - 1, followed by zeros.
  DETGEMM_DEVICE void last_stage(const Work& work, char* buffer, std::int64_t n0, std::int64_t k,
                                 std::int64_t end, int thread) {
    const GemmArguments& g = work.gemm();
    Packet b[W::kColBlocks][kStreamSteps];
#pragma unroll
    for (int j = 0; j < W::kColBlocks; ++j) {
      const auto column = WideSource<W>::column(g, n0, thread, j);
#pragma unroll
      for (int u = 0; u < kStreamSteps; ++u) {
        b[j][u] = column.part(k + thread % gcn::kWave / 16 * 4 + u * kStreamStep, end);
        gcn::schedule_fence();  // keeps the masks of one packet at a time in registers
      }
    }
#pragma unroll 1
    for (int i = 0; i < W::kRowBlocks; ++i) {
      const auto row = WideSource<W>::row(g, std::int64_t{work.tile.m} * W::kM, thread, i);
      *stream_packet(buffer, thread / 16 + i * kStreamBlock, thread % 16) =
          row.part(k + thread % 16 * 4, end);
    }
    block_barrier();
    multiply_stage<kType, W>(buffer, b, thread % gcn::kWave, sums);
    if (kLeaves) stack.add_leaf(work.part.count, leaf++, sums);
  }

  DETGEMM_DEVICE void run(const Work& work, char* shared) {
    const int thread = fresh_thread();
    const int lane = thread % gcn::kWave;
    const int wave = gcn::uniform(thread / gcn::kWave);
    const GemmArguments& g = work.gemm();
    const std::int64_t m0 = std::int64_t{work.tile.m} * W::kM;
    const std::int64_t n0 =
        std::int64_t{work.tile.n} * W::kN + wave * (W::kColBlocks * kStreamBlock);
    StreamSums<W>& result = kLeaves ? stack.top : sums;
    sums.clear();
    result.clear();
    if (g.continue_from_c && work.parts() == 1) result.start_from_c(g, m0, n0, lane);
    const std::int64_t k = work.begin_k(g);
    const std::int64_t end = work.end_k(g);
    if (k < end) {
      const WideSource<W> source(g, m0, n0, thread);
      const std::int64_t whole = whole_pieces<kStreamStage>(end - k);
      int buffer = 0;
      const std::int64_t rest = k + whole * kStreamStage;
      if (whole > 0) buffer = whole_stages(work, source, shared, k, whole, rest == end, thread);
      if (rest < end) {
        last_stage(work, shared + buffer * W::kBufferBytes, n0, rest, end, thread);
      }
      if (!kLeaves) sums.restore_zeros();
    }
    // Of C, whose last row and column every wave beyond them reads: with one leaf or none, the
    // compiler adds C behind the barrier, and waits for it there.
    gcn::wait_for_loads();
    block_barrier();
    finish(work, shared, m0, n0, result);
    block_barrier();
  }

 private:
  DETGEMM_DEVICE static void store(const Packet (&a)[W::kRowBlocks], char* buffer, int thread) {
#pragma unroll
    for (int i = 0; i < W::kRowBlocks; ++i) {
      *stream_packet(buffer, thread / 16 + i * kStreamBlock, thread % 16) = a[i];
    }
  }

  /// Stores a wave's blocks, one after the other through its own piece of shared memory. The loop
  /// is not unrolled, so the epilogue's code exists once; registers can only be named by constants.
  DETGEMM_DEVICE static void finish(const Work& work, char* shared, std::int64_t m0,
                                    std::int64_t n0, const StreamSums<W>& result) {
    const int thread = fresh_thread();
    const int lane = thread % gcn::kWave;
    float* const staging =
        reinterpret_cast<float*>(shared) + gcn::uniform(thread / gcn::kWave) * kStreamPiece;
#pragma unroll 1
    for (int block = 0; block < W::kBlocks; ++block) {
      const GemmArguments& g = work.gemm();
      const std::int64_t m = m0 + block / W::kColBlocks * kStreamBlock;
      const std::int64_t n = n0 + block % W::kColBlocks * kStreamBlock;
      if (m >= g.m || n >= g.n) continue;
      gcn::wave_fence();
#pragma unroll
      for (int b = 0; b < W::kBlocks; ++b) {
        if (b == block) stage_stream(staging, lane, result.block[b]);
      }
      gcn::wave_fence();
      if (work.parts() > 1) {
        store_root<kStreamBlock, kStreamPitch>(work.part_index, staging, m, n, lane);
      } else {
        finish_block<16, 16, kStreamPitch>(g, staging, m, n, lane);
      }
    }
  }
};

template <DType kType, class W, bool kLeaves, class Work = UnitOfWork<kLeaves>>
DETGEMM_DEVICE void run_wide_stream() {
  __shared__ __attribute__((aligned(16))) char shared[W::kSharedBytes];
  Work::each(shared, [&](const Work& work) {
    WideKernel<kType, W, kLeaves, Work> kernel;
    kernel.run(work, shared);
  });
}

}  // namespace detgemm::hip::gfx9
