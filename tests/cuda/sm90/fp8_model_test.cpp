// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The chooser of the e4m3 kernels against what was measured on an H200
// (bench/results/2026-11-23-h200-fp8.md).
#include <gtest/gtest.h>

#include "cuda/fp8/launch.hpp"
#include "cuda/sm90/fp8/model.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr Reduction kScaled{ReductionKind::scaled, 128}, kFold{ReductionKind::fold, 128}, kChain{};

/// Row-major A, W and D, with scales of 1 x 128 and 128 x 128; nothing is read.
Fp8Arguments product(std::int64_t m, std::int64_t n, std::int64_t k, const Reduction& reduction) {
  Fp8Arguments p;
  p.g.a = p.g.b = reinterpret_cast<const void*>(4096);
  p.g.d = reinterpret_cast<void*>(8192);
  p.g.m = m, p.g.n = n, p.g.k = k;
  p.g.as = {k, 1};
  p.g.bs = {1, k};
  p.g.ds = {n, 1};
  p.g.output = DType::bf16;
  p.g.reduction = reduction;
  if (reduction.kind != ReductionKind::scaled) return p;
  const auto* scales = reinterpret_cast<const void*>(16384);
  const std::int64_t leaves = k / 128;
  p.scales.a = {scales, 1, leaves, 1, ScaleType::fp32};
  p.scales.b = {scales, 128, leaves, 1, ScaleType::fp32};
  return p;
}

Fp8Decision chosen(const Fp8Arguments& p) {
  LaunchOptions options;
  options.sms = 132;
  const auto d = decide_fp8(p, options);
  EXPECT_TRUE(d.ok());
  return *d;
}

double time_of(const Fp8Arguments& p, const Fp8Decision& d) {
  const Geometry& t = kFp8Geometries[static_cast<std::size_t>(d.geometry)];
  return predicted_fp8_time(t, d.join, p.g, d.swapped, 132);
}

struct Measured {
  std::int64_t m, n, k;
  const char* best;
  double us;
};

/// The best tile of `scaled` at every size that was measured with all tiles.
constexpr Measured kBest[] = {
    {64, 2112, 7168, "64x16", 16.8},     {100, 2112, 7168, "64x32", 17.5},
    {128, 2112, 7168, "64x32", 17.6},    {4096, 2112, 7168, "128x192", 162.3},
    {64, 24576, 1536, "64x128", 14.7},   {100, 24576, 1536, "128x192", 15.7},
    {128, 24576, 1536, "128x192", 15.6}, {4096, 24576, 1536, "128x128", 336.3},
    {64, 32768, 512, "64x128", 8.8},     {100, 32768, 512, "128x128", 9.7},
    {128, 32768, 512, "128x128", 10.0},  {4096, 32768, 512, "128x128", 182.6},
    {64, 7168, 16384, "64x64", 43.1},    {100, 7168, 16384, "64x128", 52.6},
    {128, 7168, 16384, "64x128", 52.7},  {4096, 7168, 16384, "128x128", 1022.1},
    {64, 4096, 7168, "64x32", 17.8},     {100, 4096, 7168, "64x64", 19.5},
    {128, 4096, 7168, "64x64", 19.5},    {4096, 4096, 7168, "128x128", 267.0},
    {64, 7168, 2048, "64x64", 7.7},      {100, 7168, 2048, "64x128", 8.3},
    {128, 7168, 2048, "64x128", 8.2},    {4096, 7168, 2048, "128x128", 136.6},
};

/// The choice for a measured product, which must be its best tile.
Fp8Decision best_chosen(const Measured& c, const Fp8Arguments& p) {
  const Fp8Decision d = chosen(p);
  EXPECT_EQ(name(kFp8Geometries[static_cast<std::size_t>(d.geometry)]), c.best)
      << c.m << " x " << c.n << "x" << c.k;
  return d;
}

TEST(Fp8Model, TheBestTileIsChosen) {
  for (const Measured& c : kBest) {
    const Fp8Arguments p = product(c.m, c.n, c.k, kScaled);
    const Fp8Decision d = best_chosen(c, p);
    EXPECT_NEAR(time_of(p, d) / c.us, 1, 0.1) << c.m << " x " << c.n << "x" << c.k;
  }
}

/// As far as the sizes part the tiles of `fold`, each of which was timed.
TEST(Fp8Model, TheBestTileOfAFoldIsChosen) {
  constexpr Measured kBestFold[] = {
      {64, 2112, 7168, "64x16", 11.7},      {100, 24576, 1536, "128x192", 14.5},
      {128, 7168, 16384, "128x64", 39.4},   {128, 7168, 2048, "128x64", 7.5},
      {4096, 2112, 7168, "128x192", 116.1}, {4096, 24576, 1536, "128x192", 271.7},
      {4096, 32768, 512, "128x192", 163.8}, {4096, 7168, 16384, "128x128", 777.1},
      {4096, 4096, 7168, "128x128", 197.3}, {4096, 7168, 2048, "128x128", 110.6},
  };
  for (const Measured& c : kBestFold) best_chosen(c, product(c.m, c.n, c.k, kFold));
}

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
              return predicted_fp8_time(t, join, product(m, n, k, reduction).g, swapped, 132);
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
      const Fp8Arguments p = product(m, 7168, 2048, reduction);
      const double now = time_of(p, chosen(p));
      EXPECT_GE(now, last) << m;
      last = now;
    }
  }
}

/// At 4096 x 7168 x 16384 the chain took 793 us, the fold 883 and `scaled` 1022.
TEST(Fp8Model, JoinsCostWhatTheyDid) {
  const auto time = [](const Reduction& reduction, Join join, const Geometry& t) {
    return predicted_fp8_time(t, join, product(4096, 7168, 16384, reduction).g, false, 132);
  };
  const Geometry large = geometry::tile(2, 1, 128);
  EXPECT_NEAR(time(kChain, Join::add, geometry::tile(2, 1, 192)) / 793.1, 1, 0.06);
  EXPECT_NEAR(time(kFold, Join::add, large) / 882.6, 1, 0.06);
  EXPECT_NEAR(time(kScaled, Join::one, large) / 1022.1, 1, 0.06);
  EXPECT_GT(time(kScaled, Join::columns, large), time(kScaled, Join::one, large));
  // Longer leaves join more rarely.
  EXPECT_LT(time({ReductionKind::scaled, 512}, Join::one, large), time(kScaled, Join::one, large));
}

}  // namespace
}  // namespace detgemm::cuda::sm90
