// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "hip/arguments.hpp"
#include "hip/grid.hpp"
#include "hip/simt/tile.hpp"

namespace detgemm::hip::simt {

/// The tree over `count` roots: each is pushed onto a stack and closes as many nodes as end with
/// it. The stack is in registers, so `top` is compared and never an index.
///
///   closes 0 0 2: r0 waits; r1 waits; r2: r1 + r2, then r0 + (r1 + r2)
template <class Load, class Closes>
DETGEMM_DEVICE float tree_of_roots(std::int64_t count, Load&& load, Closes&& closes_of) {
  constexpr int kDepth = 32;  // a tree over 2^31 leaves
  float held[kDepth];
  int top = 0;
#pragma unroll 1
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = load(i);
    int closes = closes_of(i);
#pragma unroll
    for (int level = kDepth - 1; level >= 0; --level) {
      const bool pops = closes > 0 && level == top - 1;
      if (pops) sum = arithmetic::add_rn(held[level], sum);
      top -= pops ? 1 : 0;
      closes -= pops ? 1 : 0;
    }
#pragma unroll
    for (int level = 0; level < kDepth; ++level) {
      if (level == top) held[level] = sum;
    }
    ++top;
  }
  return held[0];
}

/// One thread per output; a thread's outputs are as many apart as the launch has threads.
DETGEMM_DEVICE void combine(const CombineArguments& a) {
  const GemmArguments& g = reload(a).g;
  const std::int64_t outputs = g.m * g.n;
  const std::int64_t threads = reload(a).threads;
#pragma unroll 1
  for (std::int64_t e = std::int64_t{block_index()} * kThreads + thread_index(); e < outputs;
       e += threads) {
    const std::int64_t row = e / g.n;
    const std::int64_t col = e % g.n;
    const auto root_at = [&](std::int64_t i) {
      const CombineArguments& now = reload(a);
      return now.table != nullptr ? now.table[i] : now.roots[i];
    };
    const float sum = tree_of_roots(
        reload(a).count,
        [&](std::int64_t i) {
          const Root root = root_at(i);
          return root.data[row * root.strides.row + col * root.strides.col];
        },
        [&](std::int64_t i) { return root_at(i).closes; });
    finish_element(reload(a).g, row, col, sum);
  }
}

/// Copies roots from the arguments into the workspace, so that no host memory has to outlive the
/// call.
DETGEMM_DEVICE void place_roots(const PlaceArguments& a) {
  const PlaceArguments& now = reload(a);
  const int i = thread_index();
  if (i < now.count) now.to[i] = now.roots[i];
}

}  // namespace detgemm::hip::simt
