// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/boxes.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/tile/tile.hpp"
#include "tests/cuda/sm90/problems.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr int kAnywhere = std::numeric_limits<int>::max();

Operand k_major(std::int64_t rows) { return {nullptr, rows, 4096, false}; }
Operand mn_major(std::int64_t rows) { return {nullptr, rows, 4096, true}; }

TEST(Sm90Boxes, TheLastTileEndsWithTheOperand) {
  for (const int tile : {8, 64, 128, 192, 256}) {
    for (std::int64_t rows = 1; rows < 1100; ++rows) {
      const std::int64_t tiles = ceil_div(rows, tile);
      const int last = last_origin(k_major(rows), tile, true);
      std::int64_t covered = 0;  // rows [0, covered) are some tile's
      for (std::int64_t i = 0; i < tiles; ++i) {
        const std::int64_t begin = std::min<std::int64_t>(i * tile, last);
        ASSERT_LE(begin, covered);
        covered = begin + tile;
        if (rows >= tile) ASSERT_LE(covered, rows) << tile << " of " << rows;
      }
      ASSERT_GE(covered, rows);
    }
  }
}

TEST(Sm90Boxes, BoxesOfMnMajorOperandsBeginAt16Bytes) {
  for (std::int64_t rows = 1; rows < 600; ++rows) {
    const int last = last_origin(mn_major(rows), 128, true);
    ASSERT_EQ(last % 8, 0);
    ASSERT_GE(last + 128, rows);
    if (rows >= 128) ASSERT_LT(last + 128, rows + 8);
  }
}

TEST(Sm90Boxes, NoBoxHasMoreRowsThanTheOperand) {
  for (const Geometry& t : kPlainGeometries) {
    for (const std::int64_t rows : {1, 5, 8, 33, 63, 64, 65, 4096}) {
      for (const std::int64_t k : {512, 520}) {
        const Sides p{k_major(rows), k_major(rows), k};
        for (const bool is_x : {true, false}) {
          const Boxes boxes = is_x ? x_boxes(t, p) : y_boxes(t, p);
          const int room = is_x ? t.load : t.n;
          const int share = is_x ? t.x_share() : t.y_share();
          if (share == room) {
            EXPECT_EQ(boxes.rows, std::min<std::int64_t>(rows, room)) << name(t);
            EXPECT_EQ(boxes.stage_bytes, t.depth * boxes.rows * 128) << name(t);
          } else if (t.cluster == 4) {  // a quarter each of the rows that there are
            const std::int64_t there = std::min<std::int64_t>(rows, room);
            EXPECT_GE(4 * boxes.rows, there) << name(t);
            EXPECT_LT(4 * (boxes.rows - 1), there) << name(t);
            EXPECT_EQ(boxes.stage_bytes, 4 * boxes.rows * 128) << name(t);
          } else {  // a pair's: each CTA brings its share of all rows
            EXPECT_EQ(boxes.rows, share) << name(t);
            EXPECT_EQ(boxes.stage_bytes, t.depth * room * 128) << name(t);
          }
          // One box for a stage of several k blocks leaves no room between them.
          if (boxes.depth > 1) {
            EXPECT_EQ(boxes.rows, room) << name(t);
            EXPECT_EQ(k % kBlockK, 0) << name(t);
          }
        }
      }
    }
  }
}

TEST(Sm90Boxes, OutputsAreStoredOnceWhereCCouldBeWhatWasStored) {
  GemmArguments g = test::arguments({200, 256, 512});
  EXPECT_TRUE(may_store_twice(g));
  g.continue_from_c = true;
  g.c_type = DType::fp32;
  g.output = DType::fp32;
  g.c = g.d;
  g.cs = g.ds;
  EXPECT_FALSE(may_store_twice(g));
  const auto d = reinterpret_cast<std::uintptr_t>(g.d);
  const auto bytes = static_cast<std::uintptr_t>((199 * g.ds.row + 256) * 4);
  g.c = reinterpret_cast<const void*>(d + bytes);  // right behind D
  EXPECT_TRUE(may_store_twice(g));
  g.c = reinterpret_cast<const void*>(d + bytes - 4);
  EXPECT_FALSE(may_store_twice(g));
  g.continue_from_c = false;
  EXPECT_TRUE(may_store_twice(g));
  g.epilogue.beta = 0.5F;
  EXPECT_FALSE(may_store_twice(g));
  EXPECT_EQ(last_origin(k_major(200), 128, may_store_twice(g)), kAnywhere);
}

/// Boxes of a shared operand stay as large as the tile: 28 rows of 100 in a tile of 128 cost time.
TEST(Sm90Boxes, PairsPayForRowsBehindASharedOperand) {
  const Geometry pair = geometry::pair(2, 1, 48, true), alone = geometry::tile(2, 1, 48);
  const auto time = [](const Geometry& t, std::int64_t m) {
    return predicted_time(t, m, 6144, 4096, 132, false);
  };
  EXPECT_GT(time(pair, 100), 1.2 * time(alone, 100));  // 23.0 us were measured, and 15.5 for 75
  EXPECT_LT(time(pair, 128), 1.05 * time(alone, 128));
}

/// The model of time never says that more rows take less, whatever is chosen for them.
TEST(Sm90Boxes, PredictedTimeNeverFallsWhenMGrows) {
  constexpr struct {
    std::int64_t n, k;
  } kWeights[] = {{4096, 4096},   {28672, 4096}, {8192, 8192}, {1024, 14336}, {3584, 18944},
                  {57344, 12288}, {2048, 8192},  {2560, 9728}, {4608, 36864}, {7168, 2048}};
  for (const auto& w : kWeights) {
    double before = 0;
    for (std::int64_t m = 1; m <= 1024; ++m) {
      double least = std::numeric_limits<double>::max();
      for (const Geometry& t : kPlainGeometries) {
        if (t.load == t.x() || m <= t.load) {
          least = std::min(least, predicted_time(t, m, w.n, w.k, 132, false));
        }
        if (t.load == t.x()) least = std::min(least, predicted_time(t, w.n, m, w.k, 132, true));
      }
      ASSERT_GE(least, before * 0.97) << w.n << " x " << w.k << ", M = " << m;
      before = std::max(before, least);
    }
  }
}

}  // namespace
}  // namespace detgemm::cuda::sm90
