// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <type_traits>

#include "cuda/sm90/leaves/sums.cuh"

namespace detgemm::cuda::sm90 {

/// The leaves of one part and the stack of their sums, from left to right:
///
///   leaf  = +0 -> [k 0..15] -> [k 16..31] -> ... -> [last k of the leaf]       tensor core
///   fold:  sum = (((start + l0) + l1) + l2) ...                                fp32 adds
///   tree:  a sum waits for its sibling:  l0, l0 + l1, | l2, l2 + l3, (l0 + l1) + (l2 + l3)
///
/// The first kSums sums of the stack are in registers; the rest waits elsewhere.
template <class T>
struct Leaves {
  const LeafShape& leaf;
  LeafRange range;
  int group;
  WaitingSums<T> waiting;
  /// They are not initialised: a value that a branch may skip makes ptxas serialise every wgmma.
  Accumulators<T> (&sums)[T::kSums];
  int held = 0;  ///< sums on the stack

  /// The number of additions that leaf `at` completes.
  __device__ __forceinline__ int closed_by(int at) const {
    if (!leaf.tree) return held;
    return nodes_closed_by(at - range.begin, range.end - range.begin);
  }
  /// Pushes leaf `at` and adds up the nodes that it completes. Nothing here writes to `value`: the
  /// steps of the next leaf may be running, and then ptxas lets no other instruction define
  /// accumulators.
  __device__ __forceinline__ void add_leaf(int at, const Accumulators<T>& value) {
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
  /// The same for a leaf that has ended, whose registers may change.
  __device__ __forceinline__ void add_ended_leaf(int at, Accumulators<T>& value) {
    static_assert(T::kSums == 1, "Below the leaf only one sum is in registers; the rest waits.");
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
  /// Adds up the nodes above the first of `closed`.
  __device__ __forceinline__ void close_in_registers(int closed) {
#pragma unroll 1
    for (; closed > 1; --closed) {
      --held;
      in_registers(held, [&](auto s) {
        if constexpr (s > 0) add_to<T>(sums[s - 1], sums[s]);
      });
    }
  }
  /// Calls act(s), where s is the level as a constant, if the level is in registers.
  template <class Act>
  __device__ __forceinline__ void in_registers(int level, Act&& act) {
    if (level == 0) act(std::integral_constant<int, 0>{});
    if constexpr (T::kSums > 1) {
      if (level == 1) act(std::integral_constant<int, 1>{});
    }
    if constexpr (T::kSums > 2) {
      if (level == 2) act(std::integral_constant<int, 2>{});
    }
    static_assert(T::kSums <= 3, "At most three sums of a thread are in registers.");
  }
};

}  // namespace detgemm::cuda::sm90
