// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/arguments.hpp"
#include "hip/grid.hpp"

namespace detgemm::hip {

/// A tile of one group.
struct GroupPlace {
  int group = 0;
  int inside = 0;           ///< the tile's number in its group
  Segment part;             ///< of the extent that the groups share
  std::int64_t leaves = 0;  ///< of the group's k
};

/// The rows of D that a group has.
DETGEMM_DEVICE std::int64_t rows_of_group(const GroupedArguments& p, const Segment& part) {
  return p.kind == GroupKind::k_grouped ? p.all.m : part.count;
}

/// One group as a problem of its own. Its addresses are distances from those in the kernel's
/// argument, of which the compiler knows that they are in global memory; a choice between them and
/// null, as arguments_of_group makes it, would hide that. What is null is never read.
DETGEMM_DEVICE GemmArguments gemm_of_group(const GroupTileArguments& a, std::int64_t group,
                                           const Segment& part) {
  constexpr std::uintptr_t kSomewhere = 4096;
  GroupedArguments p = a.groups;
  void* const somewhere = reinterpret_cast<void*>(kSomewhere);
  p.all.a = p.all.b = p.all.c = p.all.bias = p.all.d = somewhere;
  GemmArguments g = arguments_of_group(p, group, part);
  const auto beyond = [](const void* base, const void* at) {
    return static_cast<const char*>(base) + (reinterpret_cast<std::uintptr_t>(at) - kSomewhere);
  };
  g.a = beyond(a.groups.all.a, g.a);
  g.b = beyond(a.groups.all.b, g.b);
  g.c = beyond(a.groups.all.c, g.c);
  g.bias = beyond(a.groups.all.bias, g.bias);
  g.d = static_cast<char*>(a.groups.all.d) + (reinterpret_cast<std::uintptr_t>(g.d) - kSomewhere);
  return g;
}

/// Tiles over so many rows, which are not negative; the chooser keeps them below 2^31.
template <int kTileRows>
DETGEMM_DEVICE std::int64_t tiles_over(std::int64_t rows) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(rows) + (kTileRows - 1)) /
                                    kTileRows);
}

/// The tiles of all groups, for the workgroups of one launch. `find` is called by all threads of a
/// workgroup, with ascending units:
///
///   group   0           2     3           group 1 has no rows, hence no tile
///   unit    0 1 2 3     4 5   6 7 8       tiles of a group: those of its rows x those of N
///
/// Each thread reads the offsets of one group, and the numbers of tiles are added up in shared
/// memory. Every thread then takes group, segment and tile from one place there, so that all of
/// them compute the same tile, of addresses inside of the arrays, even where other work is writing
/// the offsets.
template <int kThreads, int kTileRows>
class GroupWalk {
 public:
  static constexpr int kSharedBytes =
      kThreads * static_cast<int>(sizeof(std::int64_t)) + static_cast<int>(sizeof(GroupPlace));

  DETGEMM_DEVICE explicit GroupWalk(char* shared)
      : sums_(reinterpret_cast<std::int64_t*>(shared)),
        place_(reinterpret_cast<GroupPlace*>(sums_ + kThreads)) {}

  /// False where there is no such unit. `shared` is free again afterwards.
  DETGEMM_DEVICE bool find(const GroupTileArguments& argument, std::int64_t unit,
                           GroupPlace& found) {
    const GroupTileArguments& a = reload(argument);
    const GroupedArguments& p = a.groups;
    const int thread = thread_index();
    if (p.kind == GroupKind::batched || p.kind == GroupKind::k_grouped) {
      // Every group has all rows.
      const auto tiles = static_cast<std::uint64_t>(a.tile.raster.tiles_m) *
                         static_cast<std::uint64_t>(a.tile.raster.tiles_n);
      const auto at = static_cast<std::uint64_t>(unit);
      const auto group = static_cast<std::int64_t>(at / tiles);
      if (group >= p.groups) return false;
      if (thread == 0) {
        put(a, static_cast<int>(group), static_cast<int>(at % tiles), part_of_group(p, group));
      }
    } else {
      for (;;) {
        const std::int64_t first = first_;
        if (first >= p.groups) return false;
        const auto group = static_cast<int>(first) + thread;
        const Segment part = group < p.groups ? part_of_group(p, group) : Segment{};
        const std::int64_t own = tiles_over<kTileRows>(part.count) * a.tile.raster.tiles_n;
        const std::int64_t through = added_up(own, thread);  // tiles of this group and those before
        const std::int64_t tiles = block_uniform(sums_[kThreads - 1]);
        const std::int64_t before = before_;
        const std::int64_t inside = unit - before;
        if (inside < tiles) {
          if (inside < through && inside >= through - own) {
            put(a, group, static_cast<int>(inside - (through - own)), part);
          }
          break;
        }
        first_ = first + kThreads;
        before_ = before + tiles;
        block_barrier();  // all have read the last sum
      }
    }
    block_barrier();
    const GroupPlace& from = *place_;
    found.group = static_cast<int>(block_uniform(std::int64_t{from.group}));
    found.inside = static_cast<int>(block_uniform(std::int64_t{from.inside}));
    found.part = {block_uniform(from.part.begin), block_uniform(from.part.count)};
    found.leaves = block_uniform(from.leaves);
    block_barrier();
    return true;
  }

 private:
  DETGEMM_DEVICE void put(const GroupTileArguments& a, int group, int inside, const Segment& part) {
    std::int64_t leaves = a.tile.leaves;
    if (a.groups.kind == GroupKind::k_grouped && part.count > 0 &&
        a.tile.g.reduction.kind != ReductionKind::chain) {
      leaves = leaves_of(part.count, a.tile.g.reduction.leaf_k);
    }
    *place_ = {group, inside, part, leaves};
  }

  /// The sum of `own` over the threads up to this one; `sums_` then holds it for all of them.
  ///
  ///   step 1   0 01 12 23 34 ..     step 2   0 01 012 0123 1234 ..     step 4 ...
  DETGEMM_DEVICE std::int64_t added_up(std::int64_t own, int thread) {
    std::int64_t sum = own;
    sums_[thread] = sum;
    block_barrier();
#pragma unroll 1
    for (int step = 1; step < kThreads; step *= 2) {
      const std::int64_t more = thread >= step ? sums_[thread - step] : 0;
      block_barrier();
      sum += more;
      sums_[thread] = sum;
      block_barrier();
    }
    return sum;
  }

  std::int64_t* const sums_;
  GroupPlace* const place_;
  Parked first_ = 0;   ///< the group of thread 0
  Parked before_ = 0;  ///< tiles of the groups before it
};

/// The raster of a group's tiles.
template <int kTileRows>
DETGEMM_DEVICE Raster raster_of_group(const GroupTileArguments& a, const GroupPlace& place) {
  Raster raster = a.tile.raster;
  const std::int64_t rows = rows_of_group(a.groups, place.part);
  raster.tiles_m = static_cast<int>(tiles_over<kTileRows>(rows));
  return raster;
}

}  // namespace detgemm::hip
