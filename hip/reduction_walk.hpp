// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::hip {

/// Walks k in pieces of at most `step` products that never cross the end of a leaf. A chain is one
/// leaf. The walk is the same for every thread of a workgroup.
struct KWalk {
  std::int64_t k = 0;         ///< first product of the piece
  std::int64_t leaf_end = 0;  ///< where the current leaf ends
  std::int64_t all = 0;
  std::int64_t leaf = 0;

  DETGEMM_HD explicit KWalk(const GemmArguments& g)
      : all(g.k), leaf(g.reduction.kind == ReductionKind::chain ? g.k : g.reduction.leaf_k) {
    leaf_end = all < leaf ? all : leaf;
  }
  DETGEMM_HD bool more() const { return k < all; }
  /// Products of the piece: 1 .. step.
  DETGEMM_HD int length(int step) const {
    const std::int64_t left = leaf_end - k;
    return left < step ? static_cast<int>(left) : step;
  }
  DETGEMM_HD bool ends_leaf(int step) const { return leaf_end - k <= step; }
  DETGEMM_HD void next(int step) {
    if (leaf_end - k > step) {
      k += step;
      return;
    }
    k = leaf_end;
    leaf_end = all - leaf_end < leaf ? all : leaf_end + leaf;
  }
};

/// How many sums wait in memory at most: the stack of reduce_leaves without its newest entry and
/// without the current leaf, both of which are in registers.
DETGEMM_HD int waiting_sums(const GemmArguments& g) {
  if (g.reduction.kind != ReductionKind::tree || g.k == 0) return 0;
  const int size = tree_stack_size(leaves_of(g.k, g.reduction.leaf_k));
  return size > 2 ? size - 2 : 0;
}

/// What to do with the sum of leaf `leaf` of `leaves`. The newest entry of the stack ("top") is in
/// registers, the others wait in memory. Either the top is pushed to memory and the leaf becomes
/// the top, or the leaf is added to the top, and the top then to `more` waiting sums.
///
///   stack:   [waiting ...] [waiting] [top]  + leaf      fold: one top, to which all leaves are
///   added
struct LeafStep {
  bool first;  ///< the leaf becomes the top; there is none yet
  bool push;   ///< the top is pushed to memory, then the leaf becomes the top
  int more;    ///< waiting sums to add, newest first: top = waiting + top
};
DETGEMM_HD LeafStep leaf_step(const GemmArguments& g, std::int64_t leaves, std::int64_t leaf) {
  if (g.reduction.kind != ReductionKind::tree) return {false, false, 0};
  if (leaf == 0) return {true, false, 0};
  const int closed = nodes_closed_by(leaf, leaves);
  return {false, closed == 0, closed > 0 ? closed - 1 : 0};
}

}  // namespace detgemm::hip
