// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bench/suite/case.hpp"
#include "bench/suite/experiment.hpp"

namespace detgemm::bench {
namespace {

std::string complaint(std::string_view json, const CaseQuery& query = {"cpu"}) {
  try {
    read_cases(json, query);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

Baseline named(const char* name) {
  Baseline baseline;
  baseline.name = name;
  return baseline;
}

constexpr const char* kTable = R"({"schema": 1,
  "models": {"m": {"a": [64, 512], "b": [8, 16]}}, "sets": {"both": ["m/a", "m/b"]},
  "arms": {"chain": {"contract": "{native}/{dtype}/chain->{out}"},
           "tree": {"contract": "{native}/{dtype}/tree:{k/8}->{out}", "stable": "b"}},
  "suites": [
   {"name": "one", "on": ["cpu"], "layers": "both", "tokens": [1, 600], "arms": ["chain"],
    "quick": {"tokens": [1]}},
   {"name": "two", "on": ["cpu"], "layers": ["m/a"], "tokens": [1], "arms": ["chain", "tree"]},
   {"name": "gpu", "on": ["cuda"], "layers": ["m/a"], "tokens": "n", "arms": ["chain"],
    "dtypes": ["fp16"], "kinds": ["dB"], "accumulate": true}]})";

TEST(Cases, ACaseOfTwoSuitesComesOnceWithTheArmsOfBoth) {
  const auto cases = read_cases(kTable, {"cpu"});
  ASSERT_EQ(cases.size(), 4U);
  EXPECT_EQ(cases[0].id, "m/a/forward/m1/bf16");
  EXPECT_EQ(cases[0].suites, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(cases[0].contract_arms.size(), 2U);
  EXPECT_EQ(cases[0].contract_arms[1].contract.text(), "hopper/bf16/tree:64->bf16");
  EXPECT_EQ(cases[0].contract_arms[1].stable, Stable::b);
  EXPECT_EQ(cases[0].mode, Mode::stream);
  EXPECT_EQ(cases[1].mode, Mode::burst) << "600 tokens";
}

TEST(Cases, AValueOfTheWrongKindIsRefusedAndNotCut) {
  const auto table = [](const std::string& member, const char* shape = "[64, 512]") {
    return complaint(R"({"schema": 1, "models": {"m": {"a": )" + std::string(shape) +
                     R"(}}, "suites": [{"name": "one", "layers": ["m/a"], "arms": ["chain"], )" +
                     member + "}]}");
  };
  const std::string one = R"("tokens": [1])";
  EXPECT_EQ(table(one), "none");
  const std::map<std::string, std::string> wrong{
      {R"("tokens": [1.5])", "tokens is 1.5: it must be a whole number from 1 to 16777216"},
      {R"("tokens": [0])", "tokens is 0: it must be a whole number from 1"},
      {R"("tokens": [9223372036854775808])", "tokens is 9223372036854775808: it must be"},
      {R"("tokens": null)", "tokens is null: it must be a list of numbers"},
      {one + R"(, "threads": -5)", "threads is -5: it must be a whole number from 0 to 4096"},
      {one + R"(, "threads": 1099511627776)", "threads is 1099511627776: it must be"},
      {one + R"(, "repetitions": 2.5)", "repetitions is 2.5: it must be a whole number"},
      {one + R"(, "idle_ms": "long")", "idle_ms is \"long\": it must be a whole number"},
      {one + R"(, "hot": 1)", "hot is 1: it must be true or false"},
      {one + R"(, "toknes": [3])", "a suite has the key \"toknes\": it must be one of name"},
      {one + R"(, "quick": 5)", "quick is 5: it must be an object"},
      {one + R"(, "quick": {"m": [1]})", "a suite has the key \"m\""}};
  for (const auto& [member, said] : wrong) {
    EXPECT_NE(table(member).find(said), std::string::npos) << table(member);
  }
  for (const char* shape : {"[64.5, 512]", "[64]", "[64, 0]", "[64, 4611686018427387904]"}) {
    EXPECT_NE(table(one, shape).find(": it must be"), std::string::npos) << table(one, shape);
  }
}

TEST(Cases, ASmallKernelBeforeACallMakesAnotherCase) {
  constexpr const char* step = R"({"schema": 1, "models": {"m": {"a": [64, 512]}}, "suites": [
    {"name": "step", "layers": ["m/a"], "tokens": [1], "arms": ["chain"],
     "before": ["nothing", "own", "foreign"]}]})";
  const auto cases = read_cases(step, {"cpu"});
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[0].id, "m/a/forward/m1/bf16");
  EXPECT_EQ(cases[1].id, "m/a/forward/m1/bf16/own");
  EXPECT_EQ(cases[2].problem.before, Before::foreign);
  constexpr const char* wrong = R"({"schema": 1, "models": {"m": {"a": [64, 512]}}, "suites": [
    {"name": "step", "layers": ["m/a"], "tokens": [1], "arms": ["chain"], "before": ["ours"]}]})";
  EXPECT_EQ(complaint(wrong), "cases: before is \"ours\": it must be nothing, foreign or own");
}

