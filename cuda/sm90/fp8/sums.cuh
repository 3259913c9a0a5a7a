// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/fp8/scales.cuh"
#include "cuda/sm90/leaves/sums.cuh"

namespace detgemm::cuda::sm90 {

/// Hands a stage back, to both CTAs of a pair. All threads of the group call it, and each warp
/// arrives for itself.
template <class T>
__device__ __forceinline__ void release_fp8(const SharedLayout<T>& shared, int stage) {
  const std::uint32_t barrier = shared.empty + 8 * stage;
  const std::uint32_t lane = threadIdx.x % 32;
  if constexpr (T::kStageScales) __syncwarp();  // what other lanes have read is handed back, too
  if constexpr (T::kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(barrier);
  } else {
    if (lane < T::kCluster) ptx::mbarrier_arrive_cluster(ptx::mapa(barrier, lane));
  }
}

/// What the rows of a leaf are multiplied by, in the registers of a thread: their scales or, under
/// Join::one, the products with those of its columns, of which 192 have two:
///
///   columns   | 0 .. 63 | 64 .. 127 | 128 .. 191 |
///   product   | rows    | middle    | last       |   middle is one of the others, by the tile
template <class T>
struct RowFactors {
  static constexpr bool kTwo = T::kJoin == Join::one && T::kColumnBlocks == 2;
  /// Whether the products are pinned before later stages of the leaf hand back the stage of its
  /// scales: TMA's next write may overtake loads that were only issued (RowCopy), and in tiles of
  /// 192 columns the compiler multiplied behind these stages. In the other tiles it does not, as
  /// tests/cuda/resources/handed_back.py finds.
  static constexpr bool kPins = !T::kOverlaps && T::kBlocks == 1;
  float rows[T::kBlocks][2];
  float middle[kTwo ? T::kBlocks : 1][2], last[kTwo ? T::kBlocks : 1][2];
  float first_column, last_column;
  std::uint32_t columns;  ///< Join::columns: where those of this thread begin in the slot

  /// Requests what is in a slot, `skipped` scales behind the first one.
  __device__ __forceinline__ void load(const SharedLayout<T>& shared, int index, int group,
                                       int skipped) {
    const std::uint32_t slot = scale_slot(shared, index);
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int x = (group * T::kBlocks + i) * 64 + warp * 16 + half * 8 + lane / 4;
        rows[i][half] = ptx::ld_shared_f32(slot + 4 * (x + skipped));
      }
    }
    const std::uint32_t of_columns = slot + 4 * T::kRowScales;
    columns = of_columns + lane % 4 * 8;
    if constexpr (T::kJoin == Join::one) first_column = ptx::ld_shared_f32(of_columns);
    if constexpr (kTwo) last_column = ptx::ld_shared_f32(of_columns + 4);
  }
  /// half_way: the tile begins 64 columns behind a multiple of 128.
  __device__ __forceinline__ void multiply(bool half_way) {
    if constexpr (T::kJoin == Join::one) {
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float row = rows[i][half];
          rows[i][half] = arithmetic::mul_rn(row, first_column);
          if constexpr (kPins) ptx::pin(rows[i][half]);
          if constexpr (kTwo) {
            last[i][half] = arithmetic::mul_rn(row, last_column);
            if constexpr (kPins) ptx::pin(last[i][half]);
            middle[i][half] = half_way ? last[i][half] : rows[i][half];
          }
        }
      }
    }
  }
  /// That of columns 8 j .. 8 j + 7.
  __device__ __forceinline__ float of(int i, int half, int j) const {
    if constexpr (kTwo) return j < 8 ? rows[i][half] : j < 16 ? middle[i][half] : last[i][half];
    return rows[i][half];
  }
};

/// Joins a leaf of block i to the sum, in the sum's own registers:
///
///   fold:    sum = sum + leaf
///   scaled:  s = sx * sy, rounded once;  sum = fma(s, leaf, sum)
template <class T>
__device__ __forceinline__ void join_block(const RowFactors<T>& factors, int i,
                                           const float (&leaf)[T::kN / 2],
                                           float (&sum)[T::kN / 2]) {
#pragma unroll
  for (int j = 0; j < T::kN / 8; ++j) {
    float2 pair{1.0F, 1.0F};
    if constexpr (T::kJoin == Join::columns) {
      pair = ptx::ld_shared_v2_f32(factors.columns + 32 * j);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = j * 4 + half * 2;
      if constexpr (!T::kScaled) {
        ptx::add_rn_f32(sum[at], leaf[at]);
        ptx::add_rn_f32(sum[at + 1], leaf[at + 1]);
      } else {
        float s0 = factors.of(i, half, j), s1 = s0;
        if constexpr (T::kJoin == Join::columns) {
          s0 = arithmetic::mul_rn(s0, pair.x);
          s1 = arithmetic::mul_rn(s1, pair.y);
        }
        ptx::fma_rn_f32(sum[at], s0, leaf[at]);
        ptx::fma_rn_f32(sum[at + 1], s1, leaf[at + 1]);
      }
    }
  }
}

