// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/unit_of_work.hpp"
#include "hip/group_walk.hpp"

namespace detgemm::hip::gfx9 {

/// One unit of work of a kernel over groups: a tile T of one of them. The group's problem is made
/// from the kernel's argument each time that it is needed, which takes fewer registers than keeping
/// its addresses.
template <class T, bool kLeaves>
struct GroupUnit : TileOfWork<kLeaves> {
  using Walk = GroupWalk<T::kThreads, T::kM>;
  static_assert(Walk::kSharedBytes <= T::kSharedBytes, "the walk has the tile's shared memory");
  Parked group, begin, count;

  DETGEMM_DEVICE GemmArguments gemm() const {
    return gemm_of_group(kernel_argument<GroupTileArguments>(), group, {begin, count});
  }
  DETGEMM_DEVICE static int parts() { return 1; }

  DETGEMM_DEVICE explicit GroupUnit(const GroupPlace& place)
      : group(place.group), begin(place.part.begin), count(place.part.count) {
    const GroupTileArguments& a = kernel_argument<GroupTileArguments>();
    this->part = {0, place.leaves};
    this->tile = tile_of(raster_of_group<T::kM>(a, place), place.inside);
    this->tile = {gcn::uniform(this->tile.m), gcn::uniform(this->tile.n)};
  }
  /// Workgroup b computes units b, b + blocks, ... of all groups.
  template <class Fn>
  DETGEMM_DEVICE static void each(char* shared, Fn&& fn) {
    Walk walk(shared);
    GroupPlace place;
#pragma unroll 1
    for (Parked unit = block_index();;) {
      const GroupTileArguments& a = kernel_argument<GroupTileArguments>();
      if (!walk.find(a, unit, place)) break;
      unit = unit + a.tile.blocks;
      fn(GroupUnit(place));
    }
  }
};

}  // namespace detgemm::hip::gfx9
