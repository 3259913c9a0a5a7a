// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"
#include "core/contract/reduction.hpp"
#include "cuda/mma/params.hpp"
#include "cuda/mma/tile.hpp"

namespace detgemm::cuda::mma {

/// The leaves of a fold or a tree, joined as they end; reduce_leaves defines it.
///
///   fold:  sum = (((start + l0) + l1) + l2) ...
///   tree:  sum is the newest subtree; older ones wait in the workspace until their sibling is
///   there
///
///          l0 | l0 + l1 | l0 + l1, l2 | (l0 + l1) + (l2 + l3)
///
/// A thread reads only what it stored itself, so no thread waits for another.
template <class Shape>
class Reducer {
  static constexpr int kCount = Shape::tile.accumulators();
  static constexpr int kThreads = Shape::tile.threads();
  static_assert(kCount % 4 == 0, "Sums wait in pieces of 16 bytes.");

 public:
  __device__ __forceinline__ explicit Reducer(const Params& p) : p_(p) {}

  /// Joins the leaf that has ended to `sum`.
  __device__ __forceinline__ void add(const float* leaf, float* sum) {
    const bool tree = p_.g.reduction.kind == ReductionKind::tree;
    int closed = tree ? nodes_closed_by(leaf_, p_.leaves) : 1;
    if (tree && leaf_ > 0 && closed == 0) push(sum);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      sum[i] = closed > 0 ? arithmetic::add_rn(sum[i], leaf[i]) : leaf[i];
    }
#pragma unroll 1
    for (; closed > 1; --closed) pop_into(sum);
    ++leaf_;
  }

 private:
  __device__ __forceinline__ float4* at(int piece) const {
    const std::int64_t level = std::int64_t{blockIdx.x} * p_.levels + waiting_;
    return p_.waiting + (level * (kCount / 4) + piece) * kThreads + threadIdx.x;
  }
  __device__ __forceinline__ void push(const float* sum) {
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      *at(i) = make_float4(sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]);
    }
    ++waiting_;
  }
  __device__ __forceinline__ void pop_into(float* sum) {
    --waiting_;
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      const float4 left = *at(i);
      sum[4 * i] = arithmetic::add_rn(left.x, sum[4 * i]);
      sum[4 * i + 1] = arithmetic::add_rn(left.y, sum[4 * i + 1]);
      sum[4 * i + 2] = arithmetic::add_rn(left.z, sum[4 * i + 2]);
      sum[4 * i + 3] = arithmetic::add_rn(left.w, sum[4 * i + 3]);
    }
  }

  const Params& p_;  // p_.waiting is (CTAs, levels, kCount / 4, kThreads)
  std::int64_t leaf_ = 0;
  int waiting_ = 0;
};

}  // namespace detgemm::cuda::mma
