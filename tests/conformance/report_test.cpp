// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace detgemm::conformance {
namespace {

Cell cell(const char* property, Verdict verdict, const char* reason) {
  Cell c;
  c.property = property;
  c.contract = "hopper/bf16/chain->bf16";
  c.digest = "0123456789abcdef";
  c.verdict = verdict;
  c.reason = reason;
  c.outputs = 12;
  c.kernels = {"scalar"};
  if (verdict == Verdict::failed) {
    c.failures.push_back(
        {3, "row 1 <of> 2", "m=2 \"n\"=3", 1, 2, "0x0001", "0x0002", "detgemm conform --case 3"});
  }
  return c;
}

Report report() {
  Report r;
  r.engine = "mine & yours";
  r.commit = "v1-2-gabc";
  r.machine = "a | b";
  r.seed = 9;
  r.cells = {cell("batch", Verdict::failed, "row 1 <of> 2"),
             cell("strides", Verdict::passed, ""),
             cell("ranks", Verdict::skipped, "only a tree"),
             cell("columns", Verdict::mistrusted, "all equal"),
             cell("padding", Verdict::untested, "no memory"),
             cell("layouts", Verdict::unsupported, "no transpose")};
  return r;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Report, ControlCharactersAreShownAndNotObeyed) {
  Report r = report();
  r.description = "red \x1b[31m, next line \xc2\x85, \xc3\xa9 stays";
  r.cells[0].reason = "a\nb";
  r.cells[0].failures[0].what = "bell \x07";
  for (const std::string& text : {render_text({&r, 1}), render_markdown({&r, 1})}) {
    EXPECT_NE(text.find("red \\x1b[31m, next line \\xc2\\x85, \xc3\xa9 stays"), std::string::npos);
    EXPECT_NE(text.find("a\\x0ab"), std::string::npos);
    EXPECT_NE(text.find("bell \\x07"), std::string::npos);
  }
}

TEST(Report, OnlyARunWithoutFailuresPasses) {
  Report r = report();
  EXPECT_FALSE(r.passed());
  r.cells = {cell("strides", Verdict::passed, ""), cell("ranks", Verdict::skipped, "x"),
             cell("layouts", Verdict::unsupported, "x")};
  EXPECT_TRUE(r.passed());
  for (const Verdict bad : {Verdict::failed, Verdict::mistrusted, Verdict::untested}) {
    Report worse = r;
    worse.cells.push_back(cell("batch", bad, "x"));
    EXPECT_FALSE(worse.passed()) << name(bad);
  }
  r.cells = {cell("ranks", Verdict::skipped, "x")};
  EXPECT_FALSE(r.ran());
  EXPECT_FALSE(r.passed());
}

TEST(Report, TextGivesTheReproLineAndTheReason) {
  const Report r = report();
  const std::string text = render_text({&r, 1});
  EXPECT_NE(text.find("detgemm conform --case 3"), std::string::npos);
  EXPECT_NE(text.find("(1, 2): expected 0x0001, got 0x0002"), std::string::npos);
  EXPECT_NE(text.find("no transpose"), std::string::npos);
  EXPECT_NE(text.find("FAILED"), std::string::npos);
}

TEST(Report, NamesTheCommitWhereItIsKnown) {
  Report r = report();
  EXPECT_NE(render_text({&r, 1}).find("(v1-2-gabc)"), std::string::npos);
  EXPECT_NE(render_markdown({&r, 1}).find("(v1-2-gabc)"), std::string::npos);
  EXPECT_NE(render_json({&r, 1}).find("\"commit\": \"v1-2-gabc\""), std::string::npos);
  r.commit.clear();
  EXPECT_EQ(render_text({&r, 1}).find("()"), std::string::npos);
  EXPECT_EQ(render_markdown({&r, 1}).find("()"), std::string::npos);
}

TEST(Report, MarkdownHasAColumnForEveryProperty) {
  const Report r = report();
  const std::string text = render_markdown({&r, 1});
  EXPECT_NE(text.find("| contract | digest | batch | strides |"), std::string::npos);
  EXPECT_NE(text.find("**failed**"), std::string::npos);
  EXPECT_NE(text.find("a \\| b"), std::string::npos) << "a bar would end the cell";
}

TEST(Report, JsonHoldsEveryCellAndFailure) {
  const Report r = report();
  const auto json = nlohmann::json::parse(render_json({&r, 1}));
  const auto& first = json.at("reports").at(0);
  EXPECT_EQ(first.at("seed"), 9);
  EXPECT_EQ(first.at("passed"), false);
  ASSERT_EQ(first.at("cells").size(), 6U);
  EXPECT_EQ(first.at("cells").at(0).at("failures").at(0).at("col"), 2);
  EXPECT_EQ(first.at("cells").at(3).at("verdict"), "mistrusted");
}

TEST(Report, JsonSurvivesBytesThatAreNoText) {
  Report r = report();
  r.cells[0].reason = "\xff\xfe";
  EXPECT_TRUE(nlohmann::json::accept(render_json({&r, 1})));
}

TEST(Report, JunitCountsAndEscapes) {
  const Report r = report();
  const std::string text = render_junit({&r, 1});
  EXPECT_NE(text.find("tests=\"6\" failures=\"2\" errors=\"1\" skipped=\"2\""), std::string::npos);
  EXPECT_EQ(occurrences(text, "<skipped message="), 2U);
  EXPECT_NE(text.find("mine &amp; yours"), std::string::npos);
  EXPECT_EQ(text.find("<of>"), std::string::npos);
  EXPECT_EQ(occurrences(text, "<testcase"), 6U);
}

TEST(Report, JunitHasTimesHostAndTotals) {
  Report r = report();
  r.host = "box";
  r.date = "2026-01-02T03:04:05Z";
  r.seconds = 2.5;
  r.cells[1].seconds = 0.25;
  const std::string text = render_junit({&r, 1});
  EXPECT_NE(text.find("<testsuites name=\"detgemm conform\" tests=\"6\""), std::string::npos);
  EXPECT_NE(text.find("time=\"0.250\"/>"), std::string::npos);
  EXPECT_NE(text.find("timestamp=\"2026-01-02T03:04:05\" hostname=\"box\""), std::string::npos);
  EXPECT_NE(text.find("<property name=\"machine\" value=\"a | b\"/>"), std::string::npos);
}

TEST(Report, ABadgeFollowsTheEndpointSchema) {
  Report r = report();
  auto json = nlohmann::json::parse(render_badge({&r, 1}));
  EXPECT_EQ(json.at("schemaVersion"), 1);
  EXPECT_EQ(json.at("color"), "red");
  EXPECT_EQ(json.at("message"), "3 failed, 1 passed");
  r.cells = {cell("strides", Verdict::passed, "")};
  EXPECT_EQ(nlohmann::json::parse(render_badge({&r, 1})).at("color"), "brightgreen");
  r.cells = {cell("ranks", Verdict::skipped, "x")};
  EXPECT_EQ(nlohmann::json::parse(render_badge({&r, 1})).at("message"), "nothing ran");
}

TEST(Report, ASummaryHasTheSentenceTheFailuresAndATable) {
  const Report r = report();
  const std::string text = render_summary({&r, 1});
  EXPECT_NE(text.find("**FAILED**"), std::string::npos);
  EXPECT_NE(text.find("1 of 6 cells passed, 3 failed, 1 skipped, 1 unsupported"),
            std::string::npos);
  EXPECT_NE(text.find("detgemm conform --case 3"), std::string::npos);
  EXPECT_NE(text.find("| batch | 0 | **1** | 0 | 12 |"), std::string::npos);
  EXPECT_EQ(text.find("<of>"), std::string::npos) << "a tag";
}

TEST(Report, WhatIsExpectedToFailDoesNotFailTheRun) {
  Report r = report();
  const auto unused = expect_failures(r,
                                      "batch hopper/bf16/chain  # known\n\n"
                                      "columns *\n* hopper/bf16/chain->bf16\nranks *\n");
  ASSERT_TRUE(unused.ok());
  EXPECT_EQ(*unused, std::vector<std::string>{"ranks *"}) << "it did not fail";
  EXPECT_EQ(r.bad(), 0);
  EXPECT_TRUE(r.passed());
  EXPECT_NE(
      render_text({&r, 1}).find("PASSED: 1 of 6 cells passed, 0 failed, 3 failed as expected"),
      std::string::npos);
  EXPECT_EQ(occurrences(render_junit({&r, 1}), "<failure"), 0U);
  for (const char* wrong : {"batch", "batch * *", "speed *", "batch hopper"}) {
    EXPECT_FALSE(expect_failures(r, wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace detgemm::conformance
