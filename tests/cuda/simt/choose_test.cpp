// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/simt/choose.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>

#include "cuda/families.hpp"

namespace detgemm::test {
namespace {

using namespace cuda;
using namespace cuda::simt;

constexpr int kSms = 132;
constexpr DType kInputs[] = {DType::bf16, DType::fp16, DType::fp32};

GemmArguments problem(std::int64_t m, std::int64_t n, std::int64_t k, Reduction reduction = {}) {
  GemmArguments g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.reduction = reduction;
  g.as = {k, 1};
  g.bs = {n, 1};
  g.ds = {n, 1};
  return g;
}

const Tile& tile_of(const Decision& d) { return kTiles[static_cast<std::size_t>(d.kernel)]; }

Question question(const GemmArguments& g, DType input, int sms, int forced) {
  Question q;
  q.m = g.m;
  q.n = g.n;
  q.k = g.k;
  q.reduction = g.reduction;
  q.input = input;
  ask(g, q);
  q.sms = sms;
  q.forced = forced;
  return q;
}

Choice choose(const GemmArguments& g, DType input, int sms, int forced) {
  return cuda::simt::choose(question(g, input, sms, forced));
}

void expect_sound(const GemmArguments& g, DType input, int sms, const Choice& choice) {
  ASSERT_EQ(choice.why_not, nullptr);
  const Decision& d = choice.decision;
  const Tile& t = tile_of(d);
  SCOPED_TRACE(name(t));
  ASSERT_TRUE(has_tile(input, d.kernel));
  const bool leaves = g.reduction.kind != ReductionKind::chain && g.k > 0;
  ASSERT_TRUE(t.leaves || !leaves);
  ASSERT_LE(d.shared_bytes, kMaxShared);
  ASSERT_EQ(d.shared_bytes, ring_bytes(t) + levels_needed(g.reduction, g.k) * waiting_bytes(t));
  const Params p = make_params(g, d);
  ASSERT_TRUE(t.lines || !d.swapped);
  const std::int64_t rows = d.swapped ? g.n : g.m;
  const std::int64_t cols = d.swapped ? g.m : g.n;
  ASSERT_EQ(p.swapped, d.swapped);
  ASSERT_EQ(p.a.lines, rows);
  ASSERT_EQ(p.b.lines, cols);
  ASSERT_GE(p.tiles_m * t.rows(), rows);
  ASSERT_LT((p.tiles_m - 1) * t.rows(), rows);
  ASSERT_GE(p.tiles_n * t.cols(), cols);
  ASSERT_LT((p.tiles_n - 1) * t.cols(), cols);
  ASSERT_GE(d.grid, 1);
  ASSERT_LE(d.grid, p.tiles_m * p.tiles_n);
  ASSERT_LE(d.grid, sms * t.ctas);
  ASSERT_GE(p.band, 1);
  ASSERT_LE(p.band, p.tiles_n);
}

TEST(SimtTiles, AreWhatTheKernelsNeed) {
  std::set<std::string> names;
  for (const Tile& t : kTiles) {
    SCOPED_TRACE(name(t));
    EXPECT_TRUE(names.insert(name(t)).second) << "two tiles have one name";
    EXPECT_EQ(t.lane_rows * t.lane_cols, 32);
    EXPECT_EQ(t.k % 8, 0) << "runs of 16 bytes of any type";
    EXPECT_LE(t.threads(), 1024);
    EXPECT_LE(ring_bytes(t), kMaxShared);
    EXPECT_LE(255, 65536 / (t.threads() * t.ctas) + 128) << "too few registers a thread";
    // Accumulators and two fragments of each operand must fit what ptxas may use.
    const int fragment = (t.lines ? 4 * t.held : 2) * (t.thread_rows + t.thread_cols);
    const int held = t.thread_rows * t.thread_cols + fragment;
    EXPECT_LE(held + (t.lines ? 32 : 40), 65536 / (t.threads() * t.ctas));
    if (t.leaves) {
      EXPECT_GE(levels_of(t), 1) << "no room for a fold's sum";
    }
  }
}

/// The deepest tree that memory can hold is taken by some tile.
TEST(SimtTiles, SomeTileParksAnyTree) {
  int most = 0;
  for (const Tile& t : kTiles) most = std::max(most, levels_of(t));
  EXPECT_GE(most, 48);
}

TEST(SimtChoose, IsSoundForAnyShape) {
  const Reduction reductions[] = {{},
                                  {ReductionKind::fold, 1},
                                  {ReductionKind::fold, 1000},
                                  {ReductionKind::tree, 1},
                                  {ReductionKind::tree, 512}};
  for (const DType input : kInputs) {
    for (const std::int64_t m : {1, 7, 8, 9, 64, 129, 4096, 1 << 20}) {
      for (const std::int64_t n : {1, 8, 31, 256, 5000, 1 << 20}) {
        for (const std::int64_t k : {0, 1, 7, 512, 4097, 1 << 24}) {
          for (const Reduction& r : reductions) {
            for (const int sms : {1, 17, kSms}) {
              const GemmArguments g = problem(m, n, k, r);
              const Choice d = choose(g, input, sms, -1);
              expect_sound(g, input, sms, d);
              if (HasFatalFailure()) {
                FAIL() << m << " x " << n << " x " << k << ", " << sms << " multiprocessors";
              }
            }
          }
        }
      }
    }
  }
}

TEST(SimtChoose, AForcedTileRunsOrRefuses) {
  for (const DType input : kInputs) {
    for (int tile = 0; tile < kTileCount; ++tile) {
      for (const Reduction& r :
           {Reduction{}, Reduction{ReductionKind::fold, 64}, Reduction{ReductionKind::tree, 1}}) {
        const GemmArguments g = problem(300, 300, 4096, r);
        const Tile& t = kTiles[static_cast<std::size_t>(tile)];
        const bool leaves = r.kind != ReductionKind::chain;
        const bool takes = has_tile(input, tile) &&
                           (!leaves || (t.leaves && levels_needed(r, g.k) <= levels_of(t)));
        const Choice d = choose(g, input, kSms, tile);
        ASSERT_EQ(d.why_not == nullptr, takes) << name(t);
        if (takes) {
          EXPECT_EQ(d.decision.kernel, tile);
          expect_sound(g, input, kSms, d);
        }
      }
    }
  }
}

TEST(SimtChoose, LevelsAreThoseOfTheStack) {
  EXPECT_EQ(levels_needed({}, 4096), 0);
  EXPECT_EQ(levels_needed({ReductionKind::fold, 64}, 4096), 1);
  EXPECT_EQ(levels_needed({ReductionKind::fold, 64}, 0), 0);
  for (std::int64_t leaves = 1; leaves < 3000; ++leaves) {
    // Walk the tree as reduce_leaves does and see how many subtrees wait.
    int waiting = 0;
    int most = 0;
    for (std::int64_t i = 0; i < leaves; ++i) {
      waiting -= nodes_closed_by(i, leaves);
      if (i + 1 < leaves) most = std::max(most, ++waiting);
    }
    ASSERT_EQ(waiting, 0);
    ASSERT_LE(most, levels_needed({ReductionKind::tree, 10}, 10 * leaves)) << leaves;
  }
}

TEST(SimtChoose, LargeProblemsGetLargeTilesAndFewRowsFewRows) {
  for (const DType input : kInputs) {
    EXPECT_LT(choose(problem(4096, 4096, 4096), input, kSms, -1).decision.kernel, kLargeTiles);
    const Decision row = choose(problem(1, 4096, 4096), input, kSms, -1).decision;
    const Decision column = choose(problem(4096, 1, 4096), input, kSms, -1).decision;
    if (input == DType::fp32) {
      EXPECT_EQ(tile_of(row).rows(), 4);
      EXPECT_FALSE(row.swapped);
      EXPECT_EQ(tile_of(column).rows(), 4);
      EXPECT_TRUE(column.swapped);
    } else {
      EXPECT_EQ(tile_of(row).rows(), 8);
      EXPECT_EQ(tile_of(column).cols(), 8);
    }
  }
}

/// What is chosen is the fastest by the model, and no row that is added makes it expect less time.
TEST(SimtChoose, ExpectedTimeNeverFallsWhenMGrows) {
  const std::array<std::pair<std::int64_t, std::int64_t>, 6> sizes{
      {{4096, 4096}, {1024, 4096}, {14336, 4096}, {4096, 14336}, {33, 100}, {128256, 2048}}};
  for (const DType input : kInputs) {
    for (const auto& [n, k] : sizes) {
      for (const Reduction& r : {Reduction{}, Reduction{ReductionKind::fold, 1024},
                                 Reduction{ReductionKind::tree, 512}}) {
        double last = 0;
        std::set<int> tiles;
        for (std::int64_t m = 1; m < 9000; m += m < 1200 ? 1 : 61) {
          const Question q = question(problem(m, n, k, r), input, kSms, -1);
          const Decision d = cuda::simt::choose(q).decision;
          const double clocks = expected_clocks(q, d);
          ASSERT_GE(clocks, last) << m << " x " << n << " x " << k;
          for (int tile = 0; tile < kTileCount; ++tile) {
            Question forced = q;
            forced.forced = tile;
            if (why_not(forced) != nullptr) continue;
            const Decision other = cuda::simt::choose(forced).decision;
            ASSERT_LE(clocks, expected_clocks(q, other)) << m << ", " << name(tile_of(other));
          }
          last = clocks;
          tiles.insert(d.kernel);
        }
        EXPECT_GE(tiles.size(), 2U) << n << " x " << k;
      }
    }
  }
}

/// 384 tiles of 128 x 128 took 1269 us at 710 x 8192 x 3584, nearly as if they were 512: the last
/// 120 do not have a multiprocessor each. 1133 are expected of 64 x 128.
TEST(SimtChoose, TilesBehindWholeRoundsMeet) {
  const auto clocks = [](std::int64_t m, int tile) {
    const Question q = question(problem(m, 8192, 3584), DType::fp32, kSms, tile);
    return expected_clocks(q, cuda::simt::choose(q).decision);
  };
  constexpr int kLarge = 1, kMiddle = 3;                                // 128 x 128 and 64 x 128
  EXPECT_NEAR(clocks(710, kLarge) / clocks(1024, kLarge), 0.96, 0.02);  // 384 and 512 tiles
  EXPECT_LT(clocks(710, kMiddle), 0.94 * clocks(710, kLarge));
  EXPECT_LT(clocks(540, kLarge), 0.9 * clocks(710, kLarge));  // 320 tiles: the last 56 do
}

TEST(SimtParams, WhichRunsAreWhole) {
  alignas(256) static float memory[64];
  const auto operand_a = [](const void* data, Strides s, DType input, Reduction r) {
    GemmArguments g = problem(64, 64, 64, r);
    g.a = data;
    g.as = s;
    return make_params(g, choose(g, input, kSms, 4).decision).a;
  };
  const void* at4 = memory + 1;
  const auto* at2 = reinterpret_cast<const char*>(memory) + 2;
  for (const bool along : {true, false}) {
    const auto strides = [&](std::int64_t ld) { return along ? Strides{ld, 1} : Strides{1, ld}; };
    EXPECT_EQ(operand_a(memory, strides(64), DType::fp32, {}).along, along);
    EXPECT_TRUE(operand_a(memory, strides(68), DType::fp32, {}).vector);
    EXPECT_FALSE(operand_a(memory, strides(66), DType::fp32, {}).vector);
    EXPECT_FALSE(operand_a(at4, strides(64), DType::fp32, {}).vector);
    EXPECT_TRUE(operand_a(memory, strides(72), DType::bf16, {}).vector);
    EXPECT_FALSE(operand_a(memory, strides(68), DType::bf16, {}).vector);
    EXPECT_FALSE(operand_a(at2, strides(72), DType::fp16, {}).vector);
    // A leaf that ends inside a run: the next one begins off its grid, if runs lie along k.
    const Reduction odd{ReductionKind::fold, 6};
    EXPECT_EQ(operand_a(memory, strides(64), DType::fp32, odd).vector, !along);
  }
}

TEST(SimtParams, WhichOutputsArePlain) {
  alignas(256) static float memory[64];
  const auto plain = [](auto&& change) {
    GemmArguments g = problem(64, 64, 64);
    g.d = memory;
    change(g);
    // Tiles of lines store outputs one by one, at any strides.
    const bool runs = make_params(g, choose(g, DType::fp32, kSms, 4).decision).plain;
    const bool singly = make_params(g, choose(g, DType::fp32, kSms, kTileCount - 1).decision).plain;
    EXPECT_EQ(singly, only_rounds(g.epilogue));
    return runs;
  };
  EXPECT_TRUE(plain([](GemmArguments&) {}));
  EXPECT_FALSE(plain([](GemmArguments& g) { g.epilogue.alpha = 2; }));
  EXPECT_FALSE(plain([](GemmArguments& g) { g.epilogue.beta = 1; }));
  EXPECT_FALSE(plain([](GemmArguments& g) { g.epilogue.has_bias = true; }));
  EXPECT_FALSE(plain([](GemmArguments& g) { g.epilogue.activation = Activation::relu; }));
  EXPECT_FALSE(plain([](GemmArguments& g) { g.ds = {1, 64}; }));
  EXPECT_FALSE(plain([](GemmArguments& g) { g.ds = {66, 1}; }));
  EXPECT_FALSE(plain([](GemmArguments& g) { g.d = memory + 1; }));
}

}  // namespace
}  // namespace detgemm::test
