// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "core/conformance/format.hpp"
#include "core/conformance/json.hpp"
#include "core/conformance/report.hpp"

// Counts, outcomes and refusals of reports word by word, and cells on their way through JSON.

namespace detgemm::conformance {
namespace {

constexpr std::array kVerdicts{Verdict::passed,     Verdict::unsupported, Verdict::skipped,
                               Verdict::mistrusted, Verdict::untested,    Verdict::failed};

Cell cell(const char* property, Verdict verdict) {
  Cell c;
  c.property = property;
  c.contract = "hopper/bf16/chain->bf16";
  c.verdict = verdict;
  return c;
}

TEST(Sentences, CountsOfAReport) {
  Report r;
  EXPECT_EQ(counts(r), "0 of 0 cells passed, 0 failed, 0 skipped, 0 unsupported");
  EXPECT_EQ(outcome(r), "NOTHING RAN");
  for (const Verdict verdict : kVerdicts) r.cells.push_back(cell("batch", verdict));
  r.cells.push_back(cell("ranks", Verdict::passed));
  EXPECT_EQ(counts(r), "2 of 7 cells passed, 3 failed, 1 skipped, 1 unsupported");
  r.planned = 7;
  r.cells[3].expected = true;
  EXPECT_EQ(counts(r),
            "2 of 7 cells passed, 2 failed, 1 failed as expected, 1 skipped, 1 unsupported");
  r.planned = 9;
  EXPECT_EQ(counts(r),
            "2 of 9 cells passed, 2 failed, 1 failed as expected, 1 skipped, 1 unsupported, 2 not "
            "run");
  EXPECT_EQ(r.count(Verdict::passed), 2);
  EXPECT_EQ(r.bad(), 2);
}

TEST(Sentences, OutcomesOfAReport) {
  Report r;
  r.cells = {cell("batch", Verdict::passed)};
  EXPECT_EQ(outcome(r), "PASSED");
  EXPECT_TRUE(r.passed());
  r.interrupted = true;
  EXPECT_EQ(outcome(r), "INTERRUPTED");
  EXPECT_FALSE(r.passed());
  r.cut_short = "why";
  EXPECT_EQ(outcome(r), "FAILED");
  r.interrupted = false;
  EXPECT_EQ(outcome(r), "FAILED");
  EXPECT_FALSE(r.passed());
  for (const Verdict verdict : kVerdicts) {
    Report one;
    one.cells = {cell("batch", verdict)};
    const bool bad = counts_as_failure(verdict);
    EXPECT_EQ(outcome(one), bad ? "FAILED" : verdict == Verdict::passed ? "PASSED" : "NOTHING RAN");
    one.cells[0].expected = true;
    EXPECT_EQ(outcome(one), bad || verdict == Verdict::passed ? "PASSED" : "NOTHING RAN");
    EXPECT_EQ(one.ran(), bad || verdict == Verdict::passed);
  }
}

TEST(Sentences, RefusalsOfExpectedFailures) {
  Report r;
  r.cells = {cell("batch", Verdict::failed), cell("ranks", Verdict::passed)};
  const auto refusal = [&](const char* lines) {
    return expect_failures(r, lines).status().message();
  };
  EXPECT_EQ(refusal("# a comment\n\nbatch # and no contract\n"),
            "line 3 of the expected failures is \"batch # and no contract\": it must read PROPERTY "
            "CONTRACT, and either may be *");
  EXPECT_EQ(refusal("batch * more\n"),
            "line 1 of the expected failures is \"batch * more\": it must read PROPERTY CONTRACT, "
            "and either may be *");
  EXPECT_EQ(
      refusal("batch *\nspeed *\n"),
      "line 2 of the expected failures names property \"speed\": it must be * or one of detgemm "
      "conform --list");
  r.cells[0].expected = false;
  const auto unused = expect_failures(r, "batch ampere/bf16/chain\nranks *\n* *\n");
  ASSERT_TRUE(unused.ok());
  EXPECT_EQ(*unused, (std::vector<std::string>{"batch ampere/bf16/chain->bf16", "ranks *"}));
  EXPECT_TRUE(r.cells[0].expected);
  EXPECT_FALSE(r.cells[1].expected);
}

TEST(Sentences, ACellSurvivesJson) {
  for (const Verdict verdict : kVerdicts) {
    Cell c = cell("batch", verdict);
    c.digest = "d", c.reason = "r";
    c.cases = 1, c.runs = 2, c.outputs = 3, c.mismatches = 4;
    c.seconds = 0.5;
    c.kernels = {"k", "l"};
    c.log = {"one", "two"};
    c.failures = {{5, "what", "problem", 0, 0, "e", "g", "repro"},
                  {6, "else", "other", -1, -1, "", "", "again"}};
    const Cell back = cell_from_json(to_json(c));
    EXPECT_EQ(name(back.verdict), name(verdict));
    EXPECT_EQ(line_of(to_json(back)), line_of(to_json(c)));
    ASSERT_EQ(back.failures.size(), 2U);
    EXPECT_EQ(back.failures[0].row, 0);
    EXPECT_EQ(back.failures[0].col, 0);
    EXPECT_EQ(back.failures[0].got, "g");
    EXPECT_EQ(back.failures[1].row, -1);
    EXPECT_EQ(back.failures[1].col, -1);
    EXPECT_EQ(to_json(c)["failures"][1].count("row"), 0U);
    EXPECT_EQ(to_json(c).count("expected"), 0U);
    c.expected = true;
    EXPECT_EQ(to_json(c)["expected"], true);
    EXPECT_EQ(line_of(to_json(c)).find('\n'), std::string::npos);
  }
}

TEST(Sentences, AReportsFactsSurviveJson) {
  Report r;
  r.version = "v", r.commit = "c", r.machine = "m", r.host = "h", r.engine = "e";
  r.description = "d", r.device = "g", r.oracle = "o", r.date = "t", r.level = "l";
  r.seed = 7, r.planned = 8;
  EXPECT_EQ(line_of(facts_to_json(facts_from_json(facts_to_json(r)))), line_of(facts_to_json(r)));
  Json json = to_json(r);
  EXPECT_EQ(json.count("cut_short"), 0U);
  EXPECT_EQ(json["ran"], false);
  EXPECT_EQ(json["interrupted"], false);
  r.cut_short = "why", r.interrupted = true;
  r.cells = {cell("batch", Verdict::passed)};
  json = to_json(r);
  EXPECT_EQ(json["cut_short"], "why");
  EXPECT_EQ(json["interrupted"], true);
  EXPECT_EQ(json["ran"], true);
  EXPECT_EQ(json["cells"].size(), 1U);
}

TEST(Sentences, NumbersAsPrintfHasThem) {
  EXPECT_EQ(decimal(1.0), "1");
  EXPECT_EQ(decimal(0.3F), "0.3");
  EXPECT_EQ(decimal(1.0 / 3.0, 17), "0.33333333333333331");
  EXPECT_EQ(decimal(1234567.0), "1.23457e+06");
  EXPECT_EQ(decimal(-0.0), "-0");
  EXPECT_EQ(show(0x3f80U, DType::bf16), "0x3f80 (1)");
  EXPECT_EQ(show(1U, DType::fp32), "0x00000001 (1.40129846e-45)");
  EXPECT_EQ(show(8U, DType::e4m3), "0x08 (0.015625)");
}

}  // namespace
}  // namespace detgemm::conformance
