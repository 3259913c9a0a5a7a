// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/arguments.hpp"
#include "hip/gcn/control.hpp"
#include "hip/grid.hpp"
#include "hip/parts.hpp"

namespace detgemm::hip::gfx9 {

/// A tile, and under fold and tree the leaves of one part of K.
template <bool kLeaves>
struct TileOfWork {
  TilePlace tile{};
  int part_index = 0;
  Part part;

  DETGEMM_DEVICE std::int64_t begin_k(const GemmArguments& g) const {
    return kLeaves ? part.first * g.reduction.leaf_k : 0;
  }
  DETGEMM_DEVICE std::int64_t end_k(const GemmArguments& g) const {
    if (!kLeaves) return g.k;
    const std::int64_t end = (part.first + part.count) * g.reduction.leaf_k;
    return end < g.k ? end : g.k;
  }
};

/// One unit of work of a kernel that multiplies.
template <bool kLeaves>
struct UnitOfWork : TileOfWork<kLeaves> {
  /// The problem, read again from the kernel's argument.
  DETGEMM_DEVICE static const GemmArguments& gemm() { return kernel_argument<TileArguments>().g; }
  /// Into how many parts K is spread.
  DETGEMM_DEVICE static int parts() { return kernel_argument<TileArguments>().parts; }

  DETGEMM_DEVICE explicit UnitOfWork(int unit) {
    const TileArguments& a = kernel_argument<TileArguments>();
    if constexpr (kLeaves) {
      const int tiles = a.raster.tiles_m * a.raster.tiles_n;
      this->part_index = unit / tiles;
      unit %= tiles;
      this->part = part_of(a.g.reduction.kind, a.leaves, a.parts, this->part_index);
    }
    this->tile = tile_of(a.raster, unit);
    this->tile = {gcn::uniform(this->tile.m), gcn::uniform(this->tile.n)};
  }
  /// Workgroup b computes units b, b + blocks, ...
  template <class Fn>
  DETGEMM_DEVICE static void each(char*, Fn&& fn) {
#pragma unroll 1
    for (int unit = block_index();;) {
      const TileArguments& a = kernel_argument<TileArguments>();
      if (unit >= a.raster.tiles_m * a.raster.tiles_n * a.parts) break;
      const UnitOfWork work(unit);
      unit += a.blocks;
      fn(work);
    }
  }
};

}  // namespace detgemm::hip::gfx9
