// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaves/sums.cuh"

// Trees of whole tiles of more than 128 columns, of which a thread's registers hold two sets: a
// leaf and a sum. What else waits is in shared memory, or, of more than kRunLeaves leaves, in the
// workspace.

namespace detgemm::cuda::sm90 {

/// What waits of a warp group's part of a tile. A sum passes through the slot on its way to the
/// workspace and back, by bulk copies that no thread waits for until the sum is needed.
///
///   slot (kGroupBoxes bytes): (kBlocks, kN / 8, 128 threads) pieces of four accumulators
///   workspace:                (CTA, level, group) of the same
///
/// A thread alone stores and loads its pieces. The slot also holds boxes of D.
template <class T>
struct TreeSlot {
  const SharedLayout<T>& shared;
  const LeafShape& leaf;
  int group;
  std::uint32_t parity = 0;  ///< of the next sum that is loaded from the workspace

  // Addresses are computed when they are needed: a leaf and a sum leave hardly a register for them.
  __device__ __forceinline__ std::uint32_t slot() const {
    return shared.epilogue + group * T::kGroupBoxes;
  }
  __device__ __forceinline__ std::uint32_t arrived() const {
    return shared.epilogue + T::kSlotBytes + group * 8;
  }
  __device__ __forceinline__ char* at_level(int level) const {
    return static_cast<char*>(leaf.waiting) +
           (std::int64_t{blockIdx.x} * leaf.levels + level) * T::kSlotBytes +
           group * T::kGroupBoxes;
  }
  static __device__ __forceinline__ void init(const SharedLayout<T>& shared) {
    for (int i = 0; i < T::kGroups; ++i) {
      ptx::mbarrier_init(shared.epilogue + T::kSlotBytes + i * 8, 1);
    }
  }
  /// The thread in its group, as of here: no register keeps it while leaves run.
  static __device__ __forceinline__ std::uint32_t thread() {
    std::uint32_t thread = threadIdx.x;
    ptx::pin(thread);
    return thread % 128;
  }
  /// Calls `piece(address, four accumulators)` for all pieces of this thread.
  template <class A, class Piece>
  __device__ __forceinline__ void for_all(A& acc, Piece&& piece) const {
    const std::uint32_t mine = slot() + thread() * 16;
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < T::kN / 8; ++j) {
        piece(mine + (i * (T::kN / 8) + j) * 128 * 16, acc[i] + 4 * j);
      }
    }
  }
  /// slot = value.
  __device__ __forceinline__ void put(const Accumulators<T>& value) const {
    // TMA may still read the last D, or a sum on its way to the workspace.
    if (thread() % 32 == 0) ptx::tma_store_wait_read<0>();
    ptx::bar_sync(kGroupBarrier + group, 128);
    for_all(value,
            [](std::uint32_t at, const float* v) { ptx::st_shared_v4_f32(at, to_piece(v)); });
  }
  /// sum = sum + slot.
  __device__ __forceinline__ void add_to(Accumulators<T>& sum) const {
    for_all(sum, [](std::uint32_t at, float* d) {
      const float4 v = ptx::ld_shared_v4_f32(at);
      ptx::add_rn_f32(d[0], v.x);
      ptx::add_rn_f32(d[1], v.y);
      ptx::add_rn_f32(d[2], v.z);
      ptx::add_rn_f32(d[3], v.w);
    });
  }
  /// level = value.
  __device__ __forceinline__ void send(int level, const Accumulators<T>& value) const {
    put(value);
    ptx::fence_proxy_async();
    ptx::bar_sync(kGroupBarrier + group, 128);
    if (thread() == 0) {
      ptx::bulk_store(at_level(level), slot(), T::kGroupBoxes);
      ptx::tma_store_commit();
    }
  }
  /// sum = sum + level.
  __device__ __forceinline__ void bring(int level, Accumulators<T>& sum) {
    ptx::fence_proxy_async();  // or the copy may overtake the loads of what was in the slot
    if (thread() % 32 == 0) ptx::tma_store_wait_read<0>();
    ptx::bar_sync(kGroupBarrier + group, 128);
    if (thread() == 0) {  // the thread that sent the level
      ptx::tma_store_wait();
      ptx::fence_proxy_async_all();
      ptx::mbarrier_arrive_expect_tx(arrived(), T::kGroupBoxes);
      ptx::bulk_load(slot(), at_level(level), T::kGroupBoxes, arrived());
    }
    ptx::mbarrier_wait(arrived(), parity);
    parity ^= 1U;
    add_to(sum);
  }
};

