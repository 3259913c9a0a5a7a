// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"
#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"
#include "tests/conformance/fake_gpu.hpp"

// A device that fails once, at any call of the engine or of the oracle: the cell says so in the
// device's sentence, and it neither passes nor blames the engine.

namespace detgemm::conformance {
namespace {

constexpr int kPlaces = 200;
// A sanitizer takes ten times as long; every place of three cases is tried without one.
#ifdef __SANITIZE_ADDRESS__
constexpr int kStep = 5;
constexpr std::int64_t kCases = 1;
#else
constexpr int kStep = 1;
constexpr std::int64_t kCases = 3;
#endif

/// The control without a fault, on this device.
const Backend* engine_on(FakeGpu& gpu) {
  controls::Fault none{"none_on_paper", controls::compute_honestly};
  none.device = &gpu;
  return controls::make_backend(none);
}

/// One that the property applies to.
const char* contract_for(std::string_view property) {
  if (property.starts_with("scales")) return "hopper/e4m3/scaled:64->fp32";
  if (property == "permutation" || property == "snapped") return "snap/bf16/tree:64->fp32";
  if (property == "microbatch" || property == "group_cuts" || property == "line_scales") {
    return "ieee_fma/bf16/fold:64->fp32";
  }
  return "ieee_fma/bf16/tree:64->fp32";
}

/// One case as often as the device is asked for something in it, and each time another answer is
/// that it failed. The place at which the case had ended.
int fail_everywhere(FakeGpu& gpu, const Options& options) {
  int failed = 0;
  for (; failed < kPlaces; failed += kStep) {
    gpu.fail_after(failed);
    const auto report = run_conformance(options);
    const bool fell = gpu.has_failed();
    gpu.fail_after(-1);
    EXPECT_EQ(gpu.held(), 0) << "call " << failed;
    EXPECT_TRUE(report.ok()) << report.status().message();
    if (!report.ok() || !fell) break;  // the case has fewer calls
    const Cell& cell = report->cells.front();
    EXPECT_EQ(name(cell.verdict), "untested") << "call " << failed << ": " << cell.reason;
    EXPECT_NE(cell.reason.find("the paper tore in "), std::string::npos) << cell.reason;
  }
  return failed;
}

Options one_case(std::string_view property, std::int64_t index) {
  Options options;
  options.contracts = {*Contract::parse(contract_for(property))};
  options.properties = {std::string(property)};
  options.only_case = index;
  return options;
}

class FailingDevice : public testing::TestWithParam<std::string_view> {};

TEST_P(FailingDevice, IsUntestedWhereverItFails) {
  static FakeGpu gpu;
  static const Backend* const engine = engine_on(gpu);
  for (std::int64_t index = 0; index < kCases; ++index) {
    Options options = one_case(GetParam(), index);
    options.engine = engine;
    options.oracle.backend = &controls::honest();
    EXPECT_GT(fail_everywhere(gpu, options), 0) << "case " << index;
  }
}

struct OracleCase {
  std::string_view property;
  std::int64_t index;
};
class FailingOracle : public testing::TestWithParam<OracleCase> {};

TEST_P(FailingOracle, IsUntestedWhereverItFails) {
  static FakeGpu gpu;
  static const Backend* const oracle = engine_on(gpu);
  Options options = one_case(GetParam().property, GetParam().index);
  options.engine = &controls::honest();
  options.oracle.backend = oracle;
  EXPECT_GT(fail_everywhere(gpu, options), 0);
}

// Of `combinations` one with a bias, whose size the oracle tells; of `large` the long K.
INSTANTIATE_TEST_SUITE_P(All, FailingOracle,
                         testing::Values(OracleCase{"reference", 0}, OracleCase{"combinations", 0},
                                         OracleCase{"combinations", 1},
                                         OracleCase{"combinations", 2},
                                         OracleCase{"combinations", 3}, OracleCase{"large", 3},
                                         OracleCase{"snapped", 0}, OracleCase{"snapped", 1}),
                         [](const auto& info) {
                           return std::string(info.param.property) + "_" +
                                  std::to_string(info.param.index);
                         });

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
