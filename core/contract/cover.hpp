// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/reduction.hpp"

// Which nodes of the tree over leaves a range of leaves consists of, and how their roots are
// joined. A node is a range that the rule of the tree (see nodes_closed_by) makes; its root is the
// sum over its leaves. Any range is a row of nodes: its cover.
//
//                +                8 leaves, ranks own 0..2 | 3..5 | 6..7
//          /           \          .
//         +             +         covers:  [0,2) [2,3) | [3,4) [4,6) | [6,8)
//       /   \         /   \       closes:    0     0       2     0       2
//      +     +       +     +
//     / \   / \     / \   / \     [3,4) ends two nodes: (2 + 3), then (01) + (23)
//     0 1   2 3     4 5   6 7

namespace detgemm {

/// Whether [node.begin, node.end) is a node of the tree over `count` leaves.
DETGEMM_HD bool is_node(LeafRange node, std::int64_t count) {
  std::int64_t lo = 0;
  std::int64_t hi = count;
  while (node.begin >= lo && node.end <= hi && node.begin < node.end) {
    if (node.begin == lo && node.end == hi) return true;
    const std::int64_t mid = lo + (hi - lo) / 2;
    if (node.end <= mid) {
      hi = mid;
    } else if (node.begin >= mid) {
      lo = mid;
    } else {
      return false;
    }
  }
  return false;
}

/// How many nodes end with this one: the number of right turns at the end of the path to it.
/// Walking a row of nodes from left to right with a stack, a root is pushed and then closes so many
/// nodes: pop two, add, push.
DETGEMM_HD int nodes_closed_by(LeafRange node, std::int64_t count) {
  std::int64_t lo = 0;
  std::int64_t hi = count;
  int right_turns = 0;
  while (hi - lo > node.end - node.begin) {
    const std::int64_t mid = lo + (hi - lo) / 2;
    if (node.begin < mid) {
      hi = mid;
      right_turns = 0;
    } else {
      lo = mid;
      ++right_turns;
    }
  }
  return right_turns;
}

/// The maximal node of the tree over `count` leaves that begins at `begin` and ends at or before
/// `end`, where begin < end <= count. The nodes found one after another are the cover of a range.
DETGEMM_HD LeafRange first_node_of(LeafRange range, std::int64_t count) {
  std::int64_t lo = 0;
  std::int64_t hi = count;
  while (lo != range.begin || hi > range.end) {
    const std::int64_t mid = lo + (hi - lo) / 2;
    if (range.begin < mid) {
      hi = mid;
    } else {
      lo = mid;
    }
  }
  return {lo, hi};
}

}  // namespace detgemm
