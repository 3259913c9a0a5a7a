// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The chooser of the e4m3 kernels against what was measured on an H200
// (bench/results/2026-11-23-h200-fp8.md).
#include "cuda/sm90/host/fp8_model.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "cuda/families.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr Reduction kScaled{ReductionKind::scaled, 128}, kFold{ReductionKind::fold, 128}, kChain{};

/// Row-major A, W and D, with scales of 1 x 128 and 128 x 128; nothing is read.
Problem product(std::int64_t m, std::int64_t n, std::int64_t k, const Reduction& reduction) {
  Problem p;
  p.input = DType::e4m3;
  p.gemms.all.a = p.gemms.all.b = reinterpret_cast<const void*>(4096);
  p.gemms.all.d = reinterpret_cast<void*>(8192);
  p.gemms.all.m = m, p.gemms.all.n = n, p.gemms.all.k = k;
  p.gemms.all.as = {k, 1};
  p.gemms.all.bs = {1, k};
  p.gemms.all.ds = {n, 1};
  p.gemms.all.output = DType::bf16;
  p.gemms.all.reduction = reduction;
  if (reduction.kind != ReductionKind::scaled) return p;
  const auto* scales = reinterpret_cast<const void*>(16384);
  const std::int64_t leaves = k / 128;
  p.scales.a = {scales, 1, leaves, 1, ScaleType::fp32};
  p.scales.b = {scales, 128, leaves, 1, ScaleType::fp32};
  return p;
}

Decision chosen(const Problem& p) {
  LaunchOptions options;
  options.sms = 132;
  const auto d = decide(p, options);
  EXPECT_TRUE(d.ok());
  return *d;
}

double time_of(const Problem& p, const Decision& d) {
  const Geometry& t = kFp8Geometries[static_cast<std::size_t>(d.kernel)];
  return predicted_fp8_time(t, d.join, p.g(), d.swapped, 132);
}

/// The tiles that took at most 9 % longer than the best one, best first, of every tile timed.
struct Measured {
  std::int64_t m, n, k;
  const char* good;
  double us;  ///< of the best one
};
constexpr Measured kScaledTimes[] = {
    {4, 768, 512, "64x16 64x32 64x64", 2.1},
    {8, 832, 4736, "64x16 64x32", 6.7},
    {383, 1024, 8192, "64x64", 13.2},
    {2, 1280, 2176, "64x16 64x32", 4.2},
    {11, 1472, 3456, "64x16 64x32", 5.6},
    {619, 1536, 7168, "64x128 128x64", 15.8},
    {1406, 1856, 1280, "128x192 128x192-pair-y", 9.4},
    {8, 2048, 6144, "64x16 64x32", 8.6},
    {64, 2112, 7168, "64x16 64x32", 9.7},
    {4096, 2112, 7168, "128x192 128x192-pair-y", 102.0},
    {147, 2304, 1152, "64x64", 4.1},
    {7140, 3072, 1536, "128x192 128x192-pair-y", 60.3},
    {64, 4096, 7168, "64x32 64x64", 11.2},
    {4096, 4096, 7168, "256x128 256x128-pair-y 128x128", 184.4},
    {87, 4096, 14336, "64x64", 23.1},
    {246, 4096, 14336, "64x128 128x64", 30.9},
    {416, 4096, 14336, "128x128", 50.0},
    {17, 4736, 12416, "64x64", 19.8},
    {494, 5120, 2048, "128x192 128x192-pair-y", 12.4},
    {14, 5248, 15104, "64x64", 23.9},
    {7, 6144, 2560, "64x64 64x128", 6.9},
    {105, 6144, 2560, "64x128 128x64", 8.3},
    {4, 6848, 13824, "64x64 64x128", 27.2},
    {64, 7168, 2048, "64x64 64x128", 6.5},
    {4096, 7168, 2048, "256x128 256x128-pair-y 128x192", 100.0},
    {64, 7168, 16384, "64x128 64x64 128x64", 34.6},
    {4096, 7168, 16384, "256x128 256x128-pair-y 128x192", 723.0},
    {116, 7168, 18432, "64x128 128x64", 42.6},
    {260, 8192, 4096, "128x192", 22.7},
    {5112, 8384, 5248, "256x128 256x128-pair-y 128x192 128x192-pair-y 128x128", 339.9},
    {2067, 18432, 7168, "128x192 256x128 128x128 128x192-pair-y", 446.4},
    {64, 24576, 1536, "64x64 128x192 64x128", 12.9},
    {4096, 24576, 1536, "256x128 128x192 128x192-pair-y 256x128-pair-y 128x128", 267.0},
    {5341, 24576, 3072, "128x192-pair-y 128x192 256x128 256x128-pair-y 128x128", 636.1},
    {3133, 28672, 4096, "128x192 256x128 128x192-pair-y 128x128", 585.9},
    {3422, 28672, 4096, "128x192 256x128 128x192-pair-y 256x128-pair-y 128x128", 632.0},
    {64, 32768, 512, "64x128 128x128", 8.2},
    {4096, 32768, 512, "256x128 256x128-pair-y 128x192 128x192-pair-y", 155.5},
};
constexpr Measured kFoldTimes[] = {
    {64, 2112, 7168, "64x16 64x32", 9.5},
    {100, 2112, 7168, "64x32", 10.2},
    {128, 2112, 7168, "64x32", 10.2},
    {4096, 2112, 7168, "128x192 128x192-pair-x 128x192-pair-y 128x112", 101.8},
    {64, 24576, 1536, "64x64 128x96 128x64 128x192 64x128", 13.3},
    {100, 24576, 1536, "128x96 128x192 128x64", 14.3},
    {128, 24576, 1536, "128x96 128x192 128x64 128x192-pair-x", 14.5},
    {4096, 24576, 1536, "256x128 256x128-pair-y 256x128-pair-x 128x192", 264.0},
    {64, 32768, 512, "128x64 64x128 256x128", 8.3},
    {100, 32768, 512, "256x128 128x128 256x128-pair-y", 9.4},
    {128, 32768, 512, "128x128 256x128 256x128-pair-y", 9.9},
    {4096, 32768, 512, "256x128 256x128-pair-y 256x128-pair-x", 153.1},
    {64, 7168, 16384, "64x128 64x64 128x64", 33.1},
    {100, 7168, 16384, "128x64 128x96", 35.5},
    {128, 7168, 16384, "128x64 128x96 64x128", 37.9},
    {4096, 7168, 16384,
     "128x128 256x128 128x128-pair-y 128x128-pair-x 256x128-pair-y 256x128-pair-x 128x192", 699.5},
    {64, 4096, 7168, "64x32 64x64", 11.0},
    {100, 4096, 7168, "64x64", 12.8},
    {128, 4096, 7168, "64x64", 12.9},
    {4096, 4096, 7168,
     "128x128 256x128-pair-x 256x128-pair-y 256x128 128x128-pair-x 128x128-pair-y", 178.6},
    {64, 7168, 2048, "64x64 128x64 64x128", 6.7},
    {100, 7168, 2048, "128x64 64x128", 7.2},
    {128, 7168, 2048, "128x64 64x128", 7.4},
    {4096, 7168, 2048,
     "256x128 256x128-pair-x 256x128-pair-y 128x128 128x128-pair-x 128x128-pair-y", 101.7},
};

