// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/contract/reduction.hpp"

namespace detgemm::cuda::sm90 {

/// Who combines the leaves of a tile. All three give the same bits.
enum class Split {
  none,     ///< one CTA computes all leaves and adds them up as they come
  cluster,  ///< `parts` CTAs of a cluster; the first receives the others' sums in shared memory
  grid,     ///< `parts` CTAs anywhere; sums in the workspace, the last to arrive adds them up
};

/// How a tile's leaves are cut into parts and where sums wait.
struct LeafShape {
  int leaf_blocks = 1;  ///< k blocks of 64 a leaf
  int leaves = 1;
  bool tree = false;  ///< else fold
  int parts = 1;      ///< of a tile; one CTA each. A power of two (tree) or `leaves` (fold)
  Split split = Split::none;
  int shared_levels = 0;    ///< sums that wait in shared memory before the workspace is used
  int levels = 0;           ///< sums that wait at most
  void* waiting = nullptr;  ///< workspace: `levels` slots a CTA
  void* slices = nullptr;   ///< workspace: `parts` slots a tile
  std::uint64_t* arrived = nullptr;  ///< workspace: a word a tile
  std::uint64_t launch = 1;          ///< differs from launch to launch; below 2^56, not 0
  bool from_c = false;               ///< a fold that starts from fp32 C
  bool c_by_tma = false;             ///< C lies as D does, in whole 16-byte chunks
};

/// Leaves [begin, end).
struct LeafRange {
  int begin = 0, end = 0;
};

/// Part `part` of `parts`. Of a tree: the subtree that `part`'s bits lead to from the root, most
/// significant first, so that the parts themselves make a full tree. Of a fold: one leaf.
///
///          +             parts = 2, 5 leaves: part 0 is l0 + l1, part 1 is l2 + (l3 + l4)
///       /     \          .
///      +       +
///     / \     / \        .
///    l0 l1   l2  +
///               / \      .
///              l3 l4
DETGEMM_HD LeafRange part_of(const LeafShape& s, int part) {
  LeafRange r{0, s.leaves};
  if (!s.tree && s.parts > 1) return {part, part + 1};
  for (int bit = s.parts / 2; bit > 0; bit /= 2) {
    const int middle = r.begin + (r.end - r.begin) / 2;
    if ((part & bit) != 0) {
      r.begin = middle;
    } else {
      r.end = middle;
    }
  }
  return r;
}

/// Sums that wait at most, beside the one in registers, while a tree over `leaves` is walked.
DETGEMM_HD int waiting_sums(int leaves) {
  const int stack = tree_stack_size(leaves);
  return stack > 2 ? stack - 2 : 0;
}

}  // namespace detgemm::cuda::sm90