/// Runs the stages of leaves and joins each to the sum. A leaf is a chain from +0 over its k32
/// steps, four per stage:
///
///   leaf = +0 -> [k 0..31] -> [k 32..63] -> [k 64..95] -> [k 96..127] -> next stage of the leaf
///
/// kOverlaps: a leaf joins while the first stage of the next one runs; two leaves in registers.
///
///   tensor core   | l0 | l1      | l2      | ...
///   joins              | l0 join | l1 join | ...
///
/// Else it joins when its last step has ended; the other consumer group multiplies meanwhile. Two
/// blocks of rows per group take turns in the registers of one leaf, which ends with its stage.
///
///   group 0   | l0, rows 0 | join       | l0, rows 64 | join        | l1, rows 0 | ...
///   group 1   | join       | l0, rows 0 | join        | l0, rows 64 | join       | ...
template <class T>
struct Fp8Leaves {
  const SharedLayout<T>& shared;
  int k_blocks;
  int leaf_blocks;
  int group;
  bool half_way;  ///< the tile begins 64 columns behind a multiple of 128
  RowsSkipped skipped;
  RingCursor<T::kStages>& cursor;
  RingCursor<T::kSlots>& slots;
  Accumulators<T>& sum;
  int running = -1;    ///< the stage that was started last
  bool there = false;  ///< the next stage, if that is known

  using Leaf = float[T::kN / 2];  // (64, kN) per group
  using Factors = RowFactors<T>;
  Factors next = {};  ///< kReadsAhead: the scales of the next leaf, if its stage is there

