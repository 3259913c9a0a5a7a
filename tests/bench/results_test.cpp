// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/suite/experiment.hpp"
#include "bench/suite/falls.hpp"
#include "bench/suite/forced.hpp"
#include "bench/suite/result.hpp"
#include "tests/bench/fake_device.hpp"

namespace detgemm::bench {
namespace {

using nlohmann::json;

std::set<std::string> keys(const json& object) {
  std::set<std::string> all;
  for (const auto& [key, value] : object.items()) all.insert(key);
  return all;
}

/// A run of the fake device with a baseline, forced kernels and a clock.
RunResult whole_run() {
  FakeBenchDevice device;
  device.fake.mhz = 1500;
  device.own_check = [](const Buffers::Call&, const Gemm&) { return BitsCheck{"plain", 4, 0}; };
  device.others = {fake_baseline("vendor", [](auto) { return 1; })};
  std::vector<Case> cases{small_case()};
  add_forced_arms(device.backend(), {"all"}, cases);
  Settings settings;
  settings.check_bits = true;
  const Buffers buffers(device.memory(), {cases[0].problem}, device.pools());
  RunResult run;
  run.seed = 7;
  run.results = {run_case(device, cases[0], device.others, buffers, {}, settings)};
  for (int i = 1; i < kMinPoints; ++i) {
    run.results.push_back(run.results[0]);
    run.results.back().what.problem.tokens += i;
  }
  run.falls = find_falls(run.results);
  return run;
}

TEST(Results, AreOneDocumentThatParses) {
  RunResult run;
  run.backend = "cpu";
  run.date = "2026-01-01";
  run.machine = {{"device", "a \"quoted\" one, with\nlines"}};
  CaseResult result;
  result.what = small_case();
  ArmResult arm;
  arm.name = "chain";
  arm.role = Role::detgemm;
  arm.contract = "hopper/bf16/chain->bf16";
  arm.digest = "0123456789abcdef";
  arm.stable = "none";
  arm.us = {2.0, 1.0, 3.0, 5};
  arm.batch_invariant = false;
  result.arms = {arm};
  result.notes = {"a, note"};
  run.results = {result};
  const auto json = nlohmann::json::parse(to_json(run));
  EXPECT_EQ(json["schema"], 2);
  EXPECT_EQ(json["results"][0]["arms"][0]["us"], 2.0);
  EXPECT_EQ(json["results"][0]["arms"][0]["batch_invariant"], false);
  EXPECT_EQ(
      json["results"][0]["repro"],
      "detgemm bench --backend cpu --suite fake --m 5 --filter '^fake/small/forward/m5/bf16/'");
  const std::string csv = to_csv(run);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_NE(to_markdown(run).find("| fake/small/forward/m5/bf16 | chain | 2.00 |"),
            std::string::npos);
}

TEST(Results, HaveEveryFieldOfSchema2) {
  const json run = json::parse(to_json(whole_run()));
  EXPECT_EQ(keys(run), (std::set<std::string>{"schema", "tool", "version", "date", "commit",
                                              "command", "backend", "quick", "seed", "unit",
                                              "machine", "baselines", "ceilings", "overheads",
                                              "falls", "not_measured", "failed", "results"}));
  EXPECT_EQ(run["seed"], 7);
  EXPECT_EQ(keys(run["ceilings"]),
            (std::set<std::string>{"copy_bytes_per_s", "read_bytes_per_s", "flops_per_s", "how"}));
  EXPECT_TRUE(run["ceilings"]["read_bytes_per_s"].is_null()) << "not measured";
  EXPECT_EQ(keys(run["overheads"]), (std::set<std::string>{"host_us", "host_us_p90", "bytes"}));
  const json& result = run["results"][0];
  EXPECT_EQ(keys(result),
            (std::set<std::string>{
                "case",  "suites",      "model",   "layer", "kind",   "m",
                "n",     "k",           "gemm",    "dtype", "output", "mode",
                "cache", "accumulate",  "threads", "flops", "bytes",  "warm_up_settled",
                "arms",  "comparisons", "notes",   "repro"}));
  EXPECT_EQ(result["gemm"], (json{5, 7, 33}));
  const std::set<std::string> common{"arm",  "role",  "what",    "calls", "us",
                                     "p10",  "p90",   "samples", "noise", "batch_invariant",
                                     "bits", "sm_mhz"};
  std::set<std::string> own = common;
  own.insert({"contract", "digest", "stable", "variant", "workspace_bytes"});
  ASSERT_EQ(result["arms"].size(), 3U);
  EXPECT_EQ(keys(result["arms"][0]), own);
  EXPECT_EQ(keys(result["arms"][2]), common);
  EXPECT_EQ(result["arms"][0]["role"], "detgemm");
  EXPECT_TRUE(result["arms"][0]["variant"].is_null());
  EXPECT_EQ(result["arms"][1]["variant"], "scalar");
  EXPECT_EQ(result["arms"][1]["arm"], "chain@scalar");
  EXPECT_EQ(result["arms"][2]["role"], "baseline");
  EXPECT_EQ(result["arms"][0]["sm_mhz"], 1500);
  EXPECT_EQ(keys(result["arms"][0]["bits"]),
            (std::set<std::string>{"against", "outputs", "different"}));
  EXPECT_EQ(keys(result["comparisons"][0]),
            (std::set<std::string>{"arm", "baseline", "ratio", "low", "high", "verdict"}));
}

TEST(Results, SayWhereTimeFalls) {
  const json run = json::parse(to_json(whole_run()));
  ASSERT_EQ(run["falls"].size(), 3U) << "three arms";
  EXPECT_EQ(keys(run["falls"][0]), (std::set<std::string>{"model", "layer", "kind", "dtype", "mode",
                                                          "arm", "role", "points", "ratio", "m",
                                                          "us", "later_m", "later_us", "certain"}));
  EXPECT_EQ(run["falls"][0]["points"], kMinPoints);
}

TEST(Results, TheReproLineOfAnOwnCaseHasItsSizesAndContracts) {
  RunResult run;
  run.backend = "cuda";
  Case c = small_case();
  c.suites = {"own"};
  c.model = "own";
  c.contract_arms.push_back({"chain@scalar", {}, Stable::none, "scalar"});
  EXPECT_EQ(
      repro(run, c),
      "detgemm bench --backend cuda --n 7 --k 33 --m 5 --kind forward --mode stream --contract "
      "'chain'");
  c.suites = {"drawn"};
  c.model = "llama3-8b";
  c.layer = "o";
  EXPECT_NE(repro(run, c).find("--layers llama3-8b/o --m 5"), std::string::npos);
}

}  // namespace
}  // namespace detgemm::bench
