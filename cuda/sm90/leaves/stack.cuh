// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <type_traits>

#include "cuda/sm90/leaves/sums.cuh"

namespace detgemm::cuda::sm90 {

/// The leaves of one part, from left to right:
///
///   leaf  = +0 -> [k 0..15] -> [k 16..31] -> ... -> [last k of the leaf]       tensor core
///   fold:  sum = (((start + l0) + l1) + l2) ...                                fp32 adds
///   tree:  sum waits until its sibling is there:  l0, l0 + l1, | l2, l2 + l3, (l0+l1) + (l2+l3)
///
/// The first kSums sums of the stack are in registers, the rest waits elsewhere.
template <class T>
struct Leaves {
  const LeafShape& leaf;
  LeafRange range;
  int group;
  WaitingSums<T> waiting;
  /// Not initialised: a value that a branch may skip would make ptxas serialise every wgmma.
  Accumulators<T> (&sums)[T::kSums];
  int held = 0;  ///< sums on the stack

  /// Additions that leaf number `at` completes.
  __device__ __forceinline__ int closed_by(int at) const {
    if (!leaf.tree) return held;
    return nodes_closed_by(at - range.begin, range.end - range.begin);
  }
  /// Pushes leaf number `at` and closes its nodes. Nothing here writes to `value`: the next leaf's
  /// steps may be running, and ptxas lets no other instruction define accumulators then.
  __device__ __forceinline__ void take(int at, const Accumulators<T>& value) {
    int closed = closed_by(at);
    if constexpr (T::kWaits) {
      if (closed == 0 && held >= T::kSums) waiting.store(held - T::kSums, value);
      if (closed > 0 && held > T::kSums) {
        waiting.add(held - 1 - T::kSums, value);
        for (; closed > 1 && held > T::kSums + 1; --closed) {
          --held;
          waiting.merge(held - T::kSums);
        }
        if (closed > 1) {
          --closed;
          --held;
          waiting.add_to(sums[T::kSums - 1], 0);
        }
        close_in_registers(closed);
        return;
      }
    }
    push_in_registers(value, closed);
  }
  /// The same for a leaf whose registers are free to change.
  __device__ __forceinline__ void take_ended(int at, Accumulators<T>& value) {
    static_assert(T::kSums == 1);
    int closed = closed_by(at);
    if constexpr (T::kWaits) {
#pragma unroll 1
      for (; closed > 0 && held > 1; --closed) {
        --held;
        waiting.add_to(value, held - 1);
      }
      if (closed == 0 && held > 0) waiting.store(held - 1, value);
    }
    push_in_registers(value, closed);
  }
  /// Frees sums[0], the top of the stack: it waits elsewhere, above those that do.
  __device__ __forceinline__ void put_away() {
    if (held > 0) waiting.store(held - 1, sums[0]);
  }
  /// sums[0] is a new top, which closes so many nodes with those put away.
  __device__ __forceinline__ void close_top(int closed) {
#pragma unroll 1
    for (; closed > 0; --closed) {
      --held;
      waiting.add_to(sums[0], held);
    }
    ++held;
  }
  static __device__ __forceinline__ void set(Accumulators<T>& sum, const Accumulators<T>& value) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < T::kN / 2; ++j) sum[i][j] = value[i][j];
    }
  }

 private:
  __device__ __forceinline__ void push_in_registers(const Accumulators<T>& value, int closed) {
    if (closed == 0) {
      in_registers(held, [&](auto s) { set(sums[s], value); });
      ++held;
    } else {
      in_registers(held - 1, [&](auto s) { add_to<T>(sums[s], value); });
      close_in_registers(closed);
    }
  }
  /// The nodes above the first of `closed`.
  __device__ __forceinline__ void close_in_registers(int closed) {
#pragma unroll 1
    for (; closed > 1; --closed) {
      --held;
      in_registers(held, [&](auto s) {
        if constexpr (s > 0) add_to<T>(sums[s - 1], sums[s]);
      });
    }
  }
  /// act(s) where level `s` is in registers.
  template <class Act>
  __device__ __forceinline__ void in_registers(int level, Act&& act) {
    if (level == 0) act(std::integral_constant<int, 0>{});
    if constexpr (T::kSums > 1) {
      if (level == 1) act(std::integral_constant<int, 1>{});
    }
    if constexpr (T::kSums > 2) {
      if (level == 2) act(std::integral_constant<int, 2>{});
    }
    static_assert(T::kSums <= 3);
  }
};

}  // namespace detgemm::cuda::sm90