  __device__ __forceinline__ void wait_for_stage() {
    if (!T::kLooksAhead || !there)
      ptx::mbarrier_wait(shared.full + 8 * cursor.stage, cursor.parity);
  }
  /// Queries whether the next stage is there: the answer arrives while a leaf joins.
  __device__ __forceinline__ void look_ahead(bool more) {
    there = more && ptx::mbarrier_try_wait(shared.full + 8 * cursor.stage, cursor.parity);
  }
  /// The same while the last steps of a leaf run, with the scales of the next leaf if they are
  /// there: its start waits for no load then.
  __device__ __forceinline__ void read_ahead(bool more) {
    look_ahead(more);
    if (there) load_stage_scales(next);
  }
  /// Starts the four steps of block i of rows.
  template <bool kFresh>
  __device__ __forceinline__ void start(int i, Leaf& leaf) {
    constexpr std::uint64_t kStep = k16_step_bytes(false) >> 4;
    using Wgmma = ptx::Wgmma<T::kInput, T::kN, false, false>;
    const std::uint64_t x =  // (64, 128 k)
        ptx::descriptor(shared.x(cursor.stage) + (group * T::kBlocks + i) * kSlabBytes, kSlabBytes);
    const std::uint64_t y = ptx::descriptor(shared.y(cursor.stage), kSlabBytes);  // (kN, 128 k)
    if constexpr (T::kTakesTurns) ptx::bar_sync(kTurnBarrier + group, 256);
    ptx::wgmma_fence();
    Wgmma::template run<kFresh>(leaf, x, y);
#pragma unroll
    for (int step = 1; step < kBlockK / 16; ++step) {
      Wgmma::template run<false>(leaf, x + step * kStep, y + step * kStep);
    }
    ptx::wgmma_commit();
    if constexpr (T::kTakesTurns) ptx::bar_arrive(kTurnBarrier + 1 - group, 256);
  }
  __device__ __forceinline__ void load_stage_scales(Factors& factors) {
    factors.load(shared, cursor.stage, group, skipped.rows);
    skipped.next_leaf();
  }
  /// The scales of a leaf whose first stage is there, unless they were read ahead.
  __device__ __forceinline__ void take_scales(Factors& factors) {
    if constexpr (T::kReadsAhead) {
      if (!there) load_stage_scales(next);
      factors = next;
    } else {
      load_stage_scales(factors);
    }
  }
  /// Starts the first stage of a leaf, or a later one, of one block of rows. Returns the stage that
  /// ran before.
  template <bool kFresh>
  __device__ __forceinline__ int start_stage(Factors& factors, Leaf& leaf) {
    wait_for_stage();
    // A warp waits at a step until the tensor core takes it, and would reach these loads late.
    if constexpr (kFresh && T::kStageScales) take_scales(factors);
    start<kFresh>(0, leaf);
    if constexpr (kFresh && T::kStageScales) factors.multiply(half_way);
    const int before = running;
    running = cursor.stage;
    cursor.advance();
    return before;
  }
  /// The scales of the leaf that joins next, where they arrive apart from the stages.
  __device__ __forceinline__ void load_slot(Factors& factors) {
    if constexpr (T::kJoin == Join::columns) {
      ptx::mbarrier_wait(scales_full(shared, slots.stage), slots.parity);
      factors.load(shared, slots.stage, group, 0);
    }
  }
  __device__ __forceinline__ void release_slot() {
    if constexpr (T::kJoin == Join::columns) {
      release_scales<T>(shared, slots.stage);
      slots.advance();
    }
  }
  /// The stages of the leaf that begins at `block`, but for the first.
  __device__ __forceinline__ void run_rest(int block, Factors& factors, Leaf& leaf) {
    const int end = min(block + leaf_blocks, k_blocks);
#pragma unroll 1
    for (++block; block < end; ++block) {
      there = false;
      const int before = start_stage<false>(factors, leaf);
      ptx::wgmma_wait<1>();
      release_fp8<T>(shared, before);
    }
  }
  /// The stage is handed back before the leaf joins: a ring that had to wait for the adds of a fold
  /// too would hold less, and took up to 26 % longer.
  __device__ __forceinline__ void release_and_join(int stage, bool more, const Factors& factors,
                                                   Leaf& leaf) {
    ptx::pin(leaf);
    release_fp8<T>(shared, stage);
    if constexpr (T::kLooksAhead && !T::kReadsAhead) look_ahead(more);
    join_block<T>(factors, 0, leaf, sum[0]);
    release_slot();
  }
  __device__ __forceinline__ void run_one(int block, Leaf& mine, Factors& factors, Leaf& other,
                                          Factors& of_other) {
    const int before = start_stage<true>(factors, mine);
    if (block > 0) load_slot(of_other);
    ptx::wgmma_wait<1>();
    if (block > 0) release_and_join(before, true, of_other, other);
    run_rest(block, factors, mine);
  }
  __device__ __forceinline__ void end(bool more, Factors& factors, Leaf& leaf) {
    load_slot(factors);
    ptx::wgmma_wait<0>();
    release_and_join(running, more, factors, leaf);
  }
  /// Hands all stages of a tile back unread, in its turns, and the slots of their scales.
  __device__ __forceinline__ void pass() {
#pragma unroll 1
    for (int block = 0, of_leaf = 0; block < k_blocks; ++block) {
      ptx::mbarrier_wait(shared.full + 8 * cursor.stage, cursor.parity);
      if constexpr (T::kTakesTurns) {
        ptx::bar_sync(kTurnBarrier + group, 256);
        ptx::bar_arrive(kTurnBarrier + 1 - group, 256);
      }
      release_fp8<T>(shared, cursor.stage);
      cursor.advance();
      if (T::kJoin == Join::columns && of_leaf == 0) pass_slot();
      of_leaf = of_leaf + 1 < leaf_blocks ? of_leaf + 1 : 0;
    }
    there = false;
  }
  __device__ __forceinline__ void pass_slot() {
    ptx::mbarrier_wait(scales_full(shared, slots.stage), slots.parity);
    release_scales<T>(shared, slots.stage);
    slots.advance();
  }
  /// Two leaves of one stage each, their scales, and their stages.
  struct Two {
    Leaf leaf[2];
    Factors factors[2];
    int stage[2];
  };
  /// Starts two leaves, step by step in turn, so that no step waits for the one before it.
  __device__ __forceinline__ void start_two(Two& two) {
    constexpr std::uint64_t kStep = k16_step_bytes(false) >> 4;
    using Wgmma = ptx::Wgmma<T::kInput, T::kN, false, false>;
    std::uint64_t x[2], y[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      ptx::mbarrier_wait(shared.full + 8 * cursor.stage, cursor.parity);
      load_stage_scales(two.factors[i]);
      x[i] = ptx::descriptor(shared.x(cursor.stage) + group * kSlabBytes, kSlabBytes);  // (64, 128)
      y[i] = ptx::descriptor(shared.y(cursor.stage), kSlabBytes);                       // (kN, 128)
      two.stage[i] = cursor.stage;
      cursor.advance();
    }
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kBlockK / 16; ++step) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (step == 0) {
          Wgmma::template run<true>(two.leaf[i], x[i], y[i]);
        } else {
          Wgmma::template run<false>(two.leaf[i], x[i] + step * kStep, y[i] + step * kStep);
        }
      }
    }
    ptx::wgmma_commit();
