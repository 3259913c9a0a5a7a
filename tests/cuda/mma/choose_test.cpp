// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The host half of the family: which tile, how operands are read, the memory of waiting sums.

#include "cuda/mma/choose.hpp"

#include <gtest/gtest.h>

namespace detgemm::cuda::mma {
namespace {

GemmArguments arguments(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmArguments g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.as = {k, 1};
  g.bs = {1, k};
  g.ds = {n, 1};
  g.output = DType::bf16;
  return g;
}

Question question(const GemmArguments& g, int sms = 132) {
  Question q;
  q.m = g.m;
  q.n = g.n;
  q.k = g.k;
  q.reduction = g.reduction;
  q.sms = sms;
  ask(g, q);
  return q;
}

std::string chosen(std::int64_t m, std::int64_t n, std::int64_t k) {
  return name(
      kTiles[static_cast<std::size_t>(choose(question(arguments(m, n, k))).decision.kernel)]);
}

TEST(MmaChoose, TheFastestTilesOfARecordAreChosen) {
  EXPECT_EQ(chosen(1, 18432, 16384), "mma/16x128");
  EXPECT_EQ(chosen(16, 3840, 4096), "mma/16x32-k128");
  EXPECT_EQ(chosen(32, 15360, 11520), "mma/32x64");
  EXPECT_EQ(chosen(64, 7040, 5888), "mma/64x32");
  EXPECT_EQ(chosen(64, 18432, 16384), "mma/64x96");
  EXPECT_EQ(chosen(128, 4096, 14336), "mma/64x32");
  EXPECT_EQ(chosen(256, 3840, 4096), "mma/64x128");
  EXPECT_EQ(chosen(8192, 8192, 4096), "mma/128x128");
}

/// Of tiles that all run at once, every multiprocessor has about the same number, whatever N is.
TEST(MmaChoose, TilesThatRunAtOnceAreEven) {
  for (std::int64_t m : {1, 16, 48, 64, 100, 256}) {
    for (std::int64_t n = 8; n < 20000; n = n * 9 / 8 + 1) {
      Question q = question(arguments(m, n, 4096));
      for (q.forced = 0; q.forced < kTileCount; ++q.forced) {
        const Choice choice = choose(q);
        ASSERT_EQ(choice.why_not, nullptr);
        const Decision& d = choice.decision;
        const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
        ASSERT_EQ(d.across % 8, 0);
        ASSERT_LE(d.across, t.n);
        const std::int64_t tiles = ceil_div(m, t.m) * ceil_div(n, d.across);
        ASSERT_LE(d.grid, tiles);
        if (d.across == t.n) continue;
        EXPECT_EQ(d.grid, tiles) << name(t) << " " << n;
        const std::int64_t each = ceil_div(tiles, 132);
        const std::int64_t fewer = (each - 1) * 132 / ceil_div(m, t.m) * t.n;
        EXPECT_GT(n, fewer - 8 * ceil_div(fewer, t.n)) << "no more than are needed";
      }
    }
  }
}

TEST(MmaChoose, TheLargestTileIsForChains) {
  GemmArguments g = arguments(8192, 8192, 4096);
  g.reduction = {ReductionKind::tree, 512};
  Question q = question(g);
  const Choice choice = choose(q);
  ASSERT_EQ(choice.why_not, nullptr);
  EXPECT_TRUE(kTiles[static_cast<std::size_t>(choice.decision.kernel)].leaves);
  q.forced = 0;
  EXPECT_STREQ(choose(q).why_not, "it computes chains only");
}

TEST(MmaChoose, OneLeafFromZeroIsAChain) {
  GemmArguments g = arguments(64, 64, 512);
  for (const ReductionKind kind : {ReductionKind::fold, ReductionKind::tree}) {
    g.reduction = {kind, 512};
    EXPECT_FALSE(question(g).leaves());
  }
  g.reduction.kind = ReductionKind::fold;
  g.continue_from_c = true;
  EXPECT_TRUE(question(g).leaves()) << "C + l0 is another sum than a chain from C";
}

TEST(MmaChoose, OperandsAreReadByTheirStridesAndAddresses) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  GemmArguments g = arguments(64, 64, 64);
  const auto ways = [&] {
    Decision d;
    d.kernel = 3;
    d.across = kTiles[3].n;
    const Params p = make_params(g, d, nullptr);
    return std::pair(p.a.way, p.b.way);
  };
  EXPECT_EQ(ways(), std::pair(Way::along, Way::along));
  g.as = {1, 64};
  g.bs = {72, 1};
  EXPECT_EQ(ways(), std::pair(Way::across, Way::across));
  g.as = {1, 65};
  g.b = at(4098);
  EXPECT_EQ(ways(), std::pair(Way::any, Way::any));
  g.as = {63, 1};
  g.b = at(4096);
  g.bs = {-72, 1};
  EXPECT_EQ(ways(), std::pair(Way::any, Way::across));
  g.as = {128, 2};
  EXPECT_EQ(ways().first, Way::any);
}

TEST(MmaChoose, WorkspaceGrowsWithMAndHoldsEveryTile) {
  const Reduction tree{ReductionKind::tree, 64};
  std::size_t before = 0;
  for (std::int64_t m = 1; m <= 5000; m += 37) {
    const std::size_t bytes = workspace_bytes(tree, m, 777, 4096, 132);
    EXPECT_GE(bytes, before);
    before = bytes;
    GemmArguments g = arguments(m, 777, 4096);
    g.reduction = tree;
    Question q = question(g);
    for (q.forced = 0; q.forced < kTileCount; ++q.forced) {
      const Choice choice = choose(q);
      if (choice.why_not != nullptr) continue;
      const Decision& d = choice.decision;
      const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
      EXPECT_LE(static_cast<std::size_t>(d.grid) * static_cast<std::size_t>(d.levels) *
                    static_cast<std::size_t>(t.waiting_bytes()),
                bytes);
      EXPECT_GE(d.grid, 1);
    }
  }
  EXPECT_EQ(workspace_bytes({ReductionKind::fold, 64}, 5000, 777, 4096, 132), 0U);
  EXPECT_EQ(workspace_bytes(tree, 0, 777, 4096, 132), 0U);
}

/// The eight chunks that ldmatrix reads at once are in eight different places of the 128 bytes that
/// the banks have, whichever way a stage is laid out.
TEST(MmaTile, NoBankIsReadTwice) {
  for (const int chunks : {2, 4, 8, 16, 32}) {
    for (int line = 0; line < 64; line += 8) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        unsigned banks = 0;
        for (int row = 0; row < 8; ++row) banks |= 1U << swizzled(line + row, chunk, chunks) % 8;
        EXPECT_EQ(banks, 0xffU) << chunks << " " << line << " " << chunk;
      }
    }
  }
}

}  // namespace
}  // namespace detgemm::cuda::mma