TEST(Cases, ARefusalListsEachSuiteOnce) {
  constexpr const char* twice = R"({"schema": 1, "suites": [
    {"name": "both", "on": ["cuda"]}, {"name": "both", "on": ["cpu"]}, {"name": "one"}]})";
  EXPECT_NE(complaint(twice, {"cpu", Arithmetic::hopper, {"nope"}, {}, false})
                .find("suite is \"nope\": it must be one of both, one"),
            std::string::npos);
}

TEST(Cases, AQueryNarrowsAndReplaces) {
  EXPECT_EQ(read_cases(kTable, {"cpu", Arithmetic::hopper, {"two"}, {}, false}).size(), 1U);
  EXPECT_EQ(read_cases(kTable, {"cpu", Arithmetic::hopper, {}, {}, true}).size(), 2U);
  const auto other = read_cases(kTable, {"cpu", Arithmetic::cdna3, {"two"}, {7}, false});
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other[0].problem.tokens, 7);
  EXPECT_EQ(other[0].contract_arms[0].contract.text(), "cdna3/bf16/chain->bf16");
  const auto gpu = read_cases(kTable, {"cuda"});
  ASSERT_EQ(gpu.size(), 1U);
  EXPECT_EQ(gpu[0].id, "m/a/dB/m64/fp16/accumulate");
  EXPECT_EQ(gpu[0].contract_arms[0].contract.output, DType::fp32);
}

TEST(Cases, EpiloguesOfASuiteAreCasesOfTheirOwn) {
  const auto cases = read_cases(R"({"schema": 1, "suites": [{"name": "e", "layers": ["llama3-8b/o"],
    "tokens": [16], "epilogues": ["none", "bias", "beta", "bias+relu", "bias+gelu_tanh"],
    "arms": ["chain"]}]})",
                                {"cuda"});
  ASSERT_EQ(cases.size(), 5U);
  EXPECT_EQ(cases[0].id, "llama3-8b/o/forward/m16/bf16");
  EXPECT_EQ(cases[4].id, "llama3-8b/o/forward/m16/bf16/bias+gelu_tanh");
  const auto spec = [&](std::size_t i) {
    return spec_of(cases[i].problem, cases[i].contract_arms[0].contract);
  };
  EXPECT_FALSE(spec(0).bias.has_value());
  EXPECT_EQ(spec(1).bias, DType::bf16);
  EXPECT_EQ(spec(2).beta, 1.0F);
  EXPECT_FALSE(spec(2).bias.has_value());
  EXPECT_EQ(spec(3).activation, Activation::relu);
  EXPECT_EQ(spec(4).activation, Activation::gelu_tanh);
  EXPECT_NE(complaint(R"({"schema": 1, "suites": [{"name": "e", "layers": ["llama3-8b/o"],
    "tokens": [16], "epilogues": ["zap"], "arms": ["chain"]}]})",
                      {"cuda"})
                .find("epilogue is \"zap\": it must be none, bias"),
            std::string::npos);
}

TEST(Cases, AnArmMaySayWhichOperandsAreSnapped) {
  CaseQuery query{"cpu"};
  query.tokens = {3};
  query.own.n = query.own.k = {64};
  query.own.contracts = {"snap128", "snap128+b", "snap128+ab"};
  const auto cases = read_cases(built_in_cases(), query);
  ASSERT_EQ(cases.size(), 1U);
  const auto& arms = cases[0].contract_arms;
  ASSERT_EQ(arms.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(arms[i].contract.text(), "snap/bf16/fold:128->bf16");
    EXPECT_EQ(arms[i].a_snapped, i == 2);
    EXPECT_EQ(arms[i].b_snapped, i != 0);
  }
  query.own.contracts = {"x"};
  EXPECT_EQ(complaint(R"({"schema": 1, "arms": {"x": {"contract": "snap/bf16/fold:128->bf16",
                          "snapped": "c"}}, "suites": []})",
                      query),
            "cases: arm x: snapped is \"c\": it must be a, b or ab");
}

