// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/log_sum.hpp"

namespace detgemm {

// The aligned tree of `logsum16` over leaves 0, 1, 2, ...: node i of level l has the leaves
// i 2^l .. (i + 1) 2^l - 1, whatever the vocabulary's size. A range of leaves is the fewest such
// nodes, in ascending order:
//
//   leaves 3 .. 17:   3   4..7   8..15   16..17        levels 0 2 3 1

/// The longest vocabulary: targets fit int32, and no range has more than kMaxLogNodes nodes.
inline constexpr std::int64_t kMaxVocabulary = (std::int64_t{1} << 31) - 1;
inline constexpr int kMaxLogNodes = 64;

/// Leaves of so many columns.
DETGEMM_HD std::int64_t log_leaves(std::int64_t columns) {
  return (columns + arithmetic::kLogLeaf - 1) / arithmetic::kLogLeaf;
}

/// The level of the largest node that begins at leaf `at` and ends at leaf `end` or before it.
/// Precondition: at < end.
DETGEMM_HD int node_level(std::int64_t at, std::int64_t end) {
  int level = 0;
  while ((at & ((std::int64_t{2} << level) - 1)) == 0 && at + (std::int64_t{2} << level) <= end) {
    ++level;
  }
  return level;
}

/// How many nodes the leaves begin .. end - 1 are.
DETGEMM_HD std::int64_t node_count(std::int64_t begin, std::int64_t end) {
  std::int64_t count = 0;
  for (; begin < end; ++count) begin += std::int64_t{1} << node_level(begin, end);
  return count;
}

/// Nodes that follow each other, joined as soon as both halves of a node are there.
struct LogStack {
  arithmetic::LogNode nodes[kMaxLogNodes];
  std::int8_t levels[kMaxLogNodes];
  int count = 0;

  /// Node `index` of `level`, which begins where the one before ends.
  DETGEMM_HD void push(arithmetic::LogNode node, int level, std::int64_t index) {
    while (count > 0 && levels[count - 1] == level && (index & 1) != 0) {
      node = arithmetic::log_join(nodes[--count], node);
      ++level;
      index >>= 1;
    }
    nodes[count] = node;
    levels[count++] = static_cast<std::int8_t>(level);
  }

  /// The root, where leaves begin at 0: from the last node up, each is the right child of the one
  /// before it or, without a sibling, passes unchanged.
  DETGEMM_HD arithmetic::LogNode root() const {
    if (count == 0) return arithmetic::absent_node();
    arithmetic::LogNode node = nodes[count - 1];
    for (int i = count - 2; i >= 0; --i) node = arithmetic::log_join(nodes[i], node);
    return node;
  }
};

}  // namespace detgemm
