// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/grouped/tile.hpp"
#include "cuda/walk.cuh"

namespace detgemm::cuda::sm90 {

/// The job of a tile. Its rows begin where the group begins, at any row of A and D; the last tile
/// of a group ends with it, or, in a group of fewer rows than a tile and where tiles may not
/// overlap, reads rows of the next one too, which no output of this group sees, and does not store
/// them.
///
/// Where groups are segments of products, all of them have the same rows, and the tile of a group
/// has bounds of k.
///
/// Where the offsets have changed since the walk, so that the group has no such tile, the job is
/// behind a single row and column, and stores nothing. What is clamped to the last of them then
/// reads the first, and TMA is given rows at multiples of 16 bytes. (Not to hand it out took
/// registers: the largest tile spilled 48 bytes. Segments of products have their rows whatever the
/// offsets hold.)
template <class T>
__device__ __forceinline__ TileJob job_of(const GroupedArguments& p, const GroupedShape& s,
                                          const LaunchShape& shape,
                                          const grouped::GroupTile& tile) {
  const int group = static_cast<int>(tile.group);
  const bool in_offsets = p.kind == GroupKind::m_grouped;
  const Segment rows = in_offsets ? segment_of(p.offsets, p.offset_type, tile.group, p.all.m)
                                  : Segment{0, grouped::rows_of(p, tile.group)};
  const int begin = static_cast<int>(rows.begin);
  const int count = static_cast<int>(rows.count);
  const int n = static_cast<int>(p.all.n);
  Raster raster;
  raster.tiles_x = ((shape.swapped ? n : count) + T::kX - 1) / T::kX;
  raster.tiles_y = ((shape.swapped ? count : n) + T::kN - 1) / T::kN;
  raster.group = shape.raster.group;
  TileJob job;
  job.group = group;
  job.exists = 1;
  if (tile.inside >= raster.tiles()) {
    if constexpr (!T::kByK) {
      job.x = job.y = 64;
      job.x_end = job.y_end = 1;
    }
    return job;
  }
  int tile_x, tile_y;
  raster.locate(static_cast<int>(tile.inside), tile_x, tile_y);
  if constexpr (T::kByK) {
    const Segment products = segment_of(p.offsets, p.offset_type, tile.group, p.all.k);
    job.k_begin = static_cast<int>(products.begin);
    job.k_end = static_cast<int>(products.begin + products.count);
  }
  const int from = begin + group * s.a_step;
  const int to = begin + group * s.d_step;
  const auto row = [&](int tile_rows, int at) {
    return s.overlaps && count > tile_rows ? min(at, count - tile_rows) : at;
  };
  if (shape.swapped) {
    const int inside = row(T::kN, tile_y * T::kN);
    job.x_from = job.x = min(tile_x * T::kX, shape.x_last);
    job.y_from = from + inside;
    job.y = to + inside;
    job.x_end = n;
    job.y_end = to + count;
  } else {
    const int inside = row(T::kX, tile_x * T::kX);
    job.x_from = from + inside;
    job.x = to + inside;
    job.y_from = job.y = min(tile_y * T::kN, shape.y_last);
    job.x_end = to + count;
    job.y_end = n;
  }
  return job;
}

}  // namespace detgemm::cuda::sm90
