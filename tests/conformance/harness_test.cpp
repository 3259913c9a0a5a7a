// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/harness.hpp"

#include <gtest/gtest.h>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"

namespace detgemm::conformance {
namespace {

Options honest_options(const char* contract = "hopper/bf16/tree:32->fp32") {
  Options options;
  options.engine = &controls::honest();
  options.oracle.backend = &controls::honest();
  options.contracts = {*Contract::parse(contract)};
  return options;
}

/// The verdict of one property on an engine with this fault.
Cell cell_of(const controls::Fault& fault, const char* property) {
  Options options = honest_options();
  options.engine = controls::make_backend(fault);
  options.properties = {property};
  return run_conformance(options)->cells.front();
}

TEST(Harness, TheHonestEnginePassesEverything) {
  for (const char* contract : {"hopper/bf16/chain->bf16", "hopper/bf16/tree:32->fp32",
                               "ieee_fma/fp16/fold:32->fp16", "cdna3/bf16/tree:64->bf16"}) {
    const auto report = run_conformance(honest_options(contract));
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->passed()) << render_text({&*report, 1});
    EXPECT_EQ(report->cells.size(), properties().size());
    for (const Cell& cell : report->cells) {
      if (cell.verdict == Verdict::skipped) {
        EXPECT_FALSE(cell.reason.empty()) << cell.property;
      } else {
        EXPECT_GT(cell.outputs, 0) << cell.property;
        EXPECT_FALSE(cell.log.empty()) << cell.property;
      }
    }
  }
}

TEST(Harness, AConstantEngineIsMistrustedNotPassed) {
  const controls::Fault zeros{"zeros", [](const controls::Run& run) {
                                const GemmArguments g = flatten(run.spec, run.operands);
                                controls::for_outputs(g, [&](std::int64_t i, std::int64_t j) {
                                  store_rounded(g.d, i * g.ds.row + j * g.ds.col, g.output, 0.0F);
                                });
                              }};
  EXPECT_EQ(name(cell_of(zeros, "batch").verdict), "mistrusted");
  EXPECT_EQ(name(cell_of(zeros, "run_to_run").verdict), "mistrusted");
  EXPECT_EQ(name(cell_of(zeros, "reference").verdict), "failed");
}

TEST(Harness, SkippedAndUnsupportedSayWhy) {
  Options options = honest_options();
  options.oracle = {};
  options.properties = {"reference", "graph_replay", "microbatch"};
  const auto report = run_conformance(options);
  ASSERT_TRUE(report.ok());
  for (const Cell& cell : report->cells) {
    EXPECT_EQ(name(cell.verdict), "skipped") << cell.property;
    EXPECT_FALSE(cell.reason.empty()) << cell.property;
  }
  EXPECT_FALSE(report->ran());
  EXPECT_FALSE(report->passed()) << "nothing ran is no pass";
}

TEST(Harness, RefusesUnknownNamesWithASentence) {
  Options options = honest_options();
  options.properties = {"batches"};
  const auto unknown = run_conformance(options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("batches"), std::string::npos);
  EXPECT_NE(unknown.status().message().find("run_to_run"), std::string::npos);
  options = honest_options();
  options.engine = nullptr;
  EXPECT_FALSE(run_conformance(options).ok());
  options = honest_options();
  options.only_case = -1;
  EXPECT_FALSE(run_conformance(options).ok());
}

TEST(Harness, TheSameSeedDrawsTheSameProblems) {
  const auto first = run_conformance(honest_options());
  const auto second = run_conformance(honest_options());
  Options other = honest_options();
  other.seed = 2;
  const auto third = run_conformance(other);
  for (std::size_t i = 0; i < first->cells.size(); ++i) {
    EXPECT_EQ(first->cells[i].log, second->cells[i].log);
  }
  EXPECT_NE(first->cells[1].log, third->cells[1].log);
}

TEST(Harness, DefaultContractsCoverEveryArithmeticAndReduction) {
  const auto list = default_contracts(controls::honest());
  EXPECT_EQ(list.size(), 3 * base_contracts().size());
  std::set<DType> outputs;
  for (const Contract& contract : list) {
    EXPECT_TRUE(contract.validate().ok()) << contract.text();
    outputs.insert(contract.output);
  }
  EXPECT_EQ(outputs.size(), 3U);
}

TEST(Harness, AReproLineNamesEverything) {
  Options options = honest_options("hopper/bf16/chain->bf16");
  for (const controls::Control& control : controls::controls()) {
    if (control.name == "batch_switch") options.engine = control.engine;
  }
  options.properties = {"batch"};
  options.seed = 5;
  options.level = Level::full;
  options.engine_flag = "--engine './mine.so'";
  const auto report = run_conformance(options);
  ASSERT_FALSE(report->cells.front().failures.empty());
  const std::string& repro = report->cells.front().failures.front().repro;
  EXPECT_EQ(repro.find("detgemm conform --engine './mine.so' --contract "
                       "'hopper/bf16/chain->bf16' --property batch --full --seed 5 --case "),
            0U)
      << repro;
}

}  // namespace
}  // namespace detgemm::conformance
