// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// Geometries of kPlainGeometries that are compiled for groups: from few tokens per group, which
/// take the narrow side, to many.
inline constexpr auto kGroupedGeometries = [] {
  using namespace geometry;
  return std::array<Geometry, 10>{
      narrow(8, 4, 1), narrow(16, 4, 1), narrow(32, 4, 1), tile(1, 1, 64),  tile(2, 1, 32),
      tile(2, 1, 64),  tile(2, 1, 128),  tile(2, 1, 192),  tile(2, 1, 256), tile(2, 2, 128)};
}();

constexpr bool is_plain(const Geometry& a) {
  for (const Geometry& b : kPlainGeometries) {
    if (a.groups == b.groups && a.blocks == b.blocks && a.n == b.n && a.depth == b.depth &&
        a.ctas == b.ctas && a.load == b.load && a.cluster == b.cluster && a.turns == b.turns) {
      return true;
    }
  }
  return false;
}
constexpr bool all_are_plain() {
  for (const Geometry& t : kGroupedGeometries) {
    if (!is_plain(t)) return false;
  }
  return true;
}
static_assert(all_are_plain(), "Every geometry of groups is one of the plain kernels.");

/// A tile of D that one CTA computes next: what the warp that reads the offsets passes to the
/// others.
struct TileJob {
  int x_from = 0, y_from = 0;  ///< first rows in the arrays of X and Y
  int x = 0, y = 0;            ///< the same in D, and in C
  int x_end = 0, y_end = 0;    ///< of D, past the last row of the group
  int group = 0;
  int exists = 0;              ///< 0: there is no further tile
  int k_begin = 0, k_end = 0;  ///< products of the group, where groups are segments of them
  int unused[2] = {};
};
static_assert(sizeof(TileJob) == 48, "A job is stored and loaded as three pieces of 16 bytes.");

/// What a launch over groups adds to LaunchShape. Groups are stacked: group g begins at row
/// g * step of an array, or, where its segment is in the offsets, at its beginning.
///
/// Groups of a batch that are no stack, such as heads between those of other tokens, are spread:
/// steps are 0 and rows count from 0 in each group. A is then a matrix per group of its map, as B
/// is. C and D are reached from the group's own addresses, by ordinary loads and stores, or D has a
/// matrix per group in its map, which keeps boxes that reach beyond a group from touching the next.
struct GroupedShape {
  int a_step = 0;     ///< rows of A from a group to the next
  int d_step = 0;     ///< the same of D and C
  int a_spread = 0;   ///< 1: groups of A are spread
  int a_missing = 0;  ///< bytes of a stage of A that its boxes leave out: rows that no group has
  std::int64_t c_distance = 0,
               d_distance = 0;  ///< bytes to the next group, where C and D are spread
  int b_step = 0;               ///< 1: every group has a B, 0: they share one
  int d_map = 0;                ///< 1: every group has a matrix in the map of D
  bool d_clips = false;  ///< and each group has all of its rows, so that every tile may use it
  bool lags = false;     ///< CTAs are expected to have several tiles (see Stagger)
  /// The last tile of a group that has as many rows begins earlier, so that it ends with the group
  /// and is stored through TMA. What two tiles hold is stored twice, with the same bits.
  bool overlaps = false;
};

/// A kernel over groups at compile time: a Tile whose ring is smaller by a few jobs.
template <DType kT, Geometry kG, bool kXMnT, bool kYMnT>
struct GroupedTile : Tile<kT, kG, kXMnT, kYMnT> {
  using Base = Tile<kT, kG, kXMnT, kYMnT>;
  /// Groups are segments of the products, k, of two operands whose M and N run along memory; else
  /// of rows.
  static constexpr bool kByK = kXMnT && kYMnT;
  static constexpr bool kStoresByGroup = true;  ///< the map of D has three dimensions
  static constexpr int kJobs = 4;
  /// Jobs, and two barriers for each.
  static constexpr int kJobBytes = kJobs * (static_cast<int>(sizeof(TileJob)) + 16);
  static constexpr int kStagingBytes = Base::kEpilogueBytes;
  static constexpr int kEpilogueBytes = kStagingBytes + kJobBytes;
  static constexpr int kStages = kG.stages(kYMnT, kEpilogueBytes);
  static constexpr int kLag = kStages >= 6 ? 2 : 0;
  static constexpr int kSharedBytes =
      kStages * Base::kStageBytes + kEpilogueBytes + 16 * kStages + kSharedAlignment;
  static_assert(kStages >= 3, "The ring hides latency with at least three stages.");
  static_assert(kG.cluster == 1, "A CTA has a tile of a group to itself.");
};

}  // namespace detgemm::cuda::sm90
