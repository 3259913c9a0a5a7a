// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/options.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/suite/values.hpp"

namespace detgemm::bench {
namespace {

using Values = std::vector<std::int64_t>;

template <class Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

std::string option_complaint(const std::vector<std::string>& arguments) {
  return complaint([&] { parse_options(arguments); });
}

std::string value_complaint(const std::string& text) {
  return complaint([&] { parse_values("--m", text, 7); });
}

TEST(Values, AreNumbersAndRangesEachOnce) {
  EXPECT_EQ(parse_values("--m", "1,64,65", 7), (Values{1, 64, 65}));
  EXPECT_EQ(parse_values("--m", "1:20:8", 7), (Values{1, 9, 17}));
  EXPECT_EQ(parse_values("--m", "3:5,4,1", 7), (Values{3, 4, 5, 1}));
  EXPECT_EQ(parse_values("--m", "1:512:8", 7).size(), 64U);
}

TEST(Values, ThatAreWrongAreRefusedInASentence) {
  EXPECT_EQ(value_complaint("0"), "--m is \"0\": it must be a whole number from 1 to 16777216");
  EXPECT_EQ(value_complaint("1,x"), "--m is \"x\": it must be a whole number from 1 to 16777216");
  EXPECT_EQ(value_complaint("1:99999999"),
            "--m is \"99999999\": it must be a whole number from 1 to 16777216");
  EXPECT_EQ(value_complaint("1,:"), "--m is \":\": it must be a list such as 1,64,65 or 1:512:8");
  EXPECT_EQ(value_complaint("9:3"),
            "--m is \"9:3\": it must be LOW:HIGH:STEP with LOW no larger than HIGH");
  EXPECT_EQ(value_complaint("1:2:3:4"), "--m is \"1:2:3:4\": it must be LOW:HIGH:STEP");
  EXPECT_EQ(value_complaint("1:9000"),
            "--m is \"1:9000\": it must be a range of at most 4096 numbers");
  EXPECT_EQ(value_complaint("random:1:5"),
            "--m is \"random:1:5\": it must be random:LOW:HIGH:COUNT where it begins with random");
  EXPECT_EQ(
      value_complaint("random:9:5:2"),
      "--m is \"random:9:5:2\": it must be random:LOW:HIGH:COUNT with LOW no larger than HIGH");
  EXPECT_EQ(
      value_complaint("random:1:9:8"),
      "--m is \"random:1:9:8\": it must be random:LOW:HIGH:COUNT with a COUNT of at most half "
      "of the numbers from LOW to HIGH");
  EXPECT_EQ(value_complaint(","),
            "--m is \",\": it must be a list such as 1,64,65 or 1:512:8 or random:1:8192:40");
}

TEST(Values, DrawnWithOneSeedAreTheSameAndWithAnotherOthers) {
  const Values seven = parse_values("--m", "random:1:8192:40", 7);
  EXPECT_EQ(seven.size(), 40U);
  EXPECT_EQ(seven, parse_values("--m", "random:1:8192:40", 7));
  EXPECT_NE(seven, parse_values("--m", "random:1:8192:40", 8));
  EXPECT_NE(seven, parse_values("--n", "random:1:8192:40", 7)) << "M and N are drawn apart";
  for (const std::int64_t m : seven) EXPECT_TRUE(m >= 1 && m <= 8192) << m;
}

/// 2^6.5 halves the logarithm of 1 to 8192; a draw that is uniform in the number itself has one in
/// ninety below it.
TEST(Values, AreUniformInTheLogarithm) {
  Draws draws(1);
  int small = 0;
  for (int i = 0; i < 1000; ++i) small += draws.log_uniform(1, 8192) <= 90 ? 1 : 0;
  EXPECT_GT(small, 440);
  EXPECT_LT(small, 560);
}

TEST(Options, AreRead) {
  const Options o = parse_options({"--backend", "cpu", "--m=1,16", "--quick", "--fact", "a=b=c"});
  EXPECT_EQ(o.backend, "cpu");
  EXPECT_EQ(o.tokens, (Values{1, 16}));
  EXPECT_TRUE(o.quick && o.batch_property);
  EXPECT_FALSE(o.drawn || o.own.asked());
  EXPECT_EQ(o.facts[0], (std::pair<std::string, std::string>{"a", "b=c"}));
}

TEST(Options, OfOwnCasesAreRead) {
  const Options o =
      parse_options({"--n", "64:128:64", "--k=512", "--m", "random:1:99:3", "--kind", "dA,dB",
                     "--epilogue", "bias,beta", "--contract", "chain,tree+stable", "--mode",
                     "burst", "--seed", "9", "--variants", "64x*,all", "--no-batch"});
  EXPECT_EQ(o.own.n, (Values{64, 128}));
  EXPECT_EQ(o.own.k, (Values{512}));
  EXPECT_EQ(o.tokens, parse_values("--m", "random:1:99:3", 9)) << "the seed may come later";
  EXPECT_TRUE(o.drawn && o.own.asked());
  EXPECT_EQ(o.own.kinds, (std::vector<std::string>{"dA", "dB"}));
  EXPECT_EQ(o.own.extras, (std::vector<std::string>{"bias", "beta"}));
  EXPECT_EQ(o.own.contracts, (std::vector<std::string>{"chain", "tree+stable"}));
  EXPECT_EQ(o.own.mode, "burst");
  EXPECT_EQ(o.variants, (std::vector<std::string>{"64x*", "all"}));
  EXPECT_FALSE(o.batch_property);
}

TEST(Options, ThatAreWrongAreRefusedInASentence) {
  EXPECT_EQ(option_complaint({"--backend", "gpu"}),
            "--backend is \"gpu\": it must be cpu, cuda or hip");
  EXPECT_EQ(option_complaint({"--m", "0"}),
            "--m is \"0\": it must be a whole number from 1 to 16777216");
  EXPECT_EQ(option_complaint({"--n="}),
            "--n is \"\": it must be a list such as 1,64,65 or 1:512:8");
  EXPECT_EQ(option_complaint({"--seconds", "nan"}),
            "--seconds is \"nan\": it must be a positive number of seconds");
  EXPECT_EQ(option_complaint({"--kind", "backward"}),
            "--kind is \"backward\": it must be a list of forward, dA and dB");
  EXPECT_EQ(option_complaint({"--mode", "fast"}),
            "--mode is \"fast\": it must be auto, stream, burst or settled");
  EXPECT_EQ(option_complaint({"--draw", "0"}),
            "--draw is \"0\": it must be a whole number from 1 to 4096");
  EXPECT_NE(option_complaint({"--seed", "-1"}).find("--seed is \"-1\": it must be a whole number"),
            std::string::npos);
  EXPECT_EQ(option_complaint({"--layers", ","}),
            "--layers is \",\": it must be a list of names separated by commas");
  EXPECT_EQ(option_complaint({"--json"}), "--json needs a value");
  EXPECT_EQ(option_complaint({"--quick=1"}), "--quick takes no value");
  EXPECT_EQ(option_complaint({"--fact", "x"}), "--fact is \"x\": it must be KEY=VALUE");
  EXPECT_EQ(option_complaint({"-z"}), "option is \"-z\": see detgemm bench --help");
  EXPECT_NE(option_complaint({"--suite", "sweep", "--draw", "4"}).find("--suite is for the cases"),
            std::string::npos);
}

}  // namespace
}  // namespace detgemm::bench
