// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "hip/arguments.hpp"
#include "hip/grid.hpp"
#include "hip/simt/tile.hpp"

namespace detgemm::hip::simt {

/// The tree over roots [0, count), where count is a power of two. It is a binary counter whose
/// digits are waiting sums: a root is added to one waiting sum for each 1 at the end of its index,
/// newest first.
///
///   i = 0: r0 waits            i = 1: r0 + r1 waits
///   i = 2: r2 waits            i = 3: (r0 + r1) + (r2 + r3)
template <class Load>
DETGEMM_DEVICE float tree_of_roots(std::int64_t count, Load&& load) {
  constexpr int kLevels = 31;
  float level[kLevels];  // level[d]: a finished subtree of 2^d roots that waits for its neighbour
  float sum = 0.0F;
#pragma unroll 1
  for (std::int64_t i = 0; i < count; ++i) {
    sum = load(i);
    bool carried = true;
#pragma unroll
    for (int d = 0; d < kLevels; ++d) {
      if (!carried) continue;
      if ((i >> d & 1) != 0) {
        sum = arithmetic::add_rn(level[d], sum);
      } else {
        level[d] = sum;
        carried = false;
      }
    }
  }
  return sum;
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
    const float sum = tree_of_roots(reload(a).count, [&](std::int64_t i) {
      const CombineArguments& now = reload(a);
      const Root root = now.table != nullptr ? now.table[i] : now.roots[i];
      return root.data[row * root.strides.row + col * root.strides.col];
    });
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
