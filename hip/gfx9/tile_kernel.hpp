// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gcn/mfma.hpp"
#include "hip/gfx9/epilogue.hpp"
#include "hip/gfx9/fill.hpp"
#include "hip/gfx9/unit_of_work.hpp"

namespace detgemm::hip::gfx9 {

/// What a wave needs from half a stage, in registers: one packet per block row for each of the 4
/// steps of 8 k. Lanes 0..31 hold k 0..3 of the step and lanes 32..63 k 4..7: the contract's
/// consecutive k.
template <class T>
struct Fragments {
  static constexpr int kSteps = kHalf / 8;
  Packet a[kSteps][T::kBlocksM];
  Packet b[kSteps][T::kBlocksN];

  DETGEMM_DEVICE void read(const char* half, const WavePlace<T>& at) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int packet = 2 * s + at.lane / 32;
#pragma unroll
      for (int i = 0; i < T::kBlocksM; ++i) {
        const int row = at.m + i * 32 + at.lane % 32;
        a[s][i] = *reinterpret_cast<const Packet*>(half + packet_at(row, packet));
      }
#pragma unroll
      for (int i = 0; i < T::kBlocksN; ++i) {
        const int row = T::kFilledM + at.n + i * 32 + at.lane % 32;
        b[s][i] = *reinterpret_cast<const Packet*>(half + packet_at(row, packet));
      }
    }
  }
};

/// Every block of the wave multiplies the half's steps in ascending order of k. Between two steps
/// of one block come those of all other blocks, which hides the instruction's latency.
///
///   acc -> [k 0..7] -> [k 8..15] -> [k 16..23] -> [k 24..31] -> next half
template <DType kType, class T>
DETGEMM_DEVICE void multiply(const Fragments<T>& f, Sums<T>& sums) {
#pragma unroll
  for (int s = 0; s < Fragments<T>::kSteps; ++s) {
#pragma unroll
    for (int i = 0; i < T::kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < T::kBlocksN; ++j) {
        f32x16& acc = sums.block[i * T::kBlocksN + j];
        acc = gcn::mfma_32x32x8<kType>(f.a[s][i], f.b[s][j], acc);
      }
    }
  }
}

/// The stages of k in order: the next one to load. Each has 64 products or ends a leaf.
struct StageWalk {
  std::int64_t k = 0;
  std::int64_t end = 0;  ///< of all products, or of a part's
  std::int64_t leaf_end = 0;
  int whole = 0;  ///< of how many stages from here on it is known that they end no leaf

  DETGEMM_DEVICE void start_leaf(const GemmArguments& g) {
    const bool chain = g.reduction.kind == ReductionKind::chain;
    const std::int64_t left = end - k;
    leaf_end = chain || left < g.reduction.leaf_k ? end : k + g.reduction.leaf_k;
    count(leaf_end - k);
  }
  DETGEMM_DEVICE void count(std::int64_t left) {
    constexpr std::int64_t kMax = 1 << 30;
    const std::int64_t known = left < kMax ? left : kMax;
    whole = known > kStage ? (static_cast<int>(known) - 1) / kStage : 0;
  }
};

/// One tile of D. `kLeaves`: fold and tree, whose leaves end within k; otherwise k is one chain.
///
///   time ->            phase      phase      phase      phase      phase
///   memory -> regs     load 1                                      load 2
///   regs -> shared     write 0b              write 1a              write 1b      a, b: the halves
///   lower waves        read 0a    mult 0a    read 0b    mult 0b    read 1a
///   upper waves                   read 0a    mult 0a    read 0b    mult 0b       (kPhased)
template <DType kType, class T, Major kMajorA, Major kMajorB, bool kLeaves, class Work>
struct TileKernel {
  Fill<T::kFilledM, T::kThreads, kMajorA> fill_a;
  Fill<T::kFilledN, T::kThreads, kMajorB> fill_b;

  DETGEMM_DEVICE void run(char* shared, const Work& work) {
    Sums<T> sums;
    sums.clear();
    LeafStack<T> stack;
    Sums<T>& start = kLeaves ? stack.top : sums;
    if (kLeaves) start.clear();
    start_tile(work, start);
    if (work.gemm().k > 0) {
      multiply_all(shared, work, sums, stack);
      if (!kLeaves) restore_zeros(sums);
    }
    // Of C, whose last row and column every wave beyond them reads: with one leaf or none, the
    // compiler adds C behind the barrier, and waits for it there.
    gcn::wait_for_loads();
    block_barrier();
    finish_tile<T, kLeaves>(work, shared, start);
    block_barrier();
  }