/// What leaf `at` is in its tree. A run of leaves (LeafRun) consists of spines, which come from
/// right to left, and of which each leaf is added to the sum of those to its right. The sum of the
/// first spine waits in the slot while another one is summed up.
///
///   leaves of a run   spines
///   1, 2, 3           that many                      3: a + (b + c)      2: a + b
///   4                 2, 2
///   5                 3, 2
///   6                 3, 3
///   7                 2, 2, 3                        (a + (b + c)) + ((d + e) + (f + g))
///
/// Two operands of an add may change places: the bits are the same. It follows from `at` alone, so
/// that no register keeps it while a leaf runs.
struct LeafStep {
  enum Kind {
    starts_run,
    starts_spine,  ///< another one than the first of its run
    adds,          ///< to the sum of its spine
    ends_spine,    ///< the same, and then the slot is added
  };
  Kind kind;
  bool ends_run;
  int joins;  ///< behind the run: as in LeafRun
  int level;

  static DETGEMM_HD LeafStep of(int at, int leaves) {
    int begin = 0, end = leaves;
    LeafStep s{starts_run, false, 0, -1};
    while (end - begin > kRunLeaves) {
      const int middle = begin + (end - begin) / 2;
      if (at >= middle) {
        s.level = run_levels(middle - begin);
        s.joins = 0;
        begin = middle;
      } else {
        ++s.joins;
        end = middle;
      }
    }
    s.ends_run = at == begin;
    const int count = end - begin;
    const int first = count < 4 ? count : count == 7 ? 2 : count - count / 2;
    const int place = end - 1 - at;
    if (place < first) {
      s.kind = place == 0 ? starts_run : adds;
      return s;
    }
    const bool last_of_three = count == 7 && place >= 4;
    const int in_spine = place - (last_of_three ? 4 : first);
    const int length = last_of_three ? 3 : count == 7 ? 2 : count - first;
    s.kind = in_spine == 0 ? starts_spine : in_spine < length - 1 ? adds : ends_spine;
    return s;
  }
};

/// The k blocks of a tile in the order in which its leaves run: the last leaf is first.
struct LeavesFromTheRight {
  int leaves, leaf_blocks, k_blocks;

  template <int kDepth, class Walk, class Visit>
  __device__ __forceinline__ void for_stages(const Walk&, Visit&& visit) const {
    for (int at = leaves - 1; at >= 0; --at) {
      const int end = min((at + 1) * leaf_blocks, k_blocks);
      for (int block = at * leaf_blocks; block < end; block += kDepth) visit(block);
    }
  }
};

/// Runs the stages of a tile's leaves and adds them up. There are two sets of registers: one holds
/// the sum so far, `other`, while a leaf runs in `mine`. A leaf that starts a spine keeps its set
/// and so becomes the sum; the sum before it has left the other set while that leaf ran.
///
///   leaf = +0 -> [k 0..15] -> [k 16..31] -> ... -> [last k of the leaf]          tensor core
///   tree of 8:  ((l0 + l1) + (l2 + l3)) + ((l4 + l5) + (l6 + l7))                fp32 adds
///
///   tensor core | l7 in A | l6 in B | l5 in B   | l4 in A | l3 in B          | l2 in A | ...
///   at its end            | A += B  |           | A = l4 + B |               | B += A  |
///   beside it                       | slot = A  |         | A += slot, A to the workspace
///
/// What is done beside a leaf is done behind its first stage. The groups start stages in turn, so
/// that one adds while the other multiplies.
template <class T>
struct TreeOfLeaves {
  const SharedLayout<T>& shared;
  const LeafShape& leaf;
  int k_blocks;
  int group;
  RingCursor<T::kStages>& cursor;
  TreeSlot<T>& waiting;
  Accumulators<T>& sum;

