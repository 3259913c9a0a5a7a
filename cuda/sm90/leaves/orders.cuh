// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaves/c.cuh"
#include "cuda/sm90/leaves/stack.cuh"

// The three ways in which a consumer warp group runs the leaves of a part one after another.

namespace detgemm::cuda::sm90 {

__device__ __forceinline__ BlockRange blocks_of(const LeafShape& leaf, LeafRange r, int k_blocks) {
  return {r.begin * leaf.leaf_blocks, min(r.end * leaf.leaf_blocks, k_blocks)};
}

/// The stages of one leaf after another. One wgmma group stays in flight: while it runs, the stage
/// of the one before is handed back.
template <class T>
struct LeafStages {
  const SharedLayout<T>& shared;
  int k_blocks;
  int group;
  RingCursor<T::kStages>& cursor;
  IncomingC<T>& c;
  int previous = -1;

  /// Starts a leaf: from here on the one before has ended, but for its last stage's release.
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
  /// The rest of a leaf that may be the tile's first: C comes between its stages. Without C those
  /// loops have no turns; a branch around them would give the accumulators two paths.
  __device__ __forceinline__ void run_rest_and_c(BlockRange k, bool first, Accumulators<T>& value) {
    int block = k.begin + T::kDepth;
    if constexpr (T::kLoadsC) {
      const bool comes = first && c.on;
      const int stages = comes ? c.kStagesARound : 0;
#pragma unroll
      for (int round = 0; round <= c.kRounds; ++round) {
        const int until = min(k.end, block + stages);
        run_until(block, until, value);
        block = max(block, until);
        if (comes && round > 0) c.take(round - 1);
        if (comes && round < c.kRounds) c.ask(round);
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
    keep(value);
    release<T>(shared, previous);
    previous = -1;
  }
  static __device__ __forceinline__ void keep(Accumulators<T>& value) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) ptx::pin(value[i]);
  }
};

/// Large tiles: a leaf is taken when its last step has ended.
template <class T>
__device__ __forceinline__ void run_leaves_in_turn(LeafStages<T> stages, Leaves<T>& leaves) {
#pragma unroll 1
  for (int at = leaves.range.begin; at < leaves.range.end; ++at) {
    Accumulators<T> value;
    const BlockRange k = stages.start(leaves.leaf, at, value);
    stages.run_rest_and_c(k, at == leaves.range.begin, value);
    stages.end(value);
    leaves.take_ended(at, value);
  }
}

/// Trees of large tiles, in three sets of registers: the sum on top of the stack and two more. Four
/// leaves that make a subtree run on from one to the next, and what was on top is put away under
/// the first of them. Additions commute, NaN being canonical, so that the sum ends where it began.
///
///   tensor core   | l0 in b | l1 in c | l2 in sum   | l3 in c |
///   adds            sum put away        b = l0 + l1           sum = (l2 + l3) + b, then its nodes
///
/// Two leaves, b and sum, or one where the tree has no such four.
template <class T>
__device__ __forceinline__ void run_leaves_in_fours(LeafStages<T> stages, Leaves<T>& leaves) {
  Accumulators<T>& sum = leaves.sums[0];
  int at = leaves.range.begin;
#pragma unroll 1
  while (at < leaves.range.end) {
    Accumulators<T> b, c;
    const BlockRange k = stages.start(leaves.leaf, at, b);
    leaves.put_away();
    const auto closed_by = [&](int i) {
      return at + i < leaves.range.end ? leaves.closed_by(at + i) : 0;
    };
    int closed = closed_by(0);
    const int first = closed == 0 ? closed_by(1) : 0;
    const int second = first == 1 && closed_by(2) == 0 ? closed_by(3) : 0;
    stages.run_rest(k, b);
    if (second > 1) {
      stages.run_rest(stages.start(leaves.leaf, at + 1, c), c);
      const BlockRange k2 = stages.start(leaves.leaf, at + 2, sum);
      stages.keep(b);
      stages.keep(c);
      add_to<T>(b, c);
      stages.run_rest(k2, sum);
      stages.run_rest(stages.start(leaves.leaf, at + 3, c), c);
      stages.end(c);
      stages.keep(sum);
      add_to<T>(sum, c);
      add_to<T>(sum, b);
      closed = second - 2;
      at += 4;
    } else if (first > 0) {
      stages.run_rest(stages.start(leaves.leaf, at + 1, sum), sum);
      stages.end(sum);
      stages.keep(b);
      add_to<T>(sum, b);
      closed = first - 1;
      at += 2;
    } else {
      stages.end(b);
      leaves.set(sum, b);
      ++at;
    }
    leaves.close_top(closed);
  }
}

/// Where registers hold two leaves beside the sums: one is taken while the next one's first stage
/// runs.
///
///   tensor core   | l0, stage 0 | l0, stage 1 | l1, stage 0 | l1, stage 1 | l2, stage 0 | ...
///   adds                                      | take l0     |             | take l1     |
template <class T>
__device__ __forceinline__ void run_leaves_under(LeafStages<T> stages, Leaves<T>& leaves) {
  Accumulators<T> even, odd;
  const auto run = [&](int at, Accumulators<T>& mine, Accumulators<T>& other) {
    const BlockRange k = stages.start(leaves.leaf, at, mine);
    if (at > leaves.range.begin) {
      stages.keep(other);
      leaves.take(at - 1, other);
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
    leaves.take(at, even);
  } else {
    stages.end(odd);
    leaves.take(at - 1, odd);
  }
}

}  // namespace detgemm::cuda::sm90
