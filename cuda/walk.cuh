// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"

namespace detgemm::cuda::grouped {

/// A tile of rows of one group.
struct GroupTile {
  std::int64_t group = 0;
  std::int64_t inside = 0;  ///< the tile's number in its group
};

/// The rows of D that a group has.
__device__ __forceinline__ std::int64_t rows_of(const GroupedArguments& p, std::int64_t group) {
  switch (p.kind) {
    case GroupKind::m_grouped:
      return segment_of(p.offsets, p.offset_type, group, p.all.m).count;
    case GroupKind::m_masked:
      return moved_into(load_offset(p.offsets, group, p.offset_type), p.all.m);
    default:
      return p.all.m;
  }
}

/// Finds the group of a tile. One warp walks, all of its lanes together, with ascending tiles:
///
///   group     0           2     3           group 1 has no rows, hence no tile
///   tile      0 1 2 3     4 5   6 7 8       tiles of a group: those of its rows x across
///
/// The lanes read the offsets of 32 groups at once, and none is read twice: what else reads the
/// memory of the offsets or writes it can make tiles wrong, but no address, since the arguments of
/// a group are made from numbers that were moved into their range.
class GroupWalk {
 public:
  __device__ __forceinline__ GroupWalk(const GroupedArguments& p, int tile_rows,
                                       std::int64_t across)
      : p_(p), tile_rows_(tile_rows), across_(across) {}

  /// False where there is no such tile.
  __device__ __forceinline__ bool find(std::int64_t tile, GroupTile& found) {
    constexpr unsigned kAll = 0xffffffffU;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    while (tile >= end_) {
      base_ += 32;
      if (base_ >= p_.groups) return false;
      const std::int64_t group = base_ + lane;
      const std::int64_t rows = group < p_.groups ? rows_of(p_, group) : 0;
      std::int64_t tiles = (rows + tile_rows_ - 1) / tile_rows_ * across_;
      for (int step = 1; step < 32; step *= 2) {
        const std::int64_t before = __shfl_up_sync(kAll, tiles, step);
        if (lane >= step) tiles += before;
      }
      start_ = end_;
      mine_ = end_ + tiles;
      end_ = __shfl_sync(kAll, mine_, 31);
    }
    const int owner = __ffs(static_cast<int>(__ballot_sync(kAll, tile < mine_))) - 1;
    const std::int64_t before = __shfl_sync(kAll, mine_, owner > 0 ? owner - 1 : 0);
    found.group = base_ + owner;
    found.inside = tile - (owner > 0 ? before : start_);
    return true;
  }

 private:
  const GroupedArguments& p_;
  const int tile_rows_;
  const std::int64_t across_;
  std::int64_t base_ = -32;           // the group of lane 0
  std::int64_t start_ = 0, end_ = 0;  // the tiles of the 32 groups
  std::int64_t mine_ = 0;             // past the last tile of this lane's group
};

}  // namespace detgemm::cuda::grouped
