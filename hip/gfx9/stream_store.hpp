// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gfx9/epilogue.hpp"
#include "hip/gfx9/stream_chain.hpp"
#include "hip/parts.hpp"

namespace detgemm::hip::gfx9 {

/// One unit of work of a streaming kernel: a tile, and under fold and tree the leaves of one part
/// of K.
template <bool kLeaves>
struct StreamWork {
  TilePlace tile;
  int part_index = 0;
  Part part;

  DETGEMM_DEVICE StreamWork(const TileArguments& a, int unit) {
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

/// How many floats a wave's 16 x 16 sums occupy in shared memory.
inline constexpr int kPiece = kStreamBlock * kStreamPitch;

/// Writes a wave's sums from the order of lanes to rows of kStreamPitch floats.
DETGEMM_DEVICE void stage_stream(float* staging, int lane, f32x4 acc) {
#pragma unroll
  for (int i = 0; i < 4; ++i) staging[result_row_16(lane, i) * kStreamPitch + lane % 16] = acc[i];
}

/// The root of a part: 16 x 16 staged sums go to the workspace as they are.
DETGEMM_DEVICE void store_root(const TileArguments& a, int part, const float* staging,
                               std::int64_t m, std::int64_t n, int lane) {
  float* const root = a.roots + std::int64_t{part} * a.g.m * a.g.n;
#pragma unroll 1
  for (int e = lane; e < kStreamBlock * kStreamBlock; e += gcn::kWave) {
    const std::int64_t row = m + e / kStreamBlock;
    const std::int64_t col = n + e % kStreamBlock;
    if (row < a.g.m && col < a.g.n) {
      root[row * a.g.n + col] = staging[e / kStreamBlock * kStreamPitch + e % kStreamBlock];
    }
  }
}

}  // namespace detgemm::hip::gfx9
