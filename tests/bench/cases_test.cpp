// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/suite/case.hpp"
#include "bench/suite/options.hpp"
#include "bench/suite/result.hpp"

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

std::string option_complaint(const std::vector<std::string>& arguments) {
  try {
    parse_options(arguments);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
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

TEST(Cases, WrongTablesAreRefusedInASentence) {
  EXPECT_NE(complaint("{").find("parse error"), std::string::npos);
  EXPECT_NE(complaint(R"({"schema": 2})").find("schema is 2: it must be 1"), std::string::npos);
  EXPECT_NE(complaint(R"({"schema": 1})").find("suites"), std::string::npos);
  EXPECT_NE(complaint(kTable, {"cpu", Arithmetic::hopper, {"three"}, {}, false})
                .find("suite is \"three\": it must be one of one, two, gpu"),
            std::string::npos);
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

TEST(Options, AreReadAndRefusedInSentences) {
  const Options o = parse_options({"--backend", "cpu", "--m=1,16", "--quick", "--fact", "a=b=c"});
  EXPECT_EQ(o.backend, "cpu");
  EXPECT_EQ(o.tokens, (std::vector<std::int64_t>{1, 16}));
  EXPECT_TRUE(o.quick);
  EXPECT_EQ(o.facts[0], (std::pair<std::string, std::string>{"a", "b=c"}));
  EXPECT_EQ(option_complaint({"--backend", "gpu"}),
            "--backend is \"gpu\": it must be cpu, cuda or hip");
  EXPECT_EQ(option_complaint({"--m", "0"}),
            "--m is \"0\": it must be a whole number from 1 to 16777216");
  EXPECT_EQ(option_complaint({"--seconds", "nan"}),
            "--seconds is \"nan\": it must be a positive number of seconds");
  EXPECT_EQ(option_complaint({"--json"}), "--json needs a value");
  EXPECT_EQ(option_complaint({"--quick=1"}), "--quick takes no value");
  EXPECT_EQ(option_complaint({"--fact", "x"}), "--fact is \"x\": it must be KEY=VALUE");
  EXPECT_EQ(option_complaint({"-z"}), "option is \"-z\": see detgemm bench --help");
}

TEST(Results, AreOneDocumentThatParses) {
  RunResult run;
  run.backend = "cpu";
  run.date = "2026-01-01";
  run.machine = {{"device", "a \"quoted\" one, with\nlines"}};
  CaseResult result;
  result.what = read_cases(kTable, {"cpu"})[0];
  ArmResult arm;
  arm.name = "chain";
  arm.is_ours = true;
  arm.us = {2.0, 1.0, 3.0, 5};
  arm.batch_invariant = false;
  result.arms = {arm};
  result.notes = {"a, note"};
  run.results = {result};
  const auto json = nlohmann::json::parse(to_json(run));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["results"][0]["arms"][0]["us"], 2.0);
  EXPECT_EQ(json["results"][0]["arms"][0]["batch_invariant"], false);
  EXPECT_EQ(json["results"][0]["repro"],
            "detgemm bench --backend cpu --suite one --filter '^m/a/forward/m1/bf16/'");
  const std::string csv = to_csv(run);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_NE(to_markdown(run).find("| m/a/forward/m1/bf16 | chain | 2.00 |"), std::string::npos);
}

}  // namespace
}  // namespace detgemm::bench