void expect_good_choices(std::span<const Measured> times, const Reduction& reduction) {
  for (const Measured& c : times) {
    const Problem p = product(c.m, c.n, c.k, reduction);
    const Decision d = chosen(p);
    const std::string tile = name(kFp8Geometries[static_cast<std::size_t>(d.kernel)]);
    EXPECT_NE((" " + std::string(c.good) + " ").find(" " + tile + " "), std::string::npos)
        << c.m << " x " << c.n << "x" << c.k << ": " << tile;
    EXPECT_NEAR(time_of(p, d) / c.us, 1, 0.2) << c.m << " x " << c.n << "x" << c.k;
  }
}
TEST(Fp8Model, AGoodTileOfScaledIsChosen) { expect_good_choices(kScaledTimes, kScaled); }
TEST(Fp8Model, AGoodTileOfAFoldIsChosen) { expect_good_choices(kFoldTimes, kFold); }

/// Of any tile, with any join, either way round; and so of the chosen one.
TEST(Fp8Model, MoreOfAnExtentNeverTakesLess) {
  const std::int64_t rows[] = {1,   15,  16,  17,  63,   64,   65,  100,
                               128, 129, 200, 256, 1000, 4096, 9000};
  for (const Geometry& t : kFp8Geometries) {
    for (const Reduction& reduction : {kScaled, kFold, kChain}) {
      for (const Join join : {Join::add, Join::one, Join::columns}) {
        for (const bool swapped : {false, true}) {
          double by_m = 0, by_n = 0, by_k = 0;
          for (const std::int64_t at : rows) {
            const auto time = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
              return predicted_fp8_time(t, join, product(m, n, k, reduction).g(), swapped, 132);
            };
            const double m = time(at, 7168, 2048), n = time(300, at, 2048), k = time(300, 7168, at);
            EXPECT_GE(m, by_m) << name(t) << " " << at;
            EXPECT_GE(n, by_n) << name(t) << " " << at;
            EXPECT_GE(k, by_k) << name(t) << " " << at;
            by_m = m, by_n = n, by_k = k;
          }
        }
      }
    }
  }
  for (const Reduction& reduction : {kScaled, kFold, kChain}) {
    double last = 0;
    for (std::int64_t m = 1; m < 5000; m += 1 + m / 16) {
      const Problem p = product(m, 7168, 2048, reduction);
      const double now = time_of(p, chosen(p));
      EXPECT_GE(now, last) << m;
      last = now;
    }
  }
}

