// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/tile/raster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cuda/sm90/host/choose.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::test {
namespace {

using cuda::sm90::Raster;

void expect_bijection(const Raster& r) {
  std::vector<int> seen(static_cast<std::size_t>(r.tiles()), 0);
  for (int tile = 0; tile < r.tiles(); ++tile) {
    int x = -1, y = -1;
    r.locate(tile, x, y);
    ASSERT_TRUE(x >= 0 && x < r.tiles_x && y >= 0 && y < r.tiles_y)
        << r.tiles_x << " x " << r.tiles_y << " group " << r.group << " tile " << tile;
    ++seen[static_cast<std::size_t>(x) * r.tiles_y + y];
  }
  ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), r.tiles())
      << r.tiles_x << " x " << r.tiles_y << " group " << r.group;
}

TEST(Sm90Raster, EveryTileOnceWhereSmall) {
  for (int x = 1; x <= 12; ++x) {
    for (int y = 1; y <= 12; ++y) {
      for (int group = 1; group <= 14; ++group) expect_bijection({x, y, group});
    }
  }
}

TEST(Sm90Raster, EveryTileOnceAtRandomRaggedStripesIncluded) {
  Random random(7);
  int ragged = 0;
  for (int i = 0; i < 400; ++i) {
    const Raster r{static_cast<int>(1 + random.below(200)), static_cast<int>(1 + random.below(200)),
                   static_cast<int>(1 + random.below(132))};
    ragged += r.tiles_x % r.group != 0;
    expect_bijection(r);
  }
  EXPECT_GE(ragged, 200);
}

TEST(Sm90Raster, IsTheDrawing) {
  constexpr int kDrawing[4][4] = {{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}};
  const Raster r{4, 4, 2};
  for (int tile = 0; tile < 16; ++tile) {
    int x = -1, y = -1;
    r.locate(tile, x, y);
    EXPECT_EQ(kDrawing[x][y], tile);
  }
}

/// The point of the stripes: CTAs that run together touch few rows and columns of tiles.
TEST(Sm90Raster, ConsecutiveTilesShareOperands) {
  const Raster r{64, 64, 11};
  for (int first = 0; first + 132 <= 11 * 64; first += 132) {
    std::vector<int> xs, ys;
    for (int tile = first; tile < first + 132; ++tile) {
      int x = -1, y = -1;
      r.locate(tile, x, y);
      xs.push_back(x);
      ys.push_back(y);
    }
    const auto distinct = [](std::vector<int>& v) {
      std::sort(v.begin(), v.end());
      return std::unique(v.begin(), v.end()) - v.begin();
    };
    EXPECT_LE(distinct(xs) + distinct(ys), 11 + 12);
  }
}

/// Rows of both operands that the first 16 tiles read.
std::int64_t rows_of_neighbours(const Raster& r, const cuda::sm90::Geometry& t) {
  std::set<int> xs, ys;
  for (int tile = 0; tile < std::min(16, r.tiles()); ++tile) {
    int x = -1, y = -1;
    r.locate(tile, x, y);
    xs.insert(x);
    ys.insert(y);
  }
  return static_cast<std::int64_t>(xs.size()) * t.x() + static_cast<std::int64_t>(ys.size()) * t.n;
}

/// In one wave the 16 CTAs that a launch puts on one GPC read about as few rows as any stripes
/// would let them; other stripes would cost more than twice as many.
TEST(Sm90Raster, NeighboursOfOneWaveShareOperands) {
  const auto t = cuda::sm90::geometry::tile(2, 1, 64);
  double worst = 0;
  double saved = 0;
  for (int tiles_x = 1; tiles_x <= 132; ++tiles_x) {
    for (int tiles_y = 1; tiles_x * tiles_y <= 132; ++tiles_y) {
      Raster r = cuda::sm90::raster_of(t, tiles_x * t.x(), tiles_y * t.n, 132);
      ASSERT_EQ(r.tiles(), tiles_x * tiles_y);
      const auto chosen = static_cast<double>(rows_of_neighbours(r, t));
      double least = chosen;
      for (r.group = 1; r.group <= tiles_x; ++r.group) {
        const auto rows = static_cast<double>(rows_of_neighbours(r, t));
        least = std::min(least, rows);
        saved = std::max(saved, rows / chosen);
      }
      worst = std::max(worst, chosen / least);
    }
  }
  EXPECT_LT(worst, 1.25);
  EXPECT_GT(saved, 2);
}

}  // namespace
}  // namespace detgemm::test
