// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"
#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"
#include "tests/conformance/fake_gpu.hpp"

// A device that fails once, at any call: the cell says so in the device's sentence, and it neither
// passes nor blames the engine.

namespace detgemm::conformance {
namespace {

constexpr int kPlaces = 200;

/// One that the property applies to.
const char* contract_for(std::string_view property) {
  if (property.starts_with("scales")) return "hopper/e4m3/scaled:64->fp32";
  if (property == "permutation" || property == "snapped") return "snap/bf16/tree:64->fp32";
  if (property == "microbatch" || property == "group_cuts" || property == "line_scales") {
    return "ieee_fma/bf16/fold:64->fp32";
  }
  return "ieee_fma/bf16/tree:64->fp32";
}

class FailingDevice : public testing::TestWithParam<std::string_view> {};

TEST_P(FailingDevice, IsUntestedWhereverItFails) {
  static FakeGpu gpu;
  static const Backend* const engine = [] {
    controls::Fault none{"none_on_paper", controls::compute_honestly};
    none.device = &gpu;
    return controls::make_backend(none);
  }();
  Options options;
  options.engine = engine;
  options.oracle.backend = &controls::honest();
  options.contracts = {*Contract::parse(contract_for(GetParam()))};
  options.properties = {std::string(GetParam())};
  options.only_case = 0;
  int failed = 0;
  for (int place = 0; place < kPlaces; ++place) {
    gpu.fail_after(place);
    const auto report = run_conformance(options);
    const bool fell = gpu.has_failed();
    gpu.fail_after(-1);
    EXPECT_EQ(gpu.held(), 0) << "call " << place;
    ASSERT_TRUE(report.ok()) << report.status().message();
    const Cell& cell = report->cells.front();
    if (!fell) break;  // the case has fewer calls
    ++failed;
    EXPECT_EQ(name(cell.verdict), "untested") << "call " << place << ": " << cell.reason;
    EXPECT_NE(cell.reason.find("the paper tore in "), std::string::npos) << cell.reason;
  }
  EXPECT_GT(failed, 0);
}

std::vector<std::string_view> all_properties() {
  std::vector<std::string_view> names;
  for (const Property& property : properties()) {
    // This device has no graphs, and problems of `large` would take seconds each time.
    if (property.name == "graph_replay" || property.name == "large") continue;
    names.push_back(property.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, FailingDevice, testing::ValuesIn(all_properties()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace detgemm::conformance
