// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What detgemm tune makes of times: which kernel gets a row, and for which M.

#include "bench/suite/tune.hpp"

#include <gtest/gtest.h>

#include "backends/skeleton/skeleton.hpp"
#include "bench/suite/options.hpp"

namespace detgemm::bench {
namespace {

/// Five samples around a time.
ArmResult arm(const std::string& name, const std::string& variant, double us, double spread = 0) {
  ArmResult result;
  result.name = name;
  result.role = Role::detgemm;
  result.variant = variant;
  result.us = summarise({us - spread, us, us, us, us + spread});
  return result;
}

/// M tokens: what the library chose takes `chosen`, and kernels x and y take these.
CaseResult timed(std::int64_t m, double chosen, double x, double y, double spread = 0) {
  CaseResult result;
  result.what.id = "own/m" + std::to_string(m);
  result.what.problem.tokens = m;
  result.what.problem.n = 4096;
  result.what.problem.k = 4096;
  const Contract contract = *Contract::parse("hopper/bf16/chain->bf16");
  for (const char* variant : {"", "x", "y"}) {
    const std::string name = std::string("chain") + (*variant == 0 ? "" : "@") + variant;
    result.what.contract_arms.push_back({name, contract, Stable::b, variant});
  }
  result.arms = {arm("chain", "", chosen, spread), arm("chain@x", "x", x, spread),
                 arm("chain@y", "y", y, spread)};
  return result;
}

std::string text_of(const std::vector<TunedProduct>& products) {
  std::string text;
  for (const TunedProduct& p : products) {
    for (const TunedRange& r : p.ranges) {
      text += std::to_string(r.first_m) + ".." + std::to_string(r.last_m) + " " + r.kernel + ", ";
    }
  }
  return text;
}

TEST(Tune, TheFastestKernelThatWinsIsTimedAgain) {
  const Case again = winners_of(timed(8, 10, 9.5, 9));
  ASSERT_EQ(again.contract_arms.size(), 2U);
  EXPECT_EQ(again.contract_arms[0].name, "chain");
  EXPECT_EQ(again.contract_arms[1].variant, "y");
  EXPECT_TRUE(winners_of(timed(8, 10, 10, 9.95)).contract_arms.empty());    // by less than 1 %
  EXPECT_TRUE(winners_of(timed(8, 10, 10, 9.5, 1)).contract_arms.empty());  // within the noise
}

TEST(Tune, RowsCoverWhatWasMeasured) {
  // x wins at 16 and 24, nothing at 64, y at 128; at 256 x won the first look alone.
  const std::vector<CaseResult> first = {timed(8, 9, 9, 9),      timed(16, 10, 9, 9.5),
                                         timed(24, 10, 9, 9.5),  timed(64, 10, 10, 10),
                                         timed(128, 12, 12, 11), timed(256, 20, 19, 20)};
  std::vector<CaseResult> again = {first[1], first[2], first[4], timed(256, 20, 20, 20)};
  EXPECT_EQ(text_of(tuned_products(first, again)), "9..16 x, 17..24 x, 121..128 y, ");
  EXPECT_TRUE(tuned_products(first, {}).empty());
  // Another product has rows of its own.
  CaseResult other = timed(16, 10, 9, 9.5);
  other.what.problem.n = 1024;
  again.push_back(other);
  const auto both = tuned_products({first[0], first[1], other}, {first[1], other});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].n, 1024);
  EXPECT_EQ(both[0].op_b, Op::transpose);
  EXPECT_EQ(text_of(both), "9..16 x, 9..16 x, ");
}

TEST(Tune, FarApartValuesShareAKernelOnlyWhereItWonAtBoth) {
  const std::vector<CaseResult> all = {timed(512, 10, 9, 9.5), timed(1024, 10, 9, 9.5),
                                       timed(2048, 10, 9.5, 9)};
  EXPECT_EQ(text_of(tuned_products(all, all)), "505..512 x, 513..1024 x, 2041..2048 y, ");
}

TEST(Tune, ABackendWithoutChoicesIsRefused) {
  std::vector<Case> cases = {timed(8, 9, 9, 9).what};
  EXPECT_THROW(add_candidates(skeleton_backend(), 6, cases), std::invalid_argument);
  EXPECT_THROW(add_tuned_arms(skeleton_backend(), "/nowhere", cases), std::invalid_argument);
  add_tuned_arms(skeleton_backend(), "", cases);
  EXPECT_EQ(cases[0].contract_arms.size(), 3U);
}

TEST(Tune, Options) {
  const Options tune = parse_options({"tune", "--n", "64", "--k", "64", "--out", "x.tuning"});
  EXPECT_EQ(tune.task, Task::tune);
  EXPECT_EQ(tune.candidates, 6);
  EXPECT_EQ(tune.tokens.front(), 1);
  EXPECT_EQ(tune.tokens.back(), 8192);
  EXPECT_EQ(parse_options({"calibrate"}).task, Task::calibrate);
  EXPECT_THROW(parse_options({"tune", "--n", "64", "--k", "64"}), std::invalid_argument);
  EXPECT_THROW(parse_options({"--out", "x"}), std::invalid_argument);
  EXPECT_THROW(parse_options({"tune", "--out", "x", "--candidates", "0"}), std::invalid_argument);
}

}  // namespace
}  // namespace detgemm::bench
