// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/suite/overheads.hpp"
#include "tests/bench/fake_device.hpp"

namespace detgemm::bench {
namespace {

CaseResult run(FakeBenchDevice& device, const Case& c, const Ceilings& ceilings = {},
               const Settings& settings = {}) {
  const Buffers buffers(device.memory(), {c.problem}, device.pools());
  return run_case(device, c, device.others, buffers, ceilings, settings);
}

const ArmResult& arm(const CaseResult& result, const std::string& name) {
  const auto it = std::find_if(result.arms.begin(), result.arms.end(),
                               [&](const ArmResult& a) { return a.name == name; });
  EXPECT_NE(it, result.arms.end()) << name;
  return *it;
}

TEST(Experiment, TimesEveryArmByTheQueuesClock) {
  FakeBenchDevice device;
  device.others = {fake_baseline("vendor", [](auto) { return 1; })};
  device.fake.cost = [](const std::string& name, int) { return name == "chain" ? 10.0 : 12.0; };
  const CaseResult result = run(device, small_case());
  EXPECT_DOUBLE_EQ(arm(result, "chain").us.median, 10.0);
  EXPECT_DOUBLE_EQ(arm(result, "vendor").us.median, 12.0);
  EXPECT_EQ(arm(result, "chain").us.samples, 9);
  ASSERT_EQ(result.comparisons.size(), 1U);
  EXPECT_DOUBLE_EQ(result.comparisons[0].comparison.ratio, 1.2);
  EXPECT_EQ(result.comparisons[0].comparison.verdict, "faster");
  EXPECT_EQ(arm(result, "chain").digest, hex(small_case().contract_arms[0].contract.digest()));
}

TEST(Experiment, TakesTheArmsInTurnForwardsAndBackwards) {
  FakeBenchDevice device;
  device.others = {fake_baseline("vendor", [](auto) { return 1; })};
  run(device, small_case());
  const auto& order = device.fake.launched;
  ASSERT_GE(order.size(), 18U);
  const std::vector<std::string> last(order.end() - 18, order.end());
  for (std::size_t r = 0; r < 9; ++r) {
    EXPECT_EQ(last[2 * r], r % 2 == 0 ? "chain" : "vendor") << r;
    EXPECT_EQ(last[2 * r + 1], r % 2 == 0 ? "vendor" : "chain") << r;
  }
}

TEST(Experiment, ABaselineWhoseRowDependsOnTheBatchIsShownAsNo) {
  FakeBenchDevice device;
  device.others = {fake_baseline("faithful", [](auto) { return 3; }),
                   fake_baseline("fickle", [](std::int64_t m) { return m == 1 ? 3 : 4; })};
  const CaseResult result = run(device, small_case());
  EXPECT_EQ(arm(result, "chain").batch_invariant, std::optional<bool>(true));
  EXPECT_EQ(arm(result, "faithful").batch_invariant, std::optional<bool>(true));
  EXPECT_EQ(arm(result, "fickle").batch_invariant, std::optional<bool>(false));
}

TEST(Experiment, WhereMIsOneOrTheReductionThereIsNoSuchQuestion) {
  FakeBenchDevice device;
  Case one = small_case();
  one.problem.tokens = 1;
  EXPECT_EQ(arm(run(device, one), "chain").batch_invariant, std::nullopt);
  Case db = small_case();
  db.problem.kind = Kind::db;
  EXPECT_EQ(arm(run(device, db), "chain").batch_invariant, std::nullopt);
}

TEST(Experiment, ANoisyClockIsInconclusive) {
  FakeBenchDevice device;
  device.others = {fake_baseline("vendor", [](auto) { return 1; })};
  device.fake.cost = [](const std::string& name, int launch) {
    return name == "chain" ? 10.0 : launch % 2 == 0 ? 5.0 : 30.0;
  };
  const CaseResult result = run(device, small_case());
  EXPECT_EQ(result.comparisons[0].comparison.verdict, "inconclusive");
  EXPECT_GT(arm(result, "vendor").us.noise(), kNoisy);
  EXPECT_LT(arm(result, "chain").us.noise(), kNoisy);
  EXPECT_FALSE(result.settled);
}

TEST(Experiment, AnArmThatCannotRunIsLeftOutWithItsSentence) {
  FakeBenchDevice device;
  Baseline broken;
  broken.name = "broken";
  broken.present = true;
  broken.make = [](const BaselineRequest&) -> Arm { throw std::runtime_error("no such type"); };
  device.others = {broken};
  const CaseResult result = run(device, small_case());
  ASSERT_EQ(result.arms.size(), 1U);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes[0], "broken: left out: no such type");
}

TEST(Experiment, ASmallKernelRunsBeforeEveryCallOfEveryArm) {
  FakeBenchDevice device;
  int small = 0;
  int vendor = 0;
  device.small_kernel = [&](Before before) {
    EXPECT_EQ(before, Before::own);
    ++small;
  };
  device.others = {fake_baseline("vendor", [&](auto) { return ++vendor, 1; })};
  Case c = small_case();
  c.problem.before = Before::own;
  Settings settings;
  settings.batch_property = false;
  EXPECT_EQ(run(device, c, {}, settings).arms.size(), 2U);
  EXPECT_GT(vendor, 0);
  EXPECT_EQ(small, 2 * vendor) << "one before every call of both arms";
}

TEST(Experiment, WithoutSmallKernelsSuchACaseFailsWithASentence) {
  FakeBenchDevice device;
  Case c = small_case();
  c.problem.before = Before::foreign;
  const CaseResult result = run(device, c);
  EXPECT_TRUE(result.arm_failed);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes[0],
            "chain: left out: this device has no small kernels that run before a call");
}

