// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// What a device reset does to plans, on the stand-in runtime of reset_runtime.cpp.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "detgemm/hip.hpp"
#include "detgemm/plan.hpp"

namespace detgemm {
namespace {

class HipReset : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    ASSERT_NE(dlsym(library_, "fakeLoads"), nullptr) << "another runtime was found first";
    ASSERT_TRUE(hip_backend().available());
    spec_.n = kN;
    spec_.k = kK;
    spec_.contract = *Contract::parse("cdna3/bf16/chain->fp32");
  }
  template <class... A>
  int call(const char* name, A... arguments) const {
    return reinterpret_cast<int (*)(A...)>(dlsym(library_, name))(arguments...);
  }
  int loads() const { return call("fakeLoads"); }
  int launches() const { return call("fakeLaunches"); }

  Plan make_plan() const {
    auto plan = Plan::create(hip_backend(), spec_);
    EXPECT_TRUE(plan) << plan.status().message();
    return *plan;
  }
  Status run(const Plan& plan) {
    Operands operands;
    operands.a = row_major(a_.data(), kM, kK, DType::bf16);
    operands.b = row_major(b_.data(), kK, kN, DType::bf16);
    operands.d = row_major(d_.data(), kM, kN, DType::fp32);
    return plan.run({DeviceKind::hip, nullptr}, operands);
  }

  static constexpr std::int64_t kM = 4, kN = 16, kK = 32;
  void* library_ = nullptr;
  GemmSpec spec_;
  std::vector<std::uint16_t> a_ = std::vector<std::uint16_t>(kM * kK);
  std::vector<std::uint16_t> b_ = std::vector<std::uint16_t>(kK * kN);
  std::vector<float> d_ = std::vector<float>(kM * kN);
};

/// One process, one table of loaded kernels: the whole story is one test.
TEST_F(HipReset, PlansOutliveTheirContext) {
  const Plan before = make_plan();
  EXPECT_EQ(loads(), 1);
  ASSERT_TRUE(run(before));
  ASSERT_TRUE(run(make_plan()));
  EXPECT_EQ(loads(), 1) << "kernels are loaded once per context";
  EXPECT_EQ(launches(), 2);

  call("hipDeviceReset");
  const Status revived = run(before);
  EXPECT_TRUE(revived) << revived.message();
  EXPECT_EQ(loads(), 2) << "loaded again, once";
  EXPECT_EQ(launches(), 3);
  EXPECT_TRUE(run(before));
  EXPECT_TRUE(run(make_plan()));
  EXPECT_EQ(loads(), 2) << "and remembered";

  // A plan that is made after the reset does not see it before its first launch.
  call("hipDeviceReset");
  EXPECT_TRUE(run(make_plan()));
  EXPECT_EQ(loads(), 3);

  // Nothing can be loaded while a stream is being captured: the error is reported as it is.
  call("hipDeviceReset");
  call("fakeCapture", 1);
  const Status captured = run(before);
  EXPECT_EQ(captured.code(), Errc::internal);
  EXPECT_NE(captured.message().find("hip: launching mfma_bf16_"), std::string::npos)
      << captured.message();
  EXPECT_NE(captured.message().find("hipErrorInvalidHandle (400)"), std::string::npos)
      << captured.message();
  EXPECT_EQ(loads(), 3);
  call("fakeCapture", 0);
  EXPECT_TRUE(run(before));
  EXPECT_EQ(loads(), 4);

  // Where loading does not help, it is tried once per launch and not for ever.
  call("fakeBreak", 1);
  EXPECT_EQ(run(before).code(), Errc::internal);
  EXPECT_EQ(loads(), 5);
  call("fakeBreak", 0);
}

}  // namespace
}  // namespace detgemm