#pragma unroll
    for (int i = 0; i < 2; ++i) two.factors[i].multiply(half_way);
  }
  __device__ __forceinline__ void join_two(Two& two) {
#pragma unroll
    for (int i = 0; i < 2; ++i) ptx::pin(two.leaf[i]);
#pragma unroll
    for (int i = 0; i < 2; ++i) release_fp8<T>(shared, two.stage[i]);
#pragma unroll
    for (int i = 0; i < 2; ++i) join_block<T>(two.factors[i], 0, two.leaf[i], sum[0]);
  }
  /// Leaves of one stage each, in twos; two join while the next two run.
  __device__ __forceinline__ void run_in_twos() {
    Two even, odd;
    const int twos = k_blocks / 2;
    const auto run_two = [&](bool joins, Two& mine, Two& other) {
      start_two(mine);
      ptx::wgmma_wait<1>();
      if (joins) join_two(other);
    };
    int at = 0;
#pragma unroll 1
    for (; at + 1 < twos; at += 2) {
      run_two(at > 0, even, odd);
      run_two(true, odd, even);
    }
    if (at < twos) {
      run_two(at > 0, even, odd);
      ptx::wgmma_wait<0>();
      join_two(even);
    } else {
      ptx::wgmma_wait<0>();
      if (twos > 0) join_two(odd);
    }
    if (k_blocks % 2 == 0) return;
    start_stage<true>(even.factors[0], even.leaf[0]);
    ptx::wgmma_wait<0>();
    release_and_join(running, false, even.factors[0], even.leaf[0]);
  }
  __device__ __forceinline__ void run() {
    if constexpr (T::kTogether == 2) {
      if (leaf_blocks == 1) {
        run_in_twos();
        return;
      }
    }
    if constexpr (T::kOverlaps) {
      Leaf even, odd;
      Factors of_even, of_odd;
      int block = 0;
#pragma unroll 1
      for (; block + leaf_blocks < k_blocks; block += 2 * leaf_blocks) {
        run_one(block, even, of_even, odd, of_odd);
        run_one(block + leaf_blocks, odd, of_odd, even, of_even);
      }
      if (block < k_blocks) {
        run_one(block, even, of_even, odd, of_odd);
        end(false, of_even, even);
      } else {
        end(false, of_odd, odd);
      }
    } else if constexpr (T::kBlocks == 1) {
#pragma unroll 1
      for (int block = 0; block < k_blocks; block += leaf_blocks) {
        Leaf leaf;
        Factors factors;
        start_stage<true>(factors, leaf);
        run_rest(block, factors, leaf);
        end(block + leaf_blocks < k_blocks, factors, leaf);
      }
    } else {
#pragma unroll 1
      for (int block = 0; block < k_blocks; ++block) {
        Leaf leaf;
        Factors factors;
        wait_for_stage();
        if constexpr (T::kStageScales) take_scales(factors);
        const int stage = cursor.stage;
        const bool more = block + 1 < k_blocks;
#pragma unroll
        for (int i = 0; i < T::kBlocks; ++i) {
          const bool is_last = i == T::kBlocks - 1;
          start<true>(i, leaf);
          if (T::kStageScales && i == 0) factors.multiply(half_way);
          if (is_last) cursor.advance();
          if (T::kReadsAhead && is_last) read_ahead(more);
          ptx::wgmma_wait<0>();
          ptx::pin(leaf);
          if (is_last) release_fp8<T>(shared, stage);
          if (!T::kReadsAhead && is_last) look_ahead(more);
          join_block<T>(factors, i, leaf, sum[i]);
        }
      }
    }
  }
};

}  // namespace detgemm::cuda::sm90
