// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Plans on the stand-in runtime of steered_runtime.cpp: what they refuse, what they report, and
// what a device reset does to them.

#include "detgemm/plan.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "detgemm/hip.hpp"
#include "hip/arguments.hpp"
#include "tests/hip/fake/steering.hpp"

namespace detgemm {
namespace {

class HipPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    fake_ = static_cast<test::Steering*>(dlsym(library_, "detgemm_fake_hip"));
    ASSERT_NE(fake_, nullptr) << "another runtime was found first";
    ASSERT_TRUE(hip_backend().available());
    spec_.n = kN;
    spec_.k = kK;
    spec_.contract = *Contract::parse("cdna3/bf16/tree:64->fp32");
  }
  void reset() const { reinterpret_cast<int (*)()>(dlsym(library_, "hipDeviceReset"))(); }

  Plan make_plan(const char* variant = "") const {
    PlanOptions options;
    options.variant = variant;
    auto plan = Plan::create(hip_backend(), spec_, options);
    EXPECT_TRUE(plan) << plan.status().message();
    return *plan;
  }
  Operands operands() {
    Operands all;
    all.a = row_major(a_.data(), kM, kK, DType::bf16);
    all.b = row_major(b_.data(), kK, kN, DType::bf16);
    all.d = row_major(d_.data(), kM, kN, DType::fp32);
    return all;
  }
  Status run(const Plan& plan, RunInfo* info = nullptr) {
    return plan.run(kStream, operands(), workspace(), info);
  }
  Workspace workspace() { return {scratch_, sizeof(scratch_)}; }

  /// Whether the plan's description names this as the kernel for kM rows.
  static bool says(const Plan& plan, const std::string& kernel) {
    return plan.describe(kM).find(" " + kernel + "\n") != std::string::npos;
  }
  /// Expects that `plan` refuses with a sentence that starts and ends like this.
  void expect_refusal(const Plan& plan, const std::string& start, const std::string& end) {
    const int before = fake_->launches;
    const Status status = run(plan);
    EXPECT_FALSE(status);
    const std::string& said = status.message();
    EXPECT_EQ(said.rfind(start, 0), 0U) << said;
    ASSERT_GE(said.size(), end.size()) << said;
    EXPECT_EQ(said.substr(said.size() - end.size()), end) << said;
    EXPECT_EQ(fake_->launches, before) << "nothing is launched";
  }

  static constexpr Stream kStream{DeviceKind::hip, nullptr};
  static constexpr std::int64_t kM = 4, kN = 16, kK = 256;
  void* library_ = nullptr;
  test::Steering* fake_ = nullptr;
  alignas(kWorkspaceAlignment) char scratch_[1 << 24] = {};
  GemmSpec spec_;
  std::vector<std::uint16_t> a_ = std::vector<std::uint16_t>(kM * kK);
  std::vector<std::uint16_t> b_ = std::vector<std::uint16_t>(kK * kN);
  std::vector<float> d_ = std::vector<float>(kM * kN);
};

TEST_F(HipPlan, ReportsTheKernelThatItLaunched) {
  RunInfo info;
  const int before = fake_->launches;
  int expected = 0;
  // B along K, which every kernel takes.
  const auto run_one = [&](const char* variant) {
    Operands all = operands();
    all.b = col_major(b_.data(), kK, kN, DType::bf16);
    return make_plan(variant).run(kStream, all, workspace(), &info);
  };
  for (const std::string& variant : hip_backend().variants(spec_)) {
    ASSERT_TRUE(run_one(variant.c_str())) << variant;
    EXPECT_EQ(info.kernel.rfind("gfx942/" + variant, 0), 0U) << info.kernel;
    expected += variant.find("-parts") == std::string::npos ? 1 : 2;  // and the combine
  }
  EXPECT_EQ(expected, 9 + 9 * 2);
  ASSERT_TRUE(run(make_plan(), &info));
  EXPECT_TRUE(says(make_plan(), info.kernel)) << info.kernel;
  EXPECT_EQ(fake_->launches, before + expected + 1);
  const ConstMatrix root = row_major(d_.data(), kM, kN, DType::fp32);
  const ConstMatrix roots[] = {root, root};
  std::vector<float> sum(kM * kN);
  Operands out;
  out.d = row_major(sum.data(), kM, kN, DType::fp32);
  ASSERT_TRUE(make_plan().combine(kStream, roots, out, workspace(), &info));
  EXPECT_EQ(info.kernel, "gfx942/combine");
}

TEST_F(HipPlan, RefusesArraysThatItsForcedKernelDoesNotTake) {
  const Plan plan = make_plan("128x128");
  b_.resize(kK * (kN + 1));
  Operands odd = operands();
  odd.b = row_major(b_.data(), kK, kN, DType::bf16, kN + 1);
  const Status status = plan.run(kStream, odd, workspace());
  EXPECT_EQ(status.code(), Errc::unsupported);
  EXPECT_EQ(
      status.message(),
      "hip: variant is \"128x128\": it reads A and B in aligned chunks of 16 bytes along K, or of "
      "8 bytes along M or N, and one of them is not aligned so; leave it empty for a kernel that "
      "takes these arrays");
  spec_.n = kN + 1;
  EXPECT_TRUE(says(make_plan("128x128"), "none (" + status.message() + ")"));
}

