// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/host_device.hpp"
#include "core/contract/reduction.hpp"

namespace detgemm::cuda::sm90 {

/// Who combines the leaves of a tile. All three give the same bits.
enum class Split {
  none,     ///< one CTA computes all leaves and adds them up as they end
  cluster,  ///< `parts` CTAs of a cluster; the first one receives the others' sums in shared memory
  grid,     ///< `parts` CTAs anywhere write sums to the workspace; the last to arrive adds them up
};

/// How a tile's leaves are cut into parts and where sums wait.
struct LeafShape {
  int leaf_blocks = 1;  ///< k blocks of 64 per leaf
  int leaves = 1;
  bool tree = false;  ///< else it is a fold
  int parts = 1;      ///< parts of a tile, one CTA each: a power of two (tree) or `leaves` (fold)
  Split split = Split::none;
  int shared_levels = 0;    ///< sums that wait in shared memory before the workspace is used
  int levels = 0;           ///< the maximum number of sums that wait
  void* waiting = nullptr;  ///< workspace: `levels` slots per CTA
  void* slices = nullptr;   ///< workspace: `parts` slots per tile
  std::uint64_t* arrived = nullptr;  ///< workspace: one word per tile
  std::uint64_t launch = 1;          ///< differs from launch to launch; below 2^56 and not 0
  bool from_c = false;               ///< a fold that starts from fp32 C
  bool c_by_tma = false;             ///< C is laid out as D is, in whole 16-byte chunks
};

/// Whether the fp32 C of a tile can be loaded two neighbours along y at a time: all pairs that
/// begin at an even distance from `y0` are at multiples of 8 bytes, and none reaches beyond
/// `y_rows`. A segment of rows, which are y where weights take the x side, may begin at an odd one.
DETGEMM_HD bool c_lies_in_pairs(const void* c, std::int64_t along_x, std::int64_t along_y, int y0,
                                int y_rows) {
  return along_y == 1 && along_x % 2 == 0 && y_rows % 2 == 0 && y0 % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(c) % 8 == 0;
}

/// Leaves [begin, end).
struct LeafRange {
  int begin = 0, end = 0;
};

/// The leaves of part `part`. In a tree it is the subtree to which the bits of `part` lead from the
/// root, most significant first, so that the parts themselves make a full tree. In a fold it is one
/// leaf.
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

/// Leaves of the largest tree that three sets of registers add up, whose right side is first:
/// the right side has as many leaves as the left side or one more, and while the left side runs
/// only one sum waits.
inline constexpr int kRunLeaves = 7;
static_assert(kRunLeaves >= 3, "Leaf 0 starts no spine of a tree in wide tiles: run_spine.");

/// Levels on which sums wait while a tree over `leaves` is walked run by run, from right to left.
DETGEMM_HD int run_levels(std::int64_t leaves) {
  int levels = 0;
  for (; leaves > kRunLeaves; leaves /= 2) ++levels;
  return levels;
}

/// A run: the leaves of a subtree of at most kRunLeaves that is no part of another such subtree.
/// Runs are taken from right to left.
///
///             a                  run 3 waits at level 0 while run 2 runs, and is its join 0,
///          /     \               node c waits at level 1 while runs 1 and 0 run,
///        b         c             run 1 waits at level 0,
///       / \       / \            run 0 has two joins: run 1 (level 0), then c (level 1)
///   run 0 run 1 run 2 run 3
///
/// So a level is in use the more often the lower it is.
struct LeafRun {
  int begin;  ///< the first leaf, which is taken last
  int joins;  ///< sums that are added behind it: those of levels 0, 1, .. joins - 1
  int level;  ///< where the result waits; -1 where it is the sum of the part
};

/// The run of `part` behind which leaves [end, part.end) are done.
DETGEMM_HD LeafRun run_before(LeafRange part, int end) {
  LeafRun r{part.begin, 0, -1};
  int last = part.end;
  while (last - r.begin > kRunLeaves) {
    const int middle = r.begin + (last - r.begin) / 2;
    if (end > middle) {
      r.level = run_levels(middle - r.begin);
      r.begin = middle;
      r.joins = 0;
    } else {
      last = middle;
      ++r.joins;
    }
  }
  return r;
}

/// The maximum number of sums that wait, beside the one in registers, while a tree over `leaves` is
/// walked.
DETGEMM_HD int waiting_sums(std::int64_t leaves) {
  const int stack = tree_stack_size(leaves);
  return stack > 2 ? stack - 2 : 0;
}

}  // namespace detgemm::cuda::sm90
