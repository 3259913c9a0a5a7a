// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"

namespace detgemm::cuda::sm90 {

/// The most groups whose rows the kernel over segments keeps in shared memory.
inline constexpr int kMaxSegments = 256;

/// The rows of a group.
struct RowSegment {
  int begin = 0, count = 0;
};

/// A tile of one group: its first row, counted from the group's first, and its place across.
struct SegmentTile {
  int group = 0;
  RowSegment rows;
  int row = 0;
  int across = 0;
};

/// The tiles of a CTA. Every role of the kernel walks by itself over the table, which was written
/// before the first of them began, so that all find the same tiles:
///
///   group    0           2     3         group 1 has no rows, hence no tile
///   tile     0 1 2 3     4 5   6 7 8     rows of a group first, then the next weights
///
/// A CTA takes tile blockIdx.x and every `step`-th behind it.
struct SegmentWalk {
  const RowSegment* table;
  int groups;
  int height;  ///< rows of a tile
  int across;  ///< tiles of weights
  int at, step;
  int group = -1, first = 0, tiles = 0, down = 1;

  /// False where there is no further tile.
  DETGEMM_HD bool next(SegmentTile& found) {
    while (at >= first + tiles) {
      first += tiles;
      if (++group >= groups) return false;
      down = (table[group].count + height - 1) / height;
      tiles = down * across;
    }
    const int inside = at - first;
    found = {group, table[group], inside % down * height, inside / down};
    at += step;
    return true;
  }
};

/// What a launch over segments adds to LaunchShape and Fp8Shape. Groups are stacked: row i of group
/// g lies at row g * step + i of an array, or where its segment begins.
struct SegmentShape {
  int a_step = 0;          ///< rows of A from a group to the next
  int d_step = 0;          ///< the same of D and C
  int b_step = 0;          ///< 1: every group has a B, 0: they share one
  int across = 0;          ///< tiles of weights
  long long a_scales = 0;  ///< scales from a group's to the next's
  long long b_scales = 0;
};

}  // namespace detgemm::cuda::sm90