/// What the backend computes must run. What it does not compute is left out, as a baseline is.
TEST(Experiment, AnArmOfDetgemmThatEndsInAnErrorFailsTheCase) {
  FakeBenchDevice device;
  Case c = small_case();
  EXPECT_FALSE(run(device, c).arm_failed);
  c.contract_arms.push_back(
      {"forced", c.contract_arms[0].contract, Stable::none, "no such kernel"});
  CaseResult result = run(device, c);
  EXPECT_TRUE(result.arm_failed);
  EXPECT_EQ(result.arms.size(), 1U);
  c = small_case();
  c.problem.accumulate = true;
  c.contract_arms = {{"tree", *Contract::parse("hopper/bf16/tree:16->fp32")}};
  result = run(device, c);
  EXPECT_FALSE(result.arm_failed) << "a tree cannot continue from C";
  EXPECT_EQ(result.notes.size(), 1U);
}

TEST(Experiment, SampledAgainWithMoreLeadWhereTheHostWasTooSlow) {
  FakeBenchDevice device;
  device.fake.late = 3;
  run(device, small_case());
  EXPECT_EQ(device.fake.late, 0);
}

TEST(Experiment, SettledBlocksRunWithoutRestAndCountTwoThirds) {
  FakeBenchDevice device;
  Case c = small_case();
  c.mode = Mode::settled;
  const CaseResult result = run(device, c);
  EXPECT_DOUBLE_EQ(arm(result, "chain").us.median, 10.0);
  EXPECT_EQ(arm(result, "chain").us.samples, 9);
}

TEST(Experiment, ShareOfTheLimitIsOfTheSlowerOfBytesAndFlops) {
  FakeBenchDevice device;
  const Case c = small_case();
  const Gemm g = gemm_of(c.problem);
  Ceilings ceilings;
  ceilings.copy_bytes_per_s = g.bytes() / 2e-6;  // 2 us
  ceilings.flops = {{"bf16", g.flops() / 1e-6}};
  const CaseResult result = run(device, c, ceilings);
  EXPECT_NEAR(result.limit_us, 2.0, 1e-9);
  EXPECT_EQ(result.limited_by, "memory");
  EXPECT_NEAR(arm(result, "chain").share_of_limit, 0.2, 1e-9);
}

TEST(Experiment, OnlyWantedArmsRun) {
  FakeBenchDevice device;
  device.others = {fake_baseline("vendor", [](auto) { return 1; })};
  Settings settings;
  settings.wanted = [](const std::string& name) { return name.find("chain") != name.npos; };
  EXPECT_EQ(arms_of(small_case(), device.others, settings), std::vector<std::string>{"chain"});
  EXPECT_EQ(run(device, small_case(), {}, settings).arms.size(), 1U);
}

TEST(Experiment, ABudgetShrinksRepetitionsToThreeAtLeast) {
  FakeBenchDevice device;
  Settings settings;
  settings.shrink = 0.5;
  EXPECT_EQ(protocol_of(device, small_case(), settings).repetitions, 5);
  settings.shrink = 0.01;
  EXPECT_EQ(protocol_of(device, small_case(), settings).repetitions, 3);
}

TEST(Experiment, ACaseLimitsItsRepetitionsItsRestAndItsBaselines) {
  FakeBenchDevice device;
  Case c = small_case();
  c.repetitions = 4;
  c.idle_ms = 0.5;
  c.baselines = {"vendor"};
  EXPECT_EQ(protocol_of(device, c, {}).repetitions, 4);
  EXPECT_EQ(protocol_of(device, c, {}).idle_ms, 0.5);
  device.others = {fake_baseline("vendor", [](auto) { return 1; }),
                   fake_baseline("other", [](auto) { return 1; })};
  EXPECT_EQ(arms_of(c, device.others, {}), (std::vector<std::string>{"chain", "vendor"}));
  EXPECT_EQ(run(device, c).arms.size(), 2U);
}

TEST(Experiment, RecordsTheClockWhereItCanBeRead) {
  FakeBenchDevice device;
  EXPECT_EQ(arm(run(device, small_case()), "chain").sm_mhz, 0);
  device.fake.mhz = 1755;
  EXPECT_DOUBLE_EQ(arm(run(device, small_case()), "chain").sm_mhz, 1755);
  Case c = small_case();
  c.mode = Mode::settled;
  EXPECT_DOUBLE_EQ(arm(run(device, c), "chain").sm_mhz, 1755);
}

TEST(Experiment, ACeilingIsTimedAndComparedWithNobody) {
  FakeBenchDevice device;
  device.others = {fake_baseline("read", [](auto) { return 1; })};
  device.others[0].role = Role::ceiling;
  const CaseResult result = run(device, small_case());
  EXPECT_EQ(arm(result, "read").role, Role::ceiling);
  EXPECT_EQ(arm(result, "read").batch_invariant, std::nullopt);
  EXPECT_TRUE(result.comparisons.empty());
  device.others[0].takes = [](const Problem& p) { return p.tokens == 1; };
  EXPECT_EQ(run(device, small_case()).arms.size(), 1U);
}

TEST(Overheads, AreOfPlansCallsAndWorkspaces) {
  FakeBenchDevice device;
  const Overheads found = measure_overheads(device, Arithmetic::hopper);
  EXPECT_EQ(found.us.size(), 10U) << "a plan and a call each of four contracts, rules, the clock";
  EXPECT_EQ(found.us_p90.size(), 10U);
  for (const auto& [what, us] : found.us) EXPECT_GT(us, 0) << what;
  EXPECT_EQ(found.bytes.size(), 7U);
}

}  // namespace
}  // namespace detgemm::bench