 private:
  DETGEMM_DEVICE void start_tile(const Work& work, Sums<T>& start) {
    const GemmArguments& g = work.gemm();
    start_sums(g, g.continue_from_c && (!kLeaves || work.parts() == 1), work.tile, start);
    fill_a.start(operand_a(g), std::int64_t{work.tile.m} * T::kM, T::kM);
    fill_b.start(operand_b(g), std::int64_t{work.tile.n} * T::kN, T::kN);
  }

  DETGEMM_DEVICE void store(int h, char* shared) const {
    char* half = shared + h * T::kBufferBytes;
    fill_a.store(h, half);
    fill_b.store(h, half + T::kFilledM * kRowBytes);
  }

  /// Loads the next stage, if there is one. The way through most stages is one test.
  struct Next {
    bool more, ends_leaf;
  };
  DETGEMM_DEVICE Next load_next(StageWalk& walk) {
    if (walk.whole > 0) {
      --walk.whole;
      fill_a.load_whole(walk.k);
      fill_b.load_whole(walk.k);
      walk.k += kStage;
      return {true, false};
    }
    const GemmArguments& g = kernel_argument<TileArguments>().g;
    if (walk.k >= walk.end) return {false, false};
    const std::int64_t left = walk.leaf_end - walk.k;
    const bool ends = left <= kStage;
    const int length = ends ? static_cast<int>(left) : kStage;
    fill_a.load(walk.k, length);
    fill_b.load(walk.k, length);
    walk.k += length;
    if (ends) {
      walk.start_leaf(g);
    } else {
      walk.count(walk.leaf_end - walk.k);
    }
    return {true, ends};
  }

  /// One half of a stage: reads it, lets `move` move data for later halves, and multiplies it.
  template <class Move>
  DETGEMM_DEVICE void half_step(const char* half, const WavePlace<T>& at, Sums<T>& sums,
                                Move&& move) {
    Fragments<T> fragments;
    fragments.read(half, at);
    move();
    gcn::schedule_fence();
    block_barrier();
    gcn::set_priority<1>();
    gcn::schedule_fence();
    multiply<kType>(fragments, sums);
    gcn::schedule_fence();
    gcn::set_priority<0>();
  }

  DETGEMM_DEVICE void multiply_all(char* shared, const Work& work, Sums<T>& sums,
                                   LeafStack<T>& stack) {
    const WavePlace<T> at;
    const bool upper = T::kPhased && at.wave >= T::kWaves / 2;
    StageWalk walk;
    const GemmArguments& g = work.gemm();
    walk.k = work.begin_k(g);
    walk.end = work.end_k(g);
    walk.start_leaf(g);
    Next now = load_next(walk);
    store(0, shared);
    block_barrier();
    if (upper) block_barrier();
    std::int64_t leaf = 0;
    for (;;) {
      Next next;
      half_step(shared, at, sums, [&] {
        store(1, shared);
        next = load_next(walk);
      });
      if (T::kPhased) block_barrier();
      // After the last stage this writes what is there already.
      half_step(shared + T::kBufferBytes, at, sums, [&] { store(0, shared); });
      if (kLeaves && now.ends_leaf) {
        stack.add_leaf(kernel_argument<TileArguments>(), work.part.count, leaf++, sums);
      }
      if (T::kPhased) block_barrier();
      if (!next.more) break;
      now = next;
    }
    if (T::kPhased && !upper) block_barrier();
  }
};

/// Every unit of work of this workgroup.
template <DType kType, class T, Major kMajorA, Major kMajorB, bool kLeaves,
          class Work = UnitOfWork<kLeaves>>
DETGEMM_DEVICE void run_tiles() {
  __shared__ __attribute__((aligned(16))) char shared[T::kSharedBytes];
  Work::each(shared, [&](const Work& work) {
    TileKernel<kType, T, kMajorA, kMajorB, kLeaves, Work> kernel;
    kernel.run(shared, work);
  });
}

}  // namespace detgemm::hip::gfx9
