// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "core/contract/gemm_arguments.hpp"
#include "cuda/sm90/host/paths.hpp"
#include "cuda/sm90/tile/geometry.hpp"
#include "cuda/sm90/tile/problem.hpp"
#include "cuda/sm90/tile/raster.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

std::span<const Geometry> geometries_of(Path path);

/// What runs: a geometry of its path, which operand takes the x side, and the grid.
struct Decision {
  Path path = Path::plain;
  int geometry = 0;  ///< index into geometries_of(path)
  bool swapped = false;
  Raster raster;
  int grid = 1;  ///< CTAs
};

/// The cheapest decision by a model of time (choose.cpp); `forced` is an index into
/// kPlainGeometries or -1. `ok` is false when the forced geometry does not exist on this problem's
/// path. Pure.
struct Choice {
  bool ok = false;
  Decision decision;
};
Choice choose(const GemmArguments& g, int sms, int forced);

/// Microseconds the model expects of a geometry; the smallest wins. `parts`: CTAs that share the k
/// of a tile.
double predicted_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t k,
                      int sms, bool swapped, int parts = 1);

/// The raster of this many outputs in tiles of `t`, of which `ctas` run at a time.
Raster raster_of(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t ctas);

}  // namespace detgemm::cuda::sm90