TEST(Cases, WrongTablesAreRefusedInASentence) {
  EXPECT_NE(complaint("{").find("parse error"), std::string::npos);
  EXPECT_NE(complaint(R"({"schema": 2})").find("schema is 2: it must be 1"), std::string::npos);
  EXPECT_NE(complaint(R"({"schema": 1})").find("suites"), std::string::npos);
  EXPECT_NE(complaint(kTable, {"cpu", Arithmetic::hopper, {"three"}, {}, false})
                .find("suite is \"three\": it must be one of one, two, gpu"),
            std::string::npos);
}

TEST(Cases, ATableMayLeaveOutModelsAndArmsAndGiveTokensAsValues) {
  const auto cases = read_cases(R"({"schema": 1, "models": {"mine": {"ffn": [11008, 4096]}},
    "suites": [{"name": "own shapes", "layers": ["mine/ffn", "llama3-8b/o"], "tokens": "1:9:4,64",
                "arms": ["chain"]}]})",
                                {"cuda"});
  ASSERT_EQ(cases.size(), 8U);
  EXPECT_EQ(cases[3].id, "mine/ffn/forward/m64/bf16");
  EXPECT_EQ(cases[7].problem.n, 4096);
}

TEST(Cases, FallsHasEveryMOfSixWeightsAndNobodyBeside) {
  const auto cases = read_cases(built_in_cases(), {"cuda", Arithmetic::hopper, {"falls"}});
  std::map<std::string, std::set<std::int64_t>> tokens;
  for (const Case& c : cases) {
    tokens[c.model + "/" + c.layer].insert(c.problem.tokens);
    ASSERT_EQ(c.contract_arms.size(), 1U) << c.id;
    EXPECT_FALSE(is_timed(c, named("cublaslt"))) << c.id;
  }
  EXPECT_EQ(tokens.size(), 6U);
  for (const auto& [weights, all] : tokens) {
    EXPECT_EQ(all.size(), 1024U) << weights;
    EXPECT_EQ(*all.begin(), 1) << weights;
    EXPECT_EQ(*all.rbegin(), 1024) << weights;
  }
}

TEST(Cases, TokensHasEveryEighthMAndTheValuesAroundMultiplesOf64) {
  const auto cases = read_cases(built_in_cases(), {"cuda", Arithmetic::hopper, {"tokens"}});
  std::map<std::string, std::set<std::int64_t>> tokens;
  for (const Case& c : cases) {
    tokens[c.model + "/" + c.layer].insert(c.problem.tokens);
    EXPECT_EQ(c.mode, Mode::stream) << c.id;
    ASSERT_EQ(c.contract_arms.size(), 1U) << c.id;
    EXPECT_EQ(c.contract_arms[0].name, "chain+stable");
    EXPECT_EQ(c.contract_arms[0].stable, Stable::b);
    EXPECT_TRUE(is_timed(c, named("cublaslt"))) << c.id;
    EXPECT_FALSE(is_timed(c, named("cublaslt0"))) << c.id;
  }
  std::set<std::int64_t> expected;
  for (std::int64_t m = 1; m <= 512; m += 8) expected.insert(m);
  for (std::int64_t m = 64; m <= 512; m += 64) expected.insert({m - 1, m, m + 1});
  ASSERT_EQ(tokens.size(), 3U);
  for (const char* layer : {"llama3-8b/o", "llama3-8b/gate_up", "llama3-70b/o"}) {
    EXPECT_EQ(tokens[layer], expected) << layer;
  }
}

TEST(Cases, TheBuiltInTableHasEveryBackendFullAndQuick) {
  for (const char* backend : {"cpu", "cuda", "hip"}) {
    const auto full = read_cases(built_in_cases(), {backend});
    const auto quick = read_cases(built_in_cases(), {backend, Arithmetic::hopper, {}, {}, true});
    EXPECT_GT(quick.size(), 3U) << backend;
    EXPECT_GT(full.size(), 3 * quick.size()) << backend;
    std::set<std::string> ids;
    for (const Case& c : full) EXPECT_TRUE(ids.insert(c.id).second) << c.id;
  }
}

}  // namespace
}  // namespace detgemm::bench
