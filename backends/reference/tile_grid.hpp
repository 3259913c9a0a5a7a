// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <span>

#include "backends/reference/tile.hpp"

namespace detgemm::reference {

/// The tile sets of this processor, the widest first; never empty.
inline std::span<const TileSet* const> tile_sets() {
  const TileSet* const* first = nullptr;
  const std::size_t count = tile_sets(&first);
  return {first, count};
}

/// A tile shape for this M: bit-neutral, so it may follow the shape and the number of workers.
struct Grid {
  std::int64_t tile_rows, tile_cols;  // outputs per tile
  std::int64_t rows, cols;            // tiles
  std::int64_t tiles() const { return rows * cols; }

  /// Tile `index` of these arguments, row by row.
  void place(TileJob& job, const GemmArguments& g, const ScalePair& scales,
             std::int64_t index) const {
    job.gemm = &g;
    job.scales = &scales;
    job.row = index / cols * tile_rows;
    job.rows = std::min(tile_rows, g.m - job.row);
    job.col = index % cols * tile_cols;
    job.cols = std::min(tile_cols, g.n - job.col);
  }
};

/// `extent` cut into `pieces` pieces of whole units.
inline std::int64_t piece(std::int64_t extent, std::int64_t pieces, std::int64_t unit) {
  return ceil_div(ceil_div(extent, unit), pieces) * unit;
}

/// Cuts D, which has outputs, into equal tiles of whole units, and into smaller ones while there
/// are too few for the workers.
inline Grid make_grid(const TileKernel& kernel, std::int64_t m, std::int64_t n,
                      std::int64_t workers) {
  const std::int64_t row_tiles = ceil_div(m, kernel.rows);
  const std::int64_t max_col_tiles = ceil_div(n, kernel.col_unit);
  std::int64_t col_tiles = ceil_div(n, kernel.cols);
  while (row_tiles * col_tiles < 3 * workers && col_tiles < max_col_tiles) ++col_tiles;
  Grid grid{};
  grid.tile_rows = std::min(kernel.rows, piece(m, row_tiles, kernel.row_unit));
  grid.tile_cols = std::min(kernel.cols, piece(n, col_tiles, kernel.col_unit));
  grid.rows = ceil_div(m, grid.tile_rows);
  grid.cols = ceil_div(n, grid.tile_cols);
  return grid;
}

/// Waking a worker costs more than this many products take.
inline constexpr double kProductsAWorker = 32768;

/// The workers that so many products are worth, from 1 on.
inline std::int64_t workers_for(double products) {
  const double workers = products / kProductsAWorker;
  return workers < 1 ? 1 : (workers > 4096 ? 4096 : static_cast<std::int64_t>(workers));
}

}  // namespace detgemm::reference
