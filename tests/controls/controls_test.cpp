// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"
#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"

// The harness finds faults: every engine with a planted fault fails, by the property meant for it,
// and the same code without the fault passes.

namespace detgemm::conformance {
namespace {

Options options_for(const controls::Control& control, const Backend& engine) {
  Options options;
  options.engine = &engine;
  options.oracle.backend = &controls::honest();
  options.contracts = {*Contract::parse(control.contract)};
  options.properties = {std::string(control.property)};
  if (control.full) options.level = Level::full;
  return options;
}

/// A control's run with the first seed, which three of the tests look at.
const Result<Report>& first_run(const controls::Control& control) {
  static std::map<const controls::Control*, Result<Report>> runs;
  const auto found = runs.find(&control);
  if (found != runs.end()) return found->second;
  return runs.emplace(&control, run_conformance(options_for(control, *control.engine)))
      .first->second;
}

/// The same run of the same code without a fault: many controls share one.
const Result<Report>& honest_run(const controls::Control& control) {
  static std::map<std::tuple<std::string_view, std::string_view, bool>, Result<Report>> runs;
  const std::tuple question{std::string_view(control.property), std::string_view(control.contract),
                            control.full};
  const auto found = runs.find(question);
  if (found != runs.end()) return found->second;
  controls::Fault none{"none", controls::compute_honestly};
  none.device = &controls::graph_host();  // or graph_replay would be skipped
  return runs
      .emplace(question, run_conformance(options_for(control, *controls::make_backend(none))))
      .first->second;
}

class Controls : public testing::TestWithParam<std::size_t> {
 protected:
  const controls::Control& control() const { return controls::controls()[GetParam()]; }
};

TEST_P(Controls, FailsByThePropertyMeantForIt) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    Options options = options_for(control(), *control().engine);
    const bool first = options.seed == seed;
    options.seed = seed;
    const auto report = first ? first_run(control()) : run_conformance(options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    const Cell& cell = report->cells.front();
    EXPECT_EQ(name(cell.verdict), "failed") << control().name << " under " << control().contract
                                            << ", seed " << seed << ": " << cell.reason;
    EXPECT_FALSE(report->passed());
    ASSERT_FALSE(cell.failures.empty());
    EXPECT_NE(cell.failures.front().repro.find("--property " + cell.property), std::string::npos);
  }
}

/// Whether threads decide what is seen first.
bool races(const controls::Control& control) {
  return control.property == "concurrency" || control.name == "arrival_order";
}

/// "NAME PROPERTY", with which a line of found.txt begins.
std::string name_of(const controls::Control& control) {
  return std::string(control.name) + " " + std::string(control.property);
}

/// What found.txt says of each control.
const std::map<std::string, std::string>& found_before() {
  static const auto lines = [] {
    std::map<std::string, std::string> all;
    std::ifstream file(DETGEMM_TEST_FOUND);
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      all[line.substr(0, line.find(':'))] = line;
    }
    return all;
  }();
  return lines;
}

TEST_P(Controls, AFailureSaysWhatItSaidBefore) {
  if (races(control())) GTEST_SKIP() << "threads decide what is seen first";
  const auto& report = first_run(control());
  ASSERT_TRUE(report.ok());
  const Cell& cell = report->cells.front();
  ASSERT_FALSE(cell.failures.empty());
  const Failure& f = cell.failures.front();
  const std::string where = f.row < 0 ? "no output"
                                      : "(" + std::to_string(f.row) + ", " + std::to_string(f.col) +
                                            ") " + f.expected + " and not " + f.got;
  const std::string line = name_of(control()) + ": " + std::to_string(cell.mismatches) + " of " +
                           std::to_string(cell.outputs) + " differ, case " +
                           std::to_string(f.case_index) + ", " + f.what + "; " + f.problem + "; " +
                           where;
  const auto before = found_before().find(name_of(control()));
  const bool same = before != found_before().end() && before->second == line;
  if (!same) std::printf("+%s\n", line.c_str());
  EXPECT_TRUE(same);
}

TEST_P(Controls, TheSameCodeWithoutTheFaultPasses) {
  const auto& report = honest_run(control());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(name(report->cells.front().verdict), "passed") << report->cells.front().reason;
}

TEST_P(Controls, TheReproLinesCaseFailsByItself) {
  Options options = options_for(control(), *control().engine);
  const auto& first = first_run(control());
  ASSERT_TRUE(first.ok());
  ASSERT_FALSE(first->cells.front().failures.empty());
  const Failure& failure = first->cells.front().failures.front();
  options.only_case = failure.case_index;
  // Where threads race, a case alone may be done before the last call has begun.
  const int tries = races(control()) ? 20 : 1;
  std::vector<Failure> found;
  for (int i = 0; i < tries && found.empty(); ++i) {
    const auto again = run_conformance(options);
    ASSERT_TRUE(again.ok());
    found = again->cells.front().failures;
  }
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().problem, failure.problem);
}

std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
  const controls::Control& control = controls::controls()[info.param];
  return std::string(control.name) + "_by_" + std::string(control.property);
}

INSTANTIATE_TEST_SUITE_P(All, Controls, testing::Range(std::size_t{0}, controls::controls().size()),
                         test_name);

TEST(ControlTable, EveryLineIsThatOfAControl) {
  std::set<std::string> names;
  for (const controls::Control& control : controls::controls()) {
    if (!races(control)) names.insert(name_of(control));
  }
  for (const auto& [name, line] : found_before()) EXPECT_EQ(names.count(name), 1U) << line;
}

TEST(ControlTable, EveryPropertyHasAnEngineThatFailsIt) {
  std::set<std::string_view> covered;
  for (const controls::Control& control : controls::controls()) covered.insert(control.property);
  for (const Property& property : properties()) {
    // What a refused call must not do is enforced above the backend, where none can get it wrong.
    if (property.name == "bad_input") continue;
    EXPECT_TRUE(covered.count(property.name)) << property.name;
  }
}

}  // namespace
}  // namespace detgemm::conformance
