// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/probe_model.hpp"

#include <gtest/gtest.h>

namespace detgemm::conformance {
namespace {

Contract contract(const char* text) { return *Contract::parse(text); }

/// `size` units with +X and -X in place of two of them.
std::vector<ProbeProduct> units(std::size_t size, std::size_t plus, std::size_t minus) {
  std::vector<ProbeProduct> list(size, ProbeProduct{0, 1});
  list[plus] = {1, 0};
  list[minus] = {-1, 0};
  return list;
}

TEST(ProbeModel, AChainKeepsWhatComesAfterTheStepOfTheSecond) {
  // Steps of 1: everything up to product 6 is lost, 3 remain.
  EXPECT_EQ(predict(contract("ieee_fma/bf16/chain"), units(10, 2, 6)).units, 3);
  // Steps of 16: the whole second step is lost.
  EXPECT_EQ(predict(contract("hopper/bf16/chain"), units(40, 2, 20)).units, 8);
}

TEST(ProbeModel, ATreeLosesTheSubtreesThatMetX) {
  // 5 leaves of 32: (l0 + l1) + (l2 + (l3 + l4)); X in l0, -X in l3.
  const auto tree = contract("hopper/bf16/tree:32");
  EXPECT_EQ(predict(tree, units(160, 0, 96)).units, 0);
  // Both in l0 and l1: the right half survives whole.
  EXPECT_EQ(predict(tree, units(160, 0, 32)).units, 96);
  // Both in l3 and l4: l0, l1 and l2 survive.
  EXPECT_EQ(predict(tree, units(160, 100, 130)).units, 96);
}

TEST(ProbeModel, AFoldKeepsTheLeavesAfterTheSecond) {
  EXPECT_EQ(predict(contract("hopper/bf16/fold:32"), units(160, 0, 96)).units, 32);
}

TEST(ProbeModel, TellsATreeOverLeavesFromOneOverRanges) {
  // 3 leaves: l0 + (l1 + l2), where halves of the range would give (l0 + l1) + l2.
  EXPECT_EQ(predict(contract("hopper/bf16/tree:32"), units(96, 40, 70)).units, 32);
}

TEST(ProbeModel, CountsAllWithoutX) {
  const std::vector<ProbeProduct> ones(777, ProbeProduct{0, 1});
  for (const char* text : {"hopper/bf16/chain", "hopper/bf16/fold:32", "hopper/bf16/tree:32"}) {
    EXPECT_EQ(predict(contract(text), ones).units, 777) << text;
  }
}

}  // namespace
}  // namespace detgemm::conformance
