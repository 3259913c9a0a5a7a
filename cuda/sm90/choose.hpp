// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "core/contract/compute_element.hpp"
#include "cuda/sm90/geometry.hpp"
#include "cuda/sm90/problem.hpp"
#include "cuda/sm90/raster.hpp"
#include "cuda/sm90/tile.hpp"

namespace detgemm::cuda::sm90 {

/// Which kernels can compute a problem at all, from its strides, alignment and epilogue.
enum class Path {
  plain,    ///< Form::plain
  general,  ///< Form::general or Form::from_c
  realign,  ///< rows at odd addresses: TMA, then a shift in shared memory
  gather,   ///< no TMA: extents from 2^30 on, or what suits_realign refuses
};
Path path_of(const GemmArguments& g);
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

/// Microseconds the model expects of a geometry; the smallest wins.
double predicted_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t k,
                      int sms, bool swapped);

}  // namespace detgemm::cuda::sm90
