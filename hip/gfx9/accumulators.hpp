// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/arguments.hpp"
#include "hip/gcn/control.hpp"
#include "hip/gfx9/tile.hpp"
#include "hip/grid.hpp"
#include "hip/reduction_walk.hpp"

namespace detgemm::hip::gfx9 {

using gcn::f32x16;
using gcn::f32x4;

/// A wave's sums: blocks of 32 x 32 outputs with 16 registers each.
template <class T>
struct Sums {
  static constexpr int kBlocks = T::kBlocksM * T::kBlocksN;
  f32x16 block[kBlocks];

  DETGEMM_DEVICE void clear() {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 16; ++i) block[b][i] = 0.0F;
    }
  }
};

/// A wave's place in the workgroup's tile, in outputs.
template <class T>
struct WavePlace {
  int wave, lane, m, n;
  DETGEMM_DEVICE WavePlace() {
    const int thread = fresh_thread();
    wave = gcn::uniform(thread / gcn::kWave);
    lane = thread % gcn::kWave;
    m = wave / T::kWavesN * (T::kBlocksM * 32);
    n = wave % T::kWavesN * (T::kBlocksN * 32);
  }
};

/// The values from which the sums start: what they hold already (zeros), or fp32 C. Outputs beyond
/// D's edge read the last row or column.
template <class T>
DETGEMM_DEVICE void start_sums(const GemmArguments& g, bool from_c, TilePlace tile, Sums<T>& sums) {
  const WavePlace<T> at;
  const std::int64_t m0 = std::int64_t{tile.m} * T::kM + at.m;
  const std::int64_t n0 = std::int64_t{tile.n} * T::kN + at.n;
  // The zeros are put into registers before the branch. As constants they would make the compiler
  // merge the two paths by copying registers that one of them never wrote.
#pragma unroll
  for (int b = 0; b < Sums<T>::kBlocks; ++b) asm volatile("" : "+v"(sums.block[b]));
  if (!from_c) return;
  const auto* c = static_cast<const float*>(g.c);
#pragma unroll
  for (int b = 0; b < Sums<T>::kBlocks; ++b) {
    const std::int64_t n = n0 + b % T::kBlocksN * 32 + at.lane % 32;
    const float* column = c + (n < g.n ? n : g.n - 1) * g.cs.col;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const std::int64_t m = m0 + b / T::kBlocksN * 32 + result_row_32(at.lane, i);
      sums.block[b][i] = column[(m < g.m ? m : g.m - 1) * g.cs.row];
    }
    gcn::schedule_fence();  // addresses of one block at a time
  }
}

/// The end of a chain: the hardware may leave -0 where the contract has +0, and -0 + 0 is +0.
template <class T>
DETGEMM_DEVICE void restore_zeros(Sums<T>& sums) {
#pragma unroll
  for (int b = 0; b < Sums<T>::kBlocks; ++b) {
#pragma unroll
    for (int i = 0; i < 16; ++i) sums.block[b][i] = arithmetic::add_rn(sums.block[b][i], 0.0F);
  }
}

/// The stack of finished subtree sums. The newest entry is in registers (`top`); the others wait in
/// this workgroup's slice of the workspace, where each thread reads only what it wrote itself.
template <class T>
struct LeafStack {
  Sums<T> top;
  int waiting = 0;

  /// Adds the finished sums of leaf `leaf` of `leaves` to the stack and sets them to zero.
  DETGEMM_DEVICE void add_leaf(const TileArguments& a, std::int64_t leaves, std::int64_t leaf,
                               Sums<T>& sums) {
    const LeafStep step = leaf_step(a.g, leaves, leaf);
    if (step.push) {
      in_quads(waiting++, [&](int b, int q, f32x4* at) {
        f32x4 quad;
#pragma unroll
        for (int i = 0; i < 4; ++i) quad[i] = top.block[b][4 * q + i];
        *at = quad;
      });
    }
    if (step.first || step.push) {
      each([&](int b, int i) { top.block[b][i] = arithmetic::add_rn(sums.block[b][i], 0.0F); });
    } else {
      each([&](int b, int i) {
        top.block[b][i] =
            arithmetic::add_rn(top.block[b][i], arithmetic::add_rn(sums.block[b][i], 0.0F));
      });
    }
#pragma unroll 1
    for (int more = step.more; more > 0; --more) {
      in_quads(--waiting, [&](int b, int q, const f32x4* at) {
        const f32x4 quad = *at;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          top.block[b][4 * q + i] = arithmetic::add_rn(quad[i], top.block[b][4 * q + i]);
        }
      });
    }
    sums.clear();
  }

 private:
  template <class Fn>
  DETGEMM_DEVICE static void each(Fn&& fn) {
#pragma unroll
    for (int b = 0; b < Sums<T>::kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 16; ++i) fn(b, i);
    }
  }
  /// Calls fn for registers 4 q .. 4 q + 3 of every block with their place in entry `index`:
  ///
  ///   entry   [block 0, q 0: thread 0 | thread 1 | ...] [block 0, q 1: ...]    16 bytes per thread
  template <class Fn>
  DETGEMM_DEVICE static void in_quads(int index, Fn&& fn) {
    const TileArguments& a = kernel_argument<TileArguments>();
    auto* at = reinterpret_cast<f32x4*>(a.stack + block_index() * a.stack_stride +
                                        std::int64_t{index} * (T::kM * T::kN));
    const int thread = fresh_thread();
    int quads = T::kThreads;
    // The compiler does not know the distance, so it does not keep its multiples in registers.
    asm volatile("" : "+s"(quads));
#pragma unroll
    for (int b = 0; b < Sums<T>::kBlocks; ++b) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        fn(b, q, at + thread);
        at += quads;
      }
      gcn::schedule_fence();  // the addresses of all blocks at once would fill the registers
    }
  }
};

}  // namespace detgemm::hip::gfx9
