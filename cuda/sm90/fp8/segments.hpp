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
/// Where a group has more rows of tiles than kBand, the weights of its first kBand are before the
/// rows behind them: what runs at one time reads a block of both, which L2 holds. A CTA takes tile
/// blockIdx.x and every `step`-th behind it.
struct SegmentWalk {
  const RowSegment* table;
  int groups;
  int height;  ///< rows of a tile
  int across;  ///< tiles of weights
  int at, step;
  int group = 0, first = 0;  ///< `first` is the first tile of `group`

  static constexpr int kBand = 12;

  /// False where there is no further tile. How many tiles a group has is counted again, so that no
  /// register keeps it.
  DETGEMM_HD bool next(SegmentTile& found) {
    for (; group < groups; ++group) {
      const RowSegment rows = table[group];
      const int down = (rows.count + height - 1) / height;
      const int inside = at - first;
      if (inside >= down * across) {
        first += down * across;
        continue;
      }
      const int band = inside / (kBand * across) * kBand;
      const int in_band = inside - band * across;
      const int of_band = down - band < kBand ? down - band : kBand;
      found = {group, rows, (band + in_band % of_band) * height, in_band / of_band};
      at += step;
      return true;
    }
    return false;
  }
};

/// What a launch over segments adds to LaunchShape and Fp8Shape. Groups are stacked: row i of group
/// g is at row g * step + i of an array, or where its segment begins.
struct SegmentShape {
  int a_step = 0;          ///< rows of A from a group to the next
  int d_step = 0;          ///< the same of D and C
  int b_step = 0;          ///< 1: every group has a B, 0: they share one
  int across = 0;          ///< tiles of weights
  long long a_scales = 0;  ///< scales from a group's to the next's
  long long b_scales = 0;
};

}  // namespace detgemm::cuda::sm90
