// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaves/c.cuh"
#include "cuda/sm90/leaves/stack.cuh"
#include "cuda/sm90/leaves/walk.cuh"

// The orders in which a consumer warp group runs and adds the leaves of a part (see Order).

namespace detgemm::cuda::sm90 {

/// Runs the stages of one leaf after another. One wgmma group stays in flight. While it runs, the
/// stage of the group before it is handed back.
template <class T>
struct LeafStages {
  const SharedLayout<T>& shared;
  int k_blocks;
  int group;
  RingCursor<T::kStages>& cursor;
  IncomingC<T>& c;
  int previous = -1;

  /// Runs the first stage of leaf `at`. From here on the leaf before has ended, and only its last
  /// stage has yet to be released.
  __device__ __forceinline__ BlockRange start(const LeafShape& leaf, int at,
                                              Accumulators<T>& value) {
    const BlockRange k = blocks_of(leaf, {at, at + 1}, k_blocks);
    run<true>(value);
    return k;
  }
  template <bool kFresh = false>
  __device__ __forceinline__ void run(Accumulators<T>& value) {
    start_stage<T, kFresh>(shared, group, cursor, value);
    ptx::wgmma_wait<1>();
    if (previous >= 0) release<T>(shared, previous);
    previous = cursor.stage;
    cursor.advance();
  }
  __device__ __forceinline__ void run_rest(BlockRange k, Accumulators<T>& value) {
    run_until(k.begin + T::kDepth, k.end, value);
  }
  /// Runs the rest of a leaf that may be the tile's first: then C is loaded between its stages.
  /// Without C those loops have no iterations; a branch around them would give the accumulators two
  /// paths.
  __device__ __forceinline__ void run_rest_and_c(BlockRange k, bool first, Accumulators<T>& value) {
    int block = k.begin + T::kDepth;
    if constexpr (T::kLoadsC) {
      const bool comes = first && c.on;
      const int stages = comes ? c.kStagesPerRound : 0;
#pragma unroll
      for (int round = 0; round <= c.kRounds; ++round) {
        const int until = min(k.end, block + stages);
        run_until(block, until, value);
        block = max(block, until);
        if (comes && round > 0) c.receive(round - 1);
        if (comes && round < c.kRounds) c.request(round);
      }
    }
    run_until(block, k.end, value);
  }
  __device__ __forceinline__ void run_until(int block, int end, Accumulators<T>& value) {
#pragma unroll 1
    for (; block < end; block += T::kDepth) run(value);
  }
  __device__ __forceinline__ void end(Accumulators<T>& value) {
    ptx::wgmma_wait<0>();
    pin(value);
    release<T>(shared, previous);
    previous = -1;
  }
  static __device__ __forceinline__ void pin(Accumulators<T>& value) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) ptx::pin(value[i]);
  }
};

/// Order::sequential, for large tiles: a leaf is added when its last step has ended.
///
///   tensor core   | l0 |        | l1 |        | l2 | ...
///   adds                 add l0        add l1
template <class T>
__device__ __forceinline__ void run_leaves_sequentially(LeafStages<T> stages, Leaves<T>& leaves) {
#pragma unroll 1
  for (int at = leaves.range.begin; at < leaves.range.end; ++at) {
    Accumulators<T> value;  // (64 * kBlocks, kN): one leaf
    const BlockRange k = stages.start(leaves.leaf, at, value);
    stages.run_rest_and_c(k, at == leaves.range.begin, value);
    stages.end(value);
    leaves.add_ended_leaf(at, value);
  }
}

