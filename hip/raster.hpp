// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"

namespace detgemm::hip {

/// The order of tiles. It is bit-neutral: it decides which caches hold what, and nothing else.
///
/// Workgroups go to the chip's XCDs (dies with one L2 each) in turn, so the tiles are first divided
/// into runs, one run per XCD. Inside a run they are walked in stripes of `group` rows of tiles:
///
///     n ->
///   m  0 2 4 6     group = 2, tiles 0..7
///   v  1 3 5 7
struct Raster {
  int tiles_m = 0;
  int tiles_n = 0;
  int group = 1;  ///< rows of tiles in a stripe
  int xcds = 1;   ///< dies that the hardware hands workgroups to in turn
};

struct TilePlace {
  int m, n;
};

/// The tile of the `index`-th unit of work, 0 <= index < tiles_m * tiles_n. The map is one to one.
DETGEMM_HD TilePlace tile_of(const Raster& r, int index) {
  const int tiles = r.tiles_m * r.tiles_n;
  // XCD x gets units x, x + xcds, ...; they become the consecutive tiles of its run. The first
  // tiles % xcds runs are one tile longer.
  const int xcd = index % r.xcds;
  const int extra = tiles % r.xcds;
  const int run = tiles / r.xcds;
  const int tile = xcd * run + (xcd < extra ? xcd : extra) + index / r.xcds;
  const int stripe = r.group * r.tiles_n;
  const int first = tile / stripe * r.group;
  const int rows = r.tiles_m - first < r.group ? r.tiles_m - first : r.group;
  const int within = tile % stripe;
  return {first + within % rows, within / rows};
}

}  // namespace detgemm::hip
