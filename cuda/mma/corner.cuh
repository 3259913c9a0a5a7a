// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/mma/params.hpp"
#include "cuda/mma/tile.hpp"

namespace detgemm::cuda::mma {

/// Where a tile is in D. Stripes of `band` columns of tiles, so that tiles that run together share
/// what L2 holds.
template <class Shape>
struct Corner {
  std::int64_t row, col, end;  ///< columns [col, end)

  __device__ __forceinline__ Corner(const Params& p, std::int64_t tile) {
    const std::int64_t stripe = tile / (p.band * p.tiles_m);
    const std::int64_t first = stripe * p.band;
    const std::int64_t width = p.tiles_n - first < p.band ? p.tiles_n - first : p.band;
    const std::int64_t inside = tile - first * p.tiles_m;
    const std::int64_t down = inside / width;
    row = down * Shape::tile.m;
    col = (first + inside - down * width) * p.pitch;
    end = p.g.n - col < p.pitch ? p.g.n : col + p.pitch;
  }
};

}  // namespace detgemm::cuda::mma
