// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cassert>
#include <limits>

#include "cuda/sm90/host/choose.hpp"

namespace detgemm::cuda::sm90 {
namespace {

/// The group from 1 to `max` with the smallest `bytes_per_tile(group)`; the narrower one of equals.
template <class F>
int cheapest_group(int max, const F& bytes_per_tile) {
  int best = 1;
  double min = bytes_per_tile(1);
  for (int group = 2; group <= max; ++group) {
    const double bytes = bytes_per_tile(group);
    if (bytes < min) {
      min = bytes;
      best = group;
    }
  }
  return best;
}

}  // namespace

int stripe(const Geometry& t, int tiles_x, int tiles_y, int ctas) {
  constexpr int kNeighbours = 16;
  const double x = t.x() * t.cluster_x();
  const double y = t.n * t.cluster_y();
  if (t.cluster == 1 && tiles_x * tiles_y <= ctas) {
    return cheapest_group(std::min(tiles_x, kNeighbours), [&](int group) {
      const int wide = std::max(group, std::min(tiles_x, kNeighbours / tiles_y));
      const int high = std::min(tiles_y, (kNeighbours + group - 1) / group);
      return x * wide + y * high;
    });
  }
  return cheapest_group(std::min(tiles_x, ctas), [&](int group) {
    const int high = std::min(tiles_y, std::max(1, ctas / group));
    return (x * group + y * high) / (static_cast<double>(group) * high);
  });
}

Raster raster_of(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t ctas) {
  // For a kernel in clusters, a tile of the raster is that of the whole cluster. Paths take
  // problems of fewer than 2^30 of the smallest tiles either way round, so that counts fit.
  assert(ceil_div(x_rows, std::int64_t{t.x()}) * ceil_div(y_rows, std::int64_t{t.n}) <
         std::numeric_limits<int>::max());
  Raster r;
  r.tiles_x = static_cast<int>(ceil_div(x_rows, std::int64_t{t.x()} * t.cluster_x()));
  r.tiles_y = static_cast<int>(ceil_div(y_rows, std::int64_t{t.n} * t.cluster_y()));
  r.group =
      stripe(t, r.tiles_x, r.tiles_y, static_cast<int>(std::min<std::int64_t>(r.tiles(), ctas)));
  return r;
}

}  // namespace detgemm::cuda::sm90
