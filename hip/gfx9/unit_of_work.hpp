// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/arguments.hpp"
#include "hip/grid.hpp"
#include "hip/parts.hpp"

namespace detgemm::hip::gfx9 {

/// One unit of work of a kernel that multiplies: a tile, and under fold and tree the leaves of one
/// part of K.
template <bool kLeaves>
struct UnitOfWork {
  TilePlace tile;
  int part_index = 0;
  Part part;

  DETGEMM_DEVICE UnitOfWork(const TileArguments& a, int unit) {
    if constexpr (kLeaves) {
      const int tiles = a.raster.tiles_m * a.raster.tiles_n;
      part_index = unit / tiles;
      unit %= tiles;
      part = part_of(a.g.reduction.kind, a.leaves, a.parts, part_index);
    }
    tile = tile_of(a.raster, unit);
  }
  /// Whether there is no such unit.
  DETGEMM_DEVICE static bool ends(const TileArguments& a, int unit) {
    return unit >= a.raster.tiles_m * a.raster.tiles_n * a.parts;
  }
  DETGEMM_DEVICE std::int64_t begin_k(const GemmArguments& g) const {
    return part.first * g.reduction.leaf_k;
  }
  DETGEMM_DEVICE std::int64_t end_k(const GemmArguments& g) const {
    const std::int64_t end = (part.first + part.count) * g.reduction.leaf_k;
    return end < g.k ? end : g.k;
  }
};

}  // namespace detgemm::hip::gfx9
