// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The model of time against what was measured on an H200 (docs/log/sm90.md, 23 November,
// afternoon): each effect that it has a term for, as the ratio of two times.
#include <gtest/gtest.h>

#include "tests/cuda/sm90/problems.hpp"

namespace detgemm::test {
namespace {

using namespace cuda;
using namespace cuda::sm90;

/// Microseconds of a geometry for M x N x K on a whole H200.
double straight(const Geometry& t, std::int64_t m, std::int64_t n, std::int64_t k) {
  return predicted_time(t, m, n, k, 132, false);
}
double swapped(const Geometry& t, std::int64_t m, std::int64_t n, std::int64_t k) {
  return predicted_time(t, n, m, k, 132, true);
}

const Geometry& chosen(std::int64_t m, std::int64_t n, std::int64_t k) {
  return geometry_of(choose(arguments({m, n, k}), 132, -1).decision);
}

/// 1.4 GB of weights and two tiles of tokens, in seven waves: 673 us; one tile of tokens in four:
/// 548.
TEST(Sm90Predict, WeightsAreReadAgainBySeveralTilesOfTokens) {
  const double two = swapped(geometry::tile(2, 1, 112), 199, 57344, 12288);
  const double one = swapped(geometry::tile(2, 1, 224), 199, 57344, 12288);
  EXPECT_GT(two, 1.02 * one);
  // Weights that stay in L2 are not: 33 MB.
  EXPECT_LT(swapped(geometry::tile(2, 1, 112), 199, 4096, 4096),
            swapped(geometry::tile(2, 1, 224), 199, 4096, 4096));
  const Decision d = choose(arguments({199, 57344, 12288}), 132, -1).decision;
  EXPECT_EQ(d.swapped ? d.raster.tiles_y : d.raster.tiles_x, 1);
}

/// 8 x 4096 x 14336: 86 CTAs took 35.8 us, 128 took 27.0, 64 took 28.0 and 52 took 36.2.
TEST(Sm90Predict, IdleMultiprocessorsLeaveMemoryIdle) {
  const auto time = [](int n) { return straight(geometry::stream(8, n), 8, 4096, 14336); };
  EXPECT_NEAR(time(48) / time(32), 35.8 / 27.0, 0.11);
  EXPECT_NEAR(time(64) / time(32), 28.0 / 27.0, 0.08);
  EXPECT_NEAR(time(80) / time(32), 36.2 / 27.0, 0.2);
  // What all rings hold at once is no matter: 107 CTAs took 5120 x 3072 at 5 TB/s.
  const double small = straight(geometry::stream(8, 48), 3, 5120, 3072);
  EXPECT_LT(small, 1.08 * straight(geometry::stream(8, 40), 3, 5120, 3072));
  EXPECT_EQ(chosen(3, 2560, 9728).n,
            24);  // 107 CTAs, where 80 took 18.5 us beside 16.5 of cuBLASLt
}

/// Clusters of four that share the tokens, and what they took.
TEST(Sm90Predict, QuadsTakeWhatTheyTook) {
  EXPECT_NEAR(swapped(geometry::quad(88), 259, 2048, 8192), 21.0, 0.5);
  EXPECT_NEAR(swapped(geometry::quad(104), 302, 2560, 9728), 28.2, 0.7);
  EXPECT_NEAR(swapped(geometry::quad(96), 276, 2048, 8192), 21.9, 0.5);
  EXPECT_NEAR(swapped(geometry::quad(136), 395, 2560, 9728), 33.8, 0.7);
  EXPECT_NEAR(swapped(geometry::quad(112), 211, 3584, 14336), 41.4, 1.2);
  // Clusters that one wave of 120 CTAs does not hold take a second one.
  EXPECT_GT(swapped(geometry::quad(88), 264, 2048 * 31 / 24, 8192),
            1.4 * swapped(geometry::quad(88), 264, 2048, 8192));
}

/// Of these the one wave of plain tiles took 30.6 and 45.7 us. At K = 4096 quads lost (138 x 3584:
/// 14.0 us beside 12.6), which the model does not know.
TEST(Sm90Predict, QuadsAreChosenForLongChains) {
  EXPECT_EQ(name(chosen(302, 2560, 9728)), "64x104-quad-y");
  EXPECT_EQ(name(chosen(211, 3584, 14336)), "64x112-quad-y");
  EXPECT_EQ(chosen(138, 3584, 4096).cluster, 1);
  EXPECT_EQ(chosen(267, 1536, 7168).cluster, 1);
}

/// Pairs that share the weights and are alone to read them gain (128 x 8192 x 8192: 35.5 us beside
/// 38.5), others lose (256 x 4096 x 4096: 16.4 beside 15.8; 512 x 1024 x 4096: 12.1 beside 10.8).
TEST(Sm90Predict, PairsGainWhereTheyReadAlone) {
  const Geometry pair = geometry::pair(1, 1, 128, false), tile = geometry::tile(2, 1, 64);
  EXPECT_EQ(name(chosen(117, 8192, 8192)), name(pair));
  EXPECT_GT(straight(pair, 256, 4096, 4096), straight(tile, 256, 4096, 4096));
  EXPECT_GT(straight(geometry::pair(1, 1, 64, false), 512, 1024, 4096),
            1.05 * straight(geometry::stream(64, 64), 512, 1024, 4096));
  // At 161 tokens of 8192 x 8192 the plain tile took 46.3 us, and from 169 on its pair 39.7.
  EXPECT_EQ(chosen(161, 8192, 8192).cluster, 2);
}

/// Four tiles of tokens in one stripe: 14.4 us at 235 x 1536 x 7168. A fifth one alone in a second
/// stripe: 18.3 at 267, where 17.0 would follow from 64x64 in place of 64x48.
TEST(Sm90Predict, ALastStripeOfOneTileIsSlow) {
  const Geometry t = geometry::tile(1, 1, 80);
  EXPECT_EQ(raster_of(t, 259, 2048, 132).group, 4);
  EXPECT_EQ(raster_of(t, 256, 2048, 132).group, 4);
  EXPECT_GT(straight(t, 259, 2048, 8192), 1.05 * straight(t, 256, 2048, 8192));
  EXPECT_LT(straight(t, 243, 2048, 8192), 1.01 * straight(t, 256, 2048, 8192));
}

/// 77 x 7168 x 5120: two tiles of 64 tokens that stream the same weights took 23.6 us, one of 96
/// took 20.8; 152 x 7680 x 5120: 27.0 in two tiles of 80, 24.6 in one of 160.
TEST(Sm90Predict, WeightsThatSeveralTilesStreamComeTwice) {
  EXPECT_GT(straight(geometry::tile(1, 1, 112), 77, 7168, 5120),
            1.02 * swapped(geometry::tile(1, 1, 96), 77, 7168, 5120));
  const Decision d = choose(arguments({152, 7680, 5120}), 132, -1).decision;
  EXPECT_EQ(d.swapped ? d.raster.tiles_y : d.raster.tiles_x, 1);
}

/// 67 x 3584 x 14336: 34.3 us with 128x32, 32.2 with pairs of 64x64; 68 x 3072 x 8192: 19.9,
/// and 18.4 with 64x48.
TEST(Sm90Predict, TwoGroupsThatShareFewColumnsAreSlow) {
  EXPECT_GT(straight(geometry::tile(2, 1, 32), 67, 3584, 14336),
            straight(geometry::pair(1, 1, 64, false), 67, 3584, 14336));
  EXPECT_NE(name(chosen(67, 3584, 14336)), "128x32");
  EXPECT_EQ(name(chosen(68, 3072, 8192)), "64x48-depth2");
}

/// 132 to 170 x 3072 x 8192: 24.0 us with quads, and 22.9 with 64x80 in three tiles of tokens.
TEST(Sm90Predict, QuadsLoseWhereMemoryStreamsTheirRows) {
  for (const int m : {132, 150, 170}) EXPECT_EQ(chosen(m, 3072, 8192).cluster, 1) << m;
}

/// A wave of 192 x 208, as cuBLASLt takes it: 180 us where 256x192 takes 221. Trees and folds have
/// three groups in 192x80.
TEST(Sm90Predict, ThreeGroupsMakeOneWave) {
  EXPECT_EQ(name(chosen(412, 12288, 12288)), "192x208");
  EXPECT_EQ(name(chosen(420, 6144, 4096)), "192x112");
  for (const char* kind : {"fold", "tree"}) {
    GemmArguments g = arguments({267, 6144, 4096});
    g.reduction = {kind[0] == 'f' ? ReductionKind::fold : ReductionKind::tree, 512};
    EXPECT_EQ(name(geometry_of(choose(g, 132, -1).decision)), "192x80") << kind;
  }
}

/// Weights on the x side: 73 x 3072 x 2048 took 6.3 us so, 7.0 else. From 512 tokens on it costs up
/// to 1 % more power: 1274 x 8192 x 8192, 253.6 us beside 252.2.
TEST(Sm90Predict, ManyTokensLieOnTheXSide) {
  EXPECT_TRUE(choose(arguments({73, 3072, 2048}), 132, -1).decision.swapped);
  EXPECT_FALSE(choose(arguments({1274, 8192, 8192}), 132, -1).decision.swapped);
}

/// Where all tiles run in one wave, it costs nothing to have the weights on the x side.
TEST(Sm90Predict, SidesAreEqualInOneWave) {
  const Geometry t = geometry::tile(1, 1, 96);
  const double ratio = swapped(t, 192, 4096, 4096) / straight(t, 192, 4096, 4096);
  EXPECT_NEAR(ratio, 14.3 / 14.8, 0.04);
}

}  // namespace
}  // namespace detgemm::test
