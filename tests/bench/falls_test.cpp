// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/falls.hpp"

#include <gtest/gtest.h>

#include "bench/suite/console.hpp"

namespace detgemm::bench {
namespace {

ArmResult timed(const std::string& name, double us, double spread = 0.01) {
  ArmResult arm;
  arm.name = name;
  arm.role = Role::detgemm;
  arm.us = {us, us * (1 - spread), us * (1 + spread), 5};
  return arm;
}

/// A curve of one arm over the multiples of 16 up to 160; `us(m)` is its time.
std::vector<CaseResult> curve(const std::function<double(std::int64_t)>& us) {
  std::vector<CaseResult> results;
  for (std::int64_t m = 16; m <= 160; m += 16) {
    CaseResult& r = results.emplace_back();
    r.what.model = "m";
    r.what.layer = "a";
    r.what.problem.tokens = m;
    r.arms = {timed("chain", us(m))};
  }
  return results;
}

TEST(Falls, ATimeThatOnlyGrowsNeverFalls) {
  const auto falls = find_falls(curve([](std::int64_t m) { return 10.0 + m; }));
  ASSERT_EQ(falls.size(), 1U);
  EXPECT_LT(falls[0].ratio, 1);
  EXPECT_NE(text_of(falls[0]).find("never falls"), std::string::npos);
}

TEST(Falls, TheLargestFallIsFoundAndNamed) {
  const auto falls = find_falls(curve([](std::int64_t m) {
    return m == 48 ? 18.0 : m == 96 ? 30.0 : m == 144 ? 12.0 : 15.0;
  }));
  ASSERT_EQ(falls.size(), 1U);
  EXPECT_DOUBLE_EQ(falls[0].ratio, 2.5);
  EXPECT_EQ(falls[0].m, 96);
  EXPECT_EQ(falls[0].later_m, 144);
  EXPECT_EQ(falls[0].points, 10);
  EXPECT_TRUE(falls[0].certain);
  EXPECT_EQ(
      text_of(falls[0]),
      "m/a/forward/bf16/chain, 10 values of M: the time falls by a factor of 2.500 from M = 96 "
      "(30.00 us) to M = 144 (12.00 us)");
}

TEST(Falls, OnlySixtyFourFurtherOnCounts) {
  const auto falls = find_falls(curve([](std::int64_t m) {
    return m == 16 ? 100.0 : m > 80 ? 10.0 : 100.0;
  }));
  ASSERT_EQ(falls.size(), 1U);
  EXPECT_EQ(falls[0].m, 32) << "96 is 80 further on than 16";
  EXPECT_EQ(falls[0].later_m, 96);
}

TEST(Falls, WithinTheNoiseAreNotCertain) {
  auto results = curve([](std::int64_t m) { return m == 96 ? 10.4 : 10.0; });
  for (CaseResult& r : results) r.arms[0].us.p90 = 1.1 * r.arms[0].us.median;
  const auto falls = find_falls(results);
  ASSERT_EQ(falls.size(), 1U);
  EXPECT_NEAR(falls[0].ratio, 1.04, 1e-9);
  EXPECT_FALSE(falls[0].certain);
}

TEST(Falls, CurvesAreApartByArmAndByAllButM) {
  auto results = curve([](std::int64_t) { return 10.0; });
  for (CaseResult& r : results) {
    r.arms.push_back(timed("vendor", r.what.problem.tokens == 64 ? 40 : 20));
    r.arms.push_back(timed("read", r.what.problem.tokens == 64 ? 40 : 20));
    r.arms[2].role = Role::ceiling;
  }
  auto other = curve([](std::int64_t m) { return m == 32 ? 60.0 : 20.0; });
  for (CaseResult& r : other) {
    r.what.layer = "b";
    results.push_back(r);
  }
  results.resize(results.size() - 3);  // seven points are no curve
  const auto falls = find_falls(results);
  ASSERT_EQ(falls.size(), 2U);
  EXPECT_DOUBLE_EQ(falls[0].ratio, 1);
  EXPECT_DOUBLE_EQ(falls[1].ratio, 2);
  EXPECT_EQ(falls[1].arm, "vendor");
}

TEST(Console, RatesBelowOneTeraflopAreGiga) {
  EXPECT_EQ(text_of_rate(7.5e14), "750.000 TFLOP/s");
  EXPECT_EQ(text_of_rate(2.5e8), "0.250 GFLOP/s");
  EXPECT_EQ(text_of_rate(9.99e11), "999.000 GFLOP/s");
}

TEST(Console, WhatWasNotMeasuredIsSaidToBeSo) {
  Ceilings c;
  EXPECT_EQ(text_of(c), "copy not measured, read not measured, arithmetic not measured");
  c.copy_bytes_per_s = 2e9;
  c.flops = {{"fp32", 5e10}};
  EXPECT_EQ(text_of(c), "copy 2e+09 B/s, read not measured, fp32 5e+10 FLOP/s");
}

}  // namespace
}  // namespace detgemm::bench
