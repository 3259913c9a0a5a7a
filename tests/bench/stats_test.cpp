// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/common/stats.hpp"

#include <gtest/gtest.h>

#include <random>

namespace detgemm::bench {
namespace {

TEST(Stats, MedianAndPercentiles) {
  const Stats s = summarise({5, 1, 2, 4, 3, 6, 7, 8, 9, 10, 11});
  EXPECT_DOUBLE_EQ(s.median, 6);
  EXPECT_DOUBLE_EQ(s.p10, 2);
  EXPECT_DOUBLE_EQ(s.p90, 10);
  EXPECT_EQ(s.samples, 11);
  EXPECT_DOUBLE_EQ(s.noise(), 8.0 / 6.0);
  EXPECT_DOUBLE_EQ(summarise({1, 3}).median, 2);
  EXPECT_EQ(summarise({}).samples, 0);
  EXPECT_DOUBLE_EQ(summarise({}).noise(), 0);
}

TEST(Compare, DriftThatHitsBothArmsCancels) {
  std::vector<double> own;
  std::vector<double> baseline;
  for (int i = 0; i < 9; ++i) {
    const double clock = 1 + 0.2 * i;
    own.push_back(10 * clock);
    baseline.push_back(11 * clock);
  }
  const Comparison c = compare_paired(own, baseline);
  EXPECT_NEAR(c.ratio, 1.1, 1e-12);
  EXPECT_EQ(c.verdict, "faster");
}

TEST(Compare, Verdicts) {
  const std::vector<double> ten(9, 10.0);
  EXPECT_EQ(compare_paired(ten, std::vector<double>(9, 9.0)).verdict, "slower");
  EXPECT_EQ(compare_paired(ten, {9.9, 10.1, 9.9, 10.1, 9.95, 10.05, 10, 10, 10}).verdict, "equal");
  EXPECT_EQ(compare_paired(ten, {5, 30, 5, 30, 5, 30, 5, 30, 5}).verdict, "inconclusive");
  EXPECT_EQ(compare_paired({10, 10}, {20, 20}).verdict, "inconclusive") << "two samples";
  EXPECT_EQ(compare_paired({}, {}).verdict, "inconclusive");
  EXPECT_EQ(compare_paired({0, 0, 0}, {1, 1, 1}).verdict, "inconclusive") << "no times";
}

TEST(Compare, TheIntervalHoldsTheMedianOfEqualArms) {
  // Of 1,000 experiments of 11 pairs without a difference, at most 5 % may call one.
  std::mt19937 engine(1);
  std::normal_distribution<double> noise(1, 0.01);
  int called = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> own;
    std::vector<double> baseline;
    for (int j = 0; j < 11; ++j) {
      own.push_back(10 * noise(engine));
      baseline.push_back(10 * noise(engine));
    }
    const Comparison c = compare_paired(own, baseline);
    EXPECT_NE(c.verdict, "inconclusive");
    called += c.verdict != "equal" ? 1 : 0;
  }
  EXPECT_LT(called, 50);
  EXPECT_GT(called, 0) << "an interval that always holds decides nothing";
}

}  // namespace
}  // namespace detgemm::bench
