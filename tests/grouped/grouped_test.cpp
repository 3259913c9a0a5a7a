// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Products of many groups: every property holds for every backend that computes them, and every
// planted fault is caught by the property that it is for.

#include "detgemm/grouped.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/grouped/arrays.hpp"
#include "tests/grouped/properties.hpp"

namespace detgemm::grouped_tests {
namespace {

/// The backends that run here and compute groups.
std::vector<const Backend*> computing() {
  std::vector<const Backend*> list;
  GroupedSpec spec;
  spec.gemm.contract = *Contract::parse("ieee_fma/bf16/chain->bf16");
  for (const Backend* backend : backends()) {
    if (backend->available() && backend->supports_grouped(spec)) list.push_back(backend);
  }
  return list;
}

TEST(Grouped, PropertiesHold) {
  ASSERT_FALSE(computing().empty());
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
    EXPECT_EQ(s.code(), Errc::unsupported);
    EXPECT_NE(s.message().find(backend->name()), std::string::npos) << s.message();
    if (backend->available()) {
      EXPECT_EQ(GroupedPlan::create(*backend, spec).status().message(), s.message());
    }
  }
}

}  // namespace
}  // namespace detgemm::grouped_tests