/// Order::runs, for trees of large tiles, in three sets of registers. The leaves of a run
/// run from right to left, r0 being its last one, and no sum of a run leaves the registers. While
/// r0 runs, what waits for the sum of the run before is added to it, and that sum is stored. Runs
/// of 3 leaves, of 4 or 7, and of 5 or 6:
///
///   tensor core   | r0 in b             | r1 in c | r2 in sum  |
///   adds            joined, sum stored              b = r0 + r1  sum = r2 + b
///
///   tensor core                                                | r3 in c |
///   adds                                                                   sum = (r2 + r3) + b
///
///   tensor core                                                | r3 in c |
///   adds                                                         sum = r2 + b
///
/// The left side of 5 to 7 leaves:
///
///   tensor core   | in c | next in b |           | next in b |
///   adds                               c = c + b               c = c + b, sum = sum + c
template <class T>
__device__ __forceinline__ void run_leaves_in_runs(LeafStages<T> stages, Leaves<T>& leaves) {
  Accumulators<T>& sum = leaves.sums[0];
  int end = leaves.range.end;  // leaves behind it are done
  int joins = 0;               // sums that `sum` has yet to be added to
  int level = -1;              // where it then has to wait
  const auto run = [&](int at, Accumulators<T>& value) {
    stages.run_rest(stages.start(leaves.leaf, at, value), value);
  };
  const auto join = [&](int count) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) leaves.waiting.add_to(sum, i);
  };
  // The rest of the left side of a run, whose last leaf runs in c.
  const auto left_side = [&](int at, int begin, Accumulators<T>& b, Accumulators<T>& c) {
    run(at, b);
    stages.end(b);
    stages.pin(c);
    add_to<T>(c, b);
    if (at > begin) {
      run(begin, b);
      stages.end(b);
      add_to<T>(c, b);
    }
    add_to<T>(sum, c);
  };
#pragma unroll 1
  while (end > leaves.range.begin) {
    Accumulators<T> b, c;  // (64 * kBlocks, kN) each
    const BlockRange k = stages.start(leaves.leaf, end - 1, b);
    join(joins);
    if (level >= 0) leaves.waiting.store(level, sum);
    const LeafRun now = run_before(leaves.range, end);
    const int count = end - now.begin;
    stages.run_rest(k, b);
    if (count > 2) {
      run(end - 2, c);
      const BlockRange k2 = stages.start(leaves.leaf, end - 3, sum);
      stages.pin(b);
      stages.pin(c);
      add_to<T>(b, c);
      stages.run_rest(k2, sum);
      if (count % 3 == 1) {  // the right side of 7 leaves has 4 of them, as a run of 4 has
        run(end - 4, c);
        stages.end(c);
        stages.pin(sum);
        add_to<T>(sum, c);
        add_to<T>(sum, b);
        if (count == 7) {
          run(end - 5, c);
          left_side(end - 6, now.begin, b, c);
        }
      } else if (count > 3) {
        const BlockRange k3 = stages.start(leaves.leaf, end - 4, c);
        stages.pin(sum);
        add_to<T>(sum, b);
        stages.run_rest(k3, c);
        left_side(end - 5, now.begin, b, c);
      } else {
        stages.end(sum);
        add_to<T>(sum, b);
      }
    } else if (count == 2) {
      run(end - 2, sum);
      stages.end(sum);
      stages.pin(b);
      add_to<T>(sum, b);
    } else {
      stages.end(b);
      leaves.set(sum, b);
    }
    end = now.begin;
    joins = now.joins;
    level = now.level;
  }
  join(joins);
}

/// Order::overlapped, where registers hold two leaves beside the sums: a leaf is added while the
/// first stage of the next one runs.
///
///   tensor core   | l0, stage 0 | l0, stage 1 | l1, stage 0 | l1, stage 1 | l2, stage 0 | ...
///   adds                                      | add l0      |             | add l1      |
template <class T>
__device__ __forceinline__ void run_leaves_overlapped(LeafStages<T> stages, Leaves<T>& leaves) {
  Accumulators<T> even, odd;  // (64 * kBlocks, kN) each: two leaves
  const auto run = [&](int at, Accumulators<T>& mine, Accumulators<T>& other) {
    const BlockRange k = stages.start(leaves.leaf, at, mine);
    if (at > leaves.range.begin) {
      stages.pin(other);
      leaves.add_leaf(at - 1, other);
    }
    stages.run_rest_and_c(k, at == leaves.range.begin, mine);
  };
  int at = leaves.range.begin;
#pragma unroll 1
  for (; at + 1 < leaves.range.end; at += 2) {
    run(at, even, odd);
    run(at + 1, odd, even);
  }
  if (at < leaves.range.end) {
    run(at, even, odd);
    stages.end(even);
    leaves.add_leaf(at, even);
  } else {
    stages.end(odd);
    leaves.add_leaf(at - 1, odd);
  }
}

}  // namespace detgemm::cuda::sm90