  template <bool kFresh>
  __device__ __forceinline__ void start(Accumulators<T>& value) {
    ptx::bar_sync(kTurnBarrier + group, 256);
    start_stage<T, kFresh>(shared, group, cursor, value);
    ptx::bar_arrive(kTurnBarrier + 1 - group, 256);
  }
  /// Hands back the stage before the one that the cursor is at.
  __device__ __forceinline__ void release_last() const {
    release<T>(shared, (cursor.stage == 0 ? T::kStages : cursor.stage) - 1);
  }
  static __device__ __forceinline__ void pin(Accumulators<T>& value) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) ptx::pin(value[i]);
  }
  /// What is left to do with the sum when leaf `at` + 1 is in it.
  __device__ __forceinline__ void finish_leaf(const LeafStep& before, Accumulators<T>& value) {
    if (before.kind == LeafStep::ends_spine) waiting.add_to(value);
    if (!before.ends_run) return;
#pragma unroll 1
    for (int level = 0; level < before.joins; ++level) waiting.bring(level, value);
    if (before.level >= 0) waiting.send(before.level, value);
  }
  /// Runs leaf `at` to its end, and beside it what is left to do with the sum.
  __device__ __forceinline__ void run_leaf(int at, bool starts_spine, Accumulators<T>& mine,
                                           Accumulators<T>& other) {
    int left = min(leaf.leaf_blocks, k_blocks - at * leaf.leaf_blocks);
    start<true>(mine);
    cursor.advance();
    if (at + 1 < leaf.leaves) {
      ptx::wgmma_wait<1>();
      pin(other);
      finish_leaf(LeafStep::of(at + 1, leaf.leaves), other);
      if (starts_spine) waiting.put(other);
    }
#pragma unroll 1
    for (--left; left > 0; --left) {
      start<false>(mine);
      ptx::wgmma_wait<1>();
      release_last();
      cursor.advance();
    }
    ptx::wgmma_wait<0>();
    release_last();
    pin(mine);
  }
  /// Runs leaves in `mine`, from `at` on, until one is the sum: returns the leaf before it, or -1
  /// where all have run and their sum is in `other`.
  __device__ __forceinline__ int run_spine(int at, Accumulators<T>& mine, Accumulators<T>& other) {
#pragma unroll 1
    for (; at >= 0; --at) {
      const LeafStep step = LeafStep::of(at, leaf.leaves);
      run_leaf(at, step.kind == LeafStep::starts_spine, mine, other);
      if (step.kind == LeafStep::starts_spine || step.kind == LeafStep::starts_run) return at - 1;
      add_to<T>(other, mine);
    }
    return -1;
  }
  __device__ __forceinline__ void run() {
    Accumulators<T> a;  // (64 * kBlocks, kN); the other set is `sum`
    int at = leaf.leaves - 1;
#pragma unroll 1
    while (true) {
      at = run_spine(at, a, sum);
      if (at < 0) break;
      at = run_spine(at, sum, a);
      if (at < 0) {
#pragma unroll
        for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
          for (int j = 0; j < T::kN / 2; ++j) ptx::copy(sum[i][j], a[i][j]);
        }
        break;
      }
    }
    finish_leaf(LeafStep::of(0, leaf.leaves), sum);
  }
};

}  // namespace detgemm::cuda::sm90
