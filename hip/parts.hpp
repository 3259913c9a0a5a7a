// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/reduction.hpp"

// K spread over workgroups. Under fold and tree the leaves do not depend on each other, so a tile
// can be computed in parts: each part is some leaves in a row, and leaves its fp32 sums (its root)
// in the workspace. A second kernel joins the roots in the contract's order (simt/combine.hpp).
//
//   tree, 5 leaves, 4 parts:   [0] [1] [2] [3 4]      the nodes two levels below the root; joined
//                                                     as the tree joins them
//   fold, 3 leaves, 3 parts:   [0] [1] [2]            ((+0 + l0) + l1) + l2: a sum of several
//                                                     leaves is no operand of it, so a part is one
//                                                     leaf
//   chain:                     one part: every product waits for the sum before it

namespace detgemm::hip {

/// A part: leaves [first, first + count).
struct Part {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Part `index` of `parts`. Under tree `parts` is a power of two and at most `leaves`; under fold
/// it is 1 or `leaves`.
DETGEMM_HD Part part_of(ReductionKind kind, std::int64_t leaves, int parts, int index) {
  if (parts == 1) return {0, leaves};
  if (kind == ReductionKind::fold) return {index, 1};
  std::int64_t lo = 0;
  std::int64_t hi = leaves;
  for (int half = parts / 2; half > 0; half /= 2) {
    const std::int64_t mid =
        lo + static_cast<std::int64_t>(static_cast<std::uint64_t>(hi - lo) / 2);
    if ((index & half) != 0) {
      lo = mid;
    } else {
      hi = mid;
    }
  }
  return {lo, hi - lo};
}

/// How many nodes of the tree end with part `index`: the right turns that end the path to it.
DETGEMM_HD int nodes_closed_by_part(int index) {
  int right_turns = 0;
  for (; (index & 1) != 0; index /= 2) ++right_turns;
  return right_turns;
}

}  // namespace detgemm::hip
