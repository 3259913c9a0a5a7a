// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <memory>
#include <set>

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

class Controls : public testing::TestWithParam<std::size_t> {
 protected:
  const controls::Control& control() const { return controls::controls()[GetParam()]; }
};

TEST_P(Controls, FailsByThePropertyMeantForIt) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    Options options = options_for(control(), *control().engine);
    options.seed = seed;
    const auto report = run_conformance(options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    const Cell& cell = report->cells.front();
    EXPECT_EQ(name(cell.verdict), "failed") << control().name << " under " << control().contract
                                            << ", seed " << seed << ": " << cell.reason;
    EXPECT_FALSE(report->passed());
    ASSERT_FALSE(cell.failures.empty());
    EXPECT_NE(cell.failures.front().repro.find("--property " + cell.property), std::string::npos);
  }
}

TEST_P(Controls, TheSameCodeWithoutTheFaultPasses) {
  controls::Fault none{"none", controls::compute_honestly};
  none.device = &controls::graph_host();  // or graph_replay would be skipped
  const auto report = run_conformance(options_for(control(), *controls::make_backend(none)));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(name(report->cells.front().verdict), "passed") << report->cells.front().reason;
}

TEST_P(Controls, TheReproLinesCaseFailsByItself) {
  Options options = options_for(control(), *control().engine);
  const auto first = run_conformance(options);
  ASSERT_TRUE(first.ok());
  ASSERT_FALSE(first->cells.front().failures.empty());
  const Failure& failure = first->cells.front().failures.front();
  options.only_case = failure.case_index;
  const auto again = run_conformance(options);
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->cells.front().failures.size(), 1U);
  EXPECT_EQ(again->cells.front().failures.front().problem, failure.problem);
}

std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
  const controls::Control& control = controls::controls()[info.param];
  return std::string(control.name) + "_by_" + std::string(control.property);
}

INSTANTIATE_TEST_SUITE_P(All, Controls, testing::Range(std::size_t{0}, controls::controls().size()),
                         test_name);

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
