// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/bits.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/suite/experiment.hpp"
#include "bench/suite/forced.hpp"
#include "tests/bench/fake_device.hpp"

namespace detgemm::bench {
namespace {

/// A problem of every kind, whose row 0 and last column are among what is recomputed.
Problem problem_of(Kind kind) {
  Problem p;
  p.kind = kind;
  p.tokens = 9;
  p.n = 70;
  p.k = 66;
  p.output = DType::fp32;  // which hides no bit of the sums
  return p;
}

/// The check makes the scales of the rows and columns that it looks at, the arm those of all.
TEST(Bits, ScaledProductsAreCheckedWithTheScalesOfTheArm) {
  FakeBenchDevice device;
  Problem p = problem_of(Kind::forward);
  p.type = DType::e4m3;
  p.n = 300;
  const Buffers buffers(device.memory(), {p}, device.pools());
  const ContractArm what{"scaled", *Contract::parse("hopper/e4m3/scaled:32->fp32")};
  const Arm arm = detgemm_arm(device, what, p, 0, buffers);
  run_over_poison(device, arm, p, buffers);
  const auto different = [&](const char* contract) {
    return check_with_backend(skeleton_backend(), device, p, *Contract::parse(contract), buffers)
        .different;
  };
  EXPECT_EQ(different("hopper/e4m3/scaled:32->fp32"), 0);
  EXPECT_GT(different("hopper/e4m3/scaled:64->fp32"), 0);
}

TEST(Bits, AreThoseOfAnotherBackendForEveryKind) {
  for (const Kind kind : {Kind::forward, Kind::da, Kind::db}) {
    FakeBenchDevice device;
    const Problem p = problem_of(kind);
    const Buffers buffers(device.memory(), {p}, device.pools());
    const ContractArm what{"tree", *Contract::parse("hopper/bf16/tree:16->fp32")};
    const Arm arm = detgemm_arm(device, what, p, 0, buffers);
    run_over_poison(device, arm, p, buffers);
    const BitsCheck found =
        check_with_backend(skeleton_backend(), device, p, what.contract, buffers);
    EXPECT_EQ(found.against, "skeleton backend, scalar");
    EXPECT_EQ(found.outputs, 4 * 48) << name(kind);
    EXPECT_EQ(found.different, 0) << name(kind);
    // One wrong bit in the last output, and another contract's bits.
    const Gemm g = gemm_of(p);
    static_cast<unsigned char*>(buffers.at(p, 0).d)[4 * g.m * g.n - 1] ^= 1U;
    EXPECT_EQ(check_with_backend(skeleton_backend(), device, p, what.contract, buffers).different,
              1);
    const auto chain = *Contract::parse("ieee_fma/bf16/chain->fp32");
    EXPECT_GT(check_with_backend(skeleton_backend(), device, p, chain, buffers).different, 1);
  }
}

CaseResult checked(FakeBenchDevice& device, const Case& c) {
  Settings settings;
  settings.check_bits = true;
  const Buffers buffers(device.memory(), {c.problem}, device.pools());
  return run_case(device, c, device.others, buffers, {}, settings);
}

TEST(Bits, AreCheckedByTheDeviceItselfWhereItCan) {
  FakeBenchDevice device;
  device.own_check = [](const Buffers::Call&, const Gemm& g) {
    return BitsCheck{"plain chain", g.m * g.n, 0};
  };
  const CaseResult result = checked(device, small_case());
  ASSERT_TRUE(result.arms[0].bits);
  EXPECT_EQ(result.arms[0].bits->against, "plain chain");
  EXPECT_EQ(result.arms[0].bits->outputs, 35);
  EXPECT_FALSE(result.wrong_bits);
}

TEST(Bits, ThatAreWrongFailTheCase) {
  FakeBenchDevice device;
  device.own_check = [](const Buffers::Call&, const Gemm&) { return BitsCheck{"plain", 4, 1}; };
  const CaseResult result = checked(device, small_case());
  EXPECT_TRUE(result.wrong_bits);
  EXPECT_EQ(result.notes, std::vector<std::string>{"chain: WRONG BITS"});
}

/// An arm whose own bits are wrong, or could not be checked, is no measure for another one.
TEST(Bits, NothingIsComparedWithAnArmThatWasNotRight) {
  for (const bool throws : {false, true}) {
    FakeBenchDevice device;
    device.own_check = [throws](const Buffers::Call&, const Gemm&) -> BitsCheck {
      if (throws) throw std::runtime_error("no means");
      return {"plain", 4, 1};
    };
    device.others = {fake_baseline("vendor", [](auto) { return 1; })};
    std::vector<Case> cases{small_case()};
    add_forced_arms(device.backend(), {"all"}, cases);
    const CaseResult result = checked(device, cases[0]);
    ASSERT_EQ(result.arms.size(), 3U);
    for (const ArmResult& arm : result.arms) {
      if (throws || arm.role == Role::baseline) {
        EXPECT_FALSE(arm.bits) << arm.name;
      } else {
        EXPECT_EQ(arm.bits->different, 1) << arm.name;
      }
    }
    EXPECT_EQ(result.wrong_bits, !throws);
  }
}

TEST(Bits, AForcedKernelIsComparedWithTheArmOfItsContractAndABaselineWithTheFirst) {
  FakeBenchDevice device;
  device.own_check = [](const Buffers::Call&, const Gemm&) { return BitsCheck{"plain", 4, 0}; };
  device.others = {fake_baseline("vendor", [](auto) { return 1; })};
  std::vector<Case> cases{small_case()};
  add_forced_arms(device.backend(), {"all"}, cases);
  const CaseResult result = checked(device, cases[0]);
  ASSERT_EQ(result.arms.size(), 3U);
  EXPECT_EQ(result.arms[1].variant, "scalar");
  EXPECT_EQ(result.arms[1].bits->against, "the first arm of hopper/bf16/chain->bf16");
  EXPECT_EQ(result.arms[1].bits->outputs, 35);
  EXPECT_EQ(result.arms[1].bits->different, 0);
  EXPECT_EQ(result.arms[2].bits->against, "chain");
  EXPECT_EQ(result.arms[2].bits->different, 35);
  EXPECT_FALSE(result.wrong_bits) << "a baseline has no contract";
}

TEST(Bits, AreNotLookedAtUnlessAskedFor) {
  FakeBenchDevice device;
  device.own_check = [](const Buffers::Call&, const Gemm&) { return BitsCheck{"plain", 4, 1}; };
  const Case c = small_case();
  const Buffers buffers(device.memory(), {c.problem}, device.pools());
  EXPECT_FALSE(run_case(device, c, {}, buffers, {}, {}).arms[0].bits);
}

}  // namespace
}  // namespace detgemm::bench
