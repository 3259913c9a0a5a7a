// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/raster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

}  // namespace
}  // namespace detgemm::test
