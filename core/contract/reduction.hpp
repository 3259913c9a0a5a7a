// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/host_device.hpp"
#include "detgemm/contract.hpp"

namespace detgemm {

/// ceil(a / b) for a >= 0 and b > 0, also where a + b would overflow.
DETGEMM_HD constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// Leaves of a fold or tree over k >= 1 products: `leaf_k` products each, the last one possibly
/// fewer.
DETGEMM_HD constexpr std::int64_t leaves_of(std::int64_t k, std::int64_t leaf_k) {
  return (k - 1) / leaf_k + 1;
}

/// Leaves never nest deeper than this (2^63 leaves).
inline constexpr int kMaxTreeDepth = 64;

/// The tree over leaves [0, count) splits every range [lo, hi) at lo + (hi - lo) / 2, a leaf
/// index, until one leaf is left:
///
///        +              5 leaves: (l0 + l1) + (l2 + (l3 + l4))
///      /   \            .
///     +     +
///    / \   / \          Walking the leaves from left to right with a stack of finished subtrees,
///   l0 l1 l2  +         leaf `leaf` is pushed and then closes this many nodes: pop two, add,
///            / \        push. That is the number of right turns that end the path to it.
///           l3 l4
DETGEMM_HD int nodes_closed_by(std::int64_t leaf, std::int64_t count) {
  std::int64_t lo = 0;
  std::int64_t hi = count;
  int right_turns = 0;
  while (hi - lo > 1) {
    const std::int64_t mid = lo + (hi - lo) / 2;
    if (leaf < mid) {
      hi = mid;
      right_turns = 0;
    } else {
      lo = mid;
      ++right_turns;
    }
  }
  return right_turns;
}

/// The maximal number of subtrees that wait on the stack, the running leaf included.
DETGEMM_HD int tree_stack_size(std::int64_t count) {
  int size = 1;
  while ((std::int64_t{1} << (size - 1)) < count && size < kMaxTreeDepth) ++size;
  return size;
}

/// One output element, the whole reduction: `leaf(begin, end, start)` returns the chain over
/// products [begin, end) from `start`. `start` is +0, or C for `continue`. `scale(i)` is s_i of
/// leaf i, asked for under `scaled` alone, which is a fold with another join:
///
///   fold     (((start + l0) + l1) + l2)
///   scaled   fma(s2, l2, fma(s1, l1, fma(s0, l0, start)))
template <class Leaf, class Scale>
DETGEMM_HD float reduce_leaves(const Reduction& reduction, std::int64_t k, float start, Leaf&& leaf,
                               Scale&& scale) {
  using arithmetic::add_rn;
  using arithmetic::canonical;
  if (k == 0) return canonical(start);
  if (reduction.kind == ReductionKind::chain) {
    return canonical(leaf(std::int64_t{0}, k, start));
  }
  const std::int64_t step = reduction.leaf_k;
  const std::int64_t count = leaves_of(k, step);
  float stack[kMaxTreeDepth];
  int top = 0;
  float folded = start;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * step;
    const std::int64_t end = k - begin < step ? k : begin + step;
    float value = leaf(begin, end, 0.0F);
    if (reduction.kind == ReductionKind::fold) {
      folded = add_rn(folded, value);
      continue;
    }
    if (reduction.kind == ReductionKind::scaled) {
      folded = arithmetic::fma_rn(scale(i), value, folded);
      continue;
    }
    for (int closed = nodes_closed_by(i, count); closed > 0; --closed) {
      value = add_rn(stack[--top], value);
    }
    stack[top++] = value;
  }
  return canonical(reduction.kind == ReductionKind::tree ? stack[0] : folded);
}

/// The same for reductions without scales.
template <class Leaf>
DETGEMM_HD float reduce_leaves(const Reduction& reduction, std::int64_t k, float start,
                               Leaf&& leaf) {
  return reduce_leaves(reduction, k, start, leaf, [](std::int64_t) { return 1.0F; });
}

}  // namespace detgemm