TEST_F(HipPlan, RefusesWhatItsDeviceCannotReach) {
  const Plan plan = make_plan();
  fake_->device = 1;
  expect_refusal(plan, "the current device is 1: ",
                 "the plan was made for device 0, which must be current when it runs");
  fake_->device = 0;
  // A null stream belongs to every device, so the sentence about streams needs another one.
  Stream other = kStream;
  other.handle = scratch_;
  fake_->stream_device = 1;
  EXPECT_EQ(plan.run(other, operands(), workspace()).message(),
            "stream.handle is a stream of device 1: the plan was made for device 0");
  fake_->capturing = 1;
  EXPECT_TRUE(plan.run(other, operands(), workspace())) << "a captured stream is not asked";
  fake_->capturing = fake_->stream_device = 0;

  const std::string rule = ": it must be memory of the plan's device 0, or managed";
  fake_->memory_device = 1;
  expect_refusal(plan, "a.data is 0x", ", memory of device 1" + rule);
  fake_->memory_type = 1;
  expect_refusal(plan, "a.data is 0x", ", pinned host memory" + rule);
  fake_->memory_type = 0;
  expect_refusal(plan, "a.data is 0x", ", memory that HIP has not allocated" + rule);
  fake_->managed = 1;
  EXPECT_TRUE(run(plan));
  fake_->managed = fake_->memory_device = 0;
  fake_->memory_type = 2;
  EXPECT_TRUE(run(plan));
}

/// The order of tiles follows the dies that the runtime reports. Facts are asked once per device,
/// so every case is another one.
TEST_F(HipPlan, DealsTilesToTheDiesOfItsDevice) {
  const struct {
    int units, said, expected;
  } cases[] = {
      {304, 8, 8},  // MI300X
      {80, 4, 4},   // MI308X
      {38, 1, 1},   // a partition of one die
      {304, 0, 8},  // a runtime that does not know the question: 38 units per die
      {304, 9, 8},  // and one whose answer cannot be
      {80, 0, 1},   // nothing to guess from
  };
  spec_.contract = *Contract::parse("cdna3/bf16/chain->fp32");
  int ordinal = 10;
  for (const auto& one : cases) {
    fake_->device = fake_->memory_device = fake_->stream_device = ++ordinal;
    fake_->units = one.units;
    fake_->xcds = one.said;
    ASSERT_TRUE(run(make_plan()));
    static_assert(sizeof(hip::TileArguments) <= sizeof(fake_->arguments));
    hip::TileArguments launched;
    std::memcpy(&launched, fake_->arguments, sizeof(launched));
    EXPECT_EQ(launched.g.m, kM) << "other arguments than a tile's";
    EXPECT_EQ(launched.raster.xcds, one.expected) << one.units << " " << one.said;
  }
  fake_->device = fake_->memory_device = fake_->stream_device = 0;
}

TEST_F(HipPlan, OutlivesItsContext) {
  reset();
  ASSERT_TRUE(run(make_plan()));
  const Plan before = make_plan();
  const int loads = fake_->loads;
  const int launches = fake_->launches;
  ASSERT_TRUE(run(before));
  ASSERT_TRUE(run(make_plan()));
  EXPECT_EQ(fake_->loads, loads) << "kernels are loaded once per context";
  EXPECT_EQ(fake_->launches, launches + 2);

  reset();
  const Status revived = run(before);
  EXPECT_TRUE(revived) << revived.message();
  EXPECT_EQ(fake_->loads, loads + 1) << "loaded again, once";
  EXPECT_EQ(fake_->launches, launches + 3);
  EXPECT_TRUE(run(before));
  EXPECT_TRUE(run(make_plan()));
  EXPECT_EQ(fake_->loads, loads + 1) << "and remembered";

  // Nothing shows a reset to a plan that is made after it, before its first launch.
  reset();
  EXPECT_TRUE(run(make_plan()));
  EXPECT_EQ(fake_->loads, loads + 2);
}

/// Nothing can be loaded while a stream is being captured: the error is reported as it is.
TEST_F(HipPlan, LoadsNothingDuringACapture) {
  const Plan plan = make_plan();
  reset();
  fake_->capturing = 1;
  const int loads = fake_->loads;
  expect_refusal(plan, "hip: launching mfma_bf16_", "failed: hipErrorInvalidHandle (400)");
  EXPECT_EQ(fake_->loads, loads);
  fake_->capturing = 0;
  EXPECT_TRUE(run(plan));
  EXPECT_EQ(fake_->loads, loads + 1);
}

/// Where loading does not help, it is tried once per launch and no more.
TEST_F(HipPlan, GivesUpWhenLoadingAgainDoesNotHelp) {
  const Plan plan = make_plan();
  fake_->broken = 1;
  const int loads = fake_->loads;
  expect_refusal(plan, "hip: launching mfma_bf16_", "failed: hipErrorInvalidHandle (400)");
  EXPECT_EQ(fake_->loads, loads + 1);
  fake_->broken = 0;
}

}  // namespace
}  // namespace detgemm
