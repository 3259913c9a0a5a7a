// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"

namespace detgemm::cuda::sm90 {

/// The order in which a persistent grid takes the tiles of the output: in stripes that are `group`
/// tiles wide along x, and inside a stripe along x first. CTAs that run together then read a nearly
/// square patch of X and Y, which is what L2 has to hold:
///
///        y ->
///    x   0 2 4 6        group = 2, 4 x 4 tiles
///    |   1 3 5 7
///    v   8 a c e
///        9 b d f
struct Raster {
  int tiles_x = 0;
  int tiles_y = 0;
  int group = 1;

  DETGEMM_HD int tiles() const { return tiles_x * tiles_y; }
  DETGEMM_HD void locate(int tile, int& tile_x, int& tile_y) const {
    const int stripe = group * tiles_y;
    const int first = tile / stripe * group;
    const int width = tiles_x - first < group ? tiles_x - first : group;
    const int inside = tile % stripe;
    tile_x = first + inside % width;
    tile_y = inside / width;
  }
};

}  // namespace detgemm::cuda::sm90
