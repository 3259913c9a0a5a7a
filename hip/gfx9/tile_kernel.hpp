// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gcn/mfma.hpp"
#include "hip/gfx9/epilogue.hpp"
#include "hip/gfx9/fill.hpp"

namespace detgemm::hip::gfx9 {

/// What a wave needs from one stage, in registers: one packet per block row for each of the 4 steps
/// of 8 k. Lanes 0..31 hold k 0..3 of the step and lanes 32..63 k 4..7: the contract's consecutive
/// k.
template <class T>
struct Fragments {
  static constexpr int kSteps = kStage / 8;
  Packet a[kSteps][T::kBlocksM];
  Packet b[kSteps][T::kBlocksN];

  DETGEMM_DEVICE void read(const char* stage, const WavePlace<T>& at) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int packet = 2 * s + at.lane / 32;
#pragma unroll
      for (int i = 0; i < T::kBlocksM; ++i) {
        const int row = at.m + i * 32 + at.lane % 32;
        a[s][i] = *reinterpret_cast<const Packet*>(stage + packet_at(row, packet));
      }
#pragma unroll
      for (int i = 0; i < T::kBlocksN; ++i) {
        const int row = T::kM + at.n + i * 32 + at.lane % 32;
        b[s][i] = *reinterpret_cast<const Packet*>(stage + packet_at(row, packet));
      }
    }
  }
};

/// Every block of the wave multiplies the stage's steps in ascending order of k. Between two steps
/// of one block come those of all other blocks, which hides the instruction's latency.
///
///   acc -> [k 0..7] -> [k 8..15] -> [k 16..23] -> [k 24..31] -> next stage
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

/// One tile of D. `kLeaves`: fold and tree, whose leaves end within k; otherwise k is one chain.
///
///   time ->            phase      phase      phase      phase
///   memory -> regs     load 2                load 3
///   regs -> stage                 ...        write 2
///   lower waves        read 0     mult 0     read 1     mult 1
///   upper waves                   read 0     mult 0     read 1       (kPhased: half a step behind)
template <DType kType, class T, Major kMajorA, Major kMajorB, bool kLeaves>
struct TileKernel {
  Fill<T::kM, T::kThreads, kMajorA> fill_a;
  Fill<T::kN, T::kThreads, kMajorB> fill_b;

  DETGEMM_DEVICE void load(const KWalk& walk) {
    const int length = walk.length(kStage);
    fill_a.load(walk.k, length);
    fill_b.load(walk.k, length);
  }
  DETGEMM_DEVICE void store(char* stage) const {
    fill_a.store(stage);
    fill_b.store(stage + T::kM * kRowBytes);
  }

  DETGEMM_DEVICE void run(char* shared, TilePlace tile) {
    Sums<T> sums;
    sums.clear();
    LeafStack<T> stack;
    Sums<T>& start = kLeaves ? stack.top : sums;
    if (kLeaves) start.clear();
    start_tile(tile, start);
    const GemmArguments& g = kernel_argument<TileArguments>().g;
    if (g.k > 0) {
      multiply_all(g, shared, sums, stack);
      if (!kLeaves) restore_zeros(sums);
    }
    block_barrier();
    finish_tile(kernel_argument<TileArguments>().g, shared, tile, start);
    block_barrier();
  }

 private:
  DETGEMM_DEVICE void start_tile(TilePlace tile, Sums<T>& start) {
    const GemmArguments& g = kernel_argument<TileArguments>().g;
    start_sums(g, tile, start);
    fill_a.start(operand_a(g), std::int64_t{tile.m} * T::kM);
    fill_b.start(operand_b(g), std::int64_t{tile.n} * T::kN);
  }

  DETGEMM_DEVICE void multiply_all(const GemmArguments& g, char* shared, Sums<T>& sums,
                                   LeafStack<T>& stack) {
    const WavePlace<T> at;
    const bool upper = T::kPhased && at.wave >= T::kWaves / 2;
    KWalk ahead(g);
    bool ends_leaf = ahead.ends_leaf(kStage);
    load(ahead);
    ahead.next(kStage);
    store(shared);
    if (ahead.more()) load(ahead);
    block_barrier();
    if (upper) block_barrier();
    char* stage = shared;
    std::int64_t leaf = 0;
    for (;;) {
      Fragments<T> fragments;
      fragments.read(stage, at);
      stage = stage == shared ? shared + T::kBufferBytes : shared;
      const bool more = ahead.more();
      bool next_ends_leaf = false;
      if (more) {
        store(stage);
        next_ends_leaf = ahead.ends_leaf(kStage);
        ahead.next(kStage);
        if (ahead.more()) load(ahead);
      }
      gcn::schedule_fence();
      block_barrier();
      gcn::set_priority<1>();
      gcn::schedule_fence();
      multiply<kType>(fragments, sums);
      gcn::schedule_fence();
      gcn::set_priority<0>();
      if (kLeaves && ends_leaf) {
        stack.add_leaf(kernel_argument<TileArguments>(), leaf++, sums);
      }
      if (T::kPhased) block_barrier();
      if (!more) break;
      ends_leaf = next_ends_leaf;
    }
    if (T::kPhased && !upper) block_barrier();
  }
};

/// Workgroup b computes tiles b, b + blocks, ... of the raster.
template <DType kType, class T, Major kMajorA, Major kMajorB, bool kLeaves>
DETGEMM_DEVICE void run_tiles() {
  __shared__ __attribute__((aligned(16))) char shared[T::kSharedBytes];
#pragma unroll 1
  for (int index = block_index();;) {
    const TileArguments& a = kernel_argument<TileArguments>();
    if (index >= a.raster.tiles_m * a.raster.tiles_n) break;
    const TilePlace place = tile_of(a.raster, index);
    index += a.blocks;
    TileKernel<kType, T, kMajorA, kMajorB, kLeaves> kernel;
    kernel.run(shared, place);
  }
}

}  // namespace detgemm::hip::gfx9