/// One group of whole tiles is a product, and more rows or groups never take less.
TEST(Fp8Model, GroupsArePricedAsTheirTiles) {
  const GemmArguments g = product(768, 7680, 2048, kScaled).g();
  for (const Geometry& t : kFp8Geometries) {
    if (t.cluster > 1 || 768 % t.x() != 0 || 7680 % t.n != 0) continue;
    const auto time = [&](std::int64_t rows, std::int64_t groups, bool spread) {
      return predicted_fp8_group_time(t, Join::one, g, rows, groups, spread, false, 132);
    };
    const double one = predicted_fp8_time(t, Join::one, g, false, 132);
    EXPECT_NEAR(time(768, 1, false) / one, 1, 1e-9) << name(t);
    for (const bool spread : {false, true}) {
      double by_rows = 0, by_groups = 0;
      for (const std::int64_t at : {1, 20, 64, 100, 192, 1024, 8192}) {
        const double rows = time(at, 8, spread), groups = time(100, at, spread);
        EXPECT_GE(rows, by_rows) << name(t) << " " << at;
        EXPECT_GE(groups, by_groups) << name(t) << " " << at;
        by_rows = rows, by_groups = groups;
      }
    }
  }
}

/// At 4096 x 7168 x 16384 the fold took 700 us with 128x128, and `scaled` 725 with 256x128.
TEST(Fp8Model, JoinsCostWhatTheyDid) {
  const auto time = [](const Reduction& reduction, Join join, const Geometry& t) {
    return predicted_fp8_time(t, join, product(4096, 7168, 16384, reduction).g(), false, 132);
  };
  const Geometry large = geometry::tile(2, 1, 128);
  EXPECT_NEAR(time(kFold, Join::add, large) / 699.5, 1, 0.06);
  EXPECT_NEAR(time(kScaled, Join::one, geometry::tile(2, 2, 128)) / 725.3, 1, 0.08);
  EXPECT_GT(time(kScaled, Join::columns, large), time(kScaled, Join::one, large));
  // Longer leaves join more rarely.
  EXPECT_LT(time({ReductionKind::scaled, 512}, Join::one, large), time(kScaled, Join::one, large));
}

/// The tiles that took at most 4 % longer than the best of all, of 128 experts of which each token
/// takes 8 (bench/results/2026-11-28-h200-experts.md).
constexpr Measured kSegmentTimes[] = {
    {8, 1536, 2048, "64x64 128x128", 27.7},      {64, 1536, 2048, "128x128 128x192", 67.3},
    {512, 1536, 2048, "128x128 128x192", 118.2}, {32768, 1536, 2048, "128x192", 288.1},
    {8, 2048, 768, "128x128 64x64", 21.2},       {64, 2048, 768, "128x128", 43.5},
    {512, 2048, 768, "128x128", 77.5},           {32768, 2048, 768, "128x128", 198.3},
};

TEST(Fp8Model, SegmentsTakeTheFastestTile) {
  for (const Measured& c : kSegmentTimes) {
    Problem p = product(c.m, c.n, c.k, kScaled);
    p.gemms.kind = GroupKind::m_grouped;
    p.gemms.groups = 128;
    p.gemms.a_bytes = 1;
    p.gemms.d_bytes = p.gemms.c_bytes = p.gemms.bias_bytes = 2;
    p.gemms.offsets = reinterpret_cast<const void*>(4096);
    p.gemms.distance.b = c.n * c.k;
    p.gemms.distance.scale_b = (c.n + 127) / 128 * (c.k / 128);
    const Decision d = chosen(p);
    ASSERT_EQ(d.family, Family::fp8_groups);
    const std::string tile = name(kFp8Geometries[static_cast<std::size_t>(d.kernel)]);
    EXPECT_NE((std::string(c.good) + " ").find(tile + " "), std::string::npos)
        << c.m << " x " << c.n << " x " << c.k << ": " << tile << (d.swapped ? "/swapped" : "");
  }
}

/// In bf16, with 256 rows each on average, 256x128 took 1.36 and 1.41 times as long as the best.
TEST(Fp8Model, SegmentsAsHighAsATileTakeNoTwoBlocksInBf16) {
  for (const auto& [n, k] : {std::pair{1536, 2048}, {2048, 768}}) {
    Problem p = product(32768, n, k, kChain);
    p.input = DType::bf16;
    p.gemms.kind = GroupKind::m_grouped;
    p.gemms.groups = 128;
    p.gemms.a_bytes = p.gemms.d_bytes = p.gemms.c_bytes = p.gemms.bias_bytes = 2;
    p.gemms.offsets = reinterpret_cast<const void*>(4096);
    p.gemms.distance.b = std::int64_t{n} * k;
    const std::string tile = name(chosen(p));
    EXPECT_NE(tile.find("/grouped"), std::string::npos) << tile;
    EXPECT_EQ(tile.find("256x128"), std::string::npos) << tile;
  }
}

}  // namespace
}  // namespace detgemm::cuda::sm90
