// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Products of many groups: every property holds for every backend that computes them, and every
// planted fault is caught by the property that it is for.

#include "detgemm/grouped.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/conformance.hpp"
#include "tests/grouped/arrays.hpp"
#include "tests/grouped/properties.hpp"

namespace detgemm::grouped_tests {
namespace {

/// The backends that run here and compute groups, and the skeleton, which has no code for them and
/// so runs a plan for each.
std::vector<const Backend*> computing() {
  std::vector<const Backend*> list{&skeleton_backend()};
  GroupedSpec spec;
  spec.gemm.contract = *Contract::parse("ieee_fma/bf16/chain->bf16");
  for (const Backend* backend : backends()) {
    if (backend->available() && backend->supports_grouped(spec)) list.push_back(backend);
  }
  return list;
}

TEST(Grouped, PropertiesHold) {
  ASSERT_GT(computing().size(), 1U);
  for (const Backend* backend : computing()) {
    for (const Property& property : properties()) {
      try {
        property.holds(*backend);
      } catch (const Failure& failure) {
        ADD_FAILURE() << backend->name() << ", " << property.name << " (" << property.claim
                      << "): " << failure.what();
      }
    }
  }
}

/// What must not enter is asked by the conformance harness, of few contracts here.
TEST(Grouped, TheHarnessFindsNothing) {
  for (const Backend* backend : computing()) {
    conformance::Options options;
    options.engine = backend;
    for (const char* contract : {"hopper/bf16/chain->bf16", "hopper/e4m3/fold:64->fp32",
                                 "hopper/e4m3/fold:32->fp32", "hopper/bf16/fold:32->fp32",
                                 "ieee_fma/fp32/tree:16->fp32", "ieee_fma/bf16/chain->fp32"}) {
      options.contracts.push_back(*Contract::parse(contract));
    }
    for (const conformance::PropertyName& property : conformance::property_names()) {
      const std::string name(property.name);
      if (name.starts_with("group_")) options.properties.push_back(name);
    }
    ASSERT_GE(options.properties.size(), 7U);
    const auto report = conformance::run_conformance(options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->passed()) << conformance::render_text({&*report, 1});
    for (const conformance::Cell& cell : report->cells) {
      const bool cut_tree =
          cell.property == "group_cuts" && cell.contract.find("/tree:") != std::string::npos;
      EXPECT_EQ(cell.verdict,
                cut_tree ? conformance::Verdict::skipped : conformance::Verdict::passed)
          << backend->name() << ", " << cell.property << ", " << cell.contract << ": "
          << cell.reason;
    }
  }
}

TEST(Grouped, FaultsAreCaught) {
  for (const Fault& fault : faults()) {
    std::string caught;
    for (const Property& property : properties()) {
      if (std::string(fault.caught_by) != property.name && !std::string(fault.caught_by).empty()) {
        continue;
      }
      try {
        property.holds(*fault.backend);
      } catch (const Failure& failure) {
        caught += std::string(property.name) + ": " + failure.what();
      }
    }
    EXPECT_EQ(caught.empty(), std::string(fault.caught_by).empty())
        << fault.name << (caught.empty() ? " is not caught by " : " is caught: ")
        << (caught.empty() ? fault.caught_by : caught);
  }
}

TEST(Grouped, EveryPropertyHasAFault) {
  for (const Property& property : properties()) {
    const auto list = faults();
    EXPECT_TRUE(std::any_of(list.begin(), list.end(), [&](const Fault& fault) {
      return std::string(property.name) == fault.caught_by;
    })) << property.name;
  }
}

TEST(Grouped, BackendsWithoutGroupsRefuse) {
  GroupedSpec spec;
  spec.gemm.contract = *Contract::parse("ieee_fma/bf16/chain->bf16");
  spec.kind = GroupKind::m_grouped;
  for (const Backend* backend : backends()) {
    const Status s = backend->supports_grouped(spec);
    if (s) continue;
    // Without a device a backend may have that to say.
    const Errc without = backend->available() ? Errc::unsupported : Errc::unavailable;
    EXPECT_TRUE(s.code() == Errc::unsupported || s.code() == without) << s.message();
    EXPECT_NE(s.message().find(backend->name()), std::string::npos) << s.message();
    if (backend->available()) {
      // The harness skips it with that sentence, and passes nothing.
      conformance::Options options;
      options.engine = backend;
      options.contracts = {spec.gemm.contract};
      options.properties = {"group_order"};
      const auto report = conformance::run_conformance(options);
      ASSERT_TRUE(report.ok());
      if (backend->supports(spec.gemm)) {
        EXPECT_EQ(report->cells.front().verdict, conformance::Verdict::skipped);
        EXPECT_EQ(report->cells.front().reason, s.message());
      }
      EXPECT_EQ(GroupedPlan::create(*backend, spec).status().message(), s.message());
    }
  }
}

}  // namespace
}  // namespace detgemm::grouped_tests
