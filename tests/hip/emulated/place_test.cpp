// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "core/conformance/request.hpp"
#include "detgemm/detgemm.hpp"
#include "detgemm/hip.hpp"
#include "tests/hip/problem.hpp"

namespace detgemm {
namespace {

/// What can only be seen on a device, which is emulated here.
class HipPlace : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status s = hip_backend().available(); !s) FAIL() << s.message();
  }
};

TEST_F(HipPlace, HostMemoryIsRefusedBeforeAnythingIsWritten) {
  std::vector<float> host(64, 1.0F);
  GemmSpec spec;
  spec.n = spec.k = 8;
  spec.contract = *Contract::parse("ieee_fma/fp32/chain->fp32");
  const auto plan = Plan::create(hip_backend(), spec);
  ASSERT_TRUE(plan) << plan.status().message();
  const Matrix view = row_major(host.data(), 8, 8, DType::fp32);
  std::vector<float> result(64, 7.0F);
  const Stream stream{DeviceKind::hip, nullptr};
  const Status status = plan->run(stream, view, view, row_major(result.data(), 8, 8, DType::fp32));
  EXPECT_EQ(status.code(), Errc::invalid_argument);
  EXPECT_EQ(status.message().find("a.data is 0x"), 0U) << status.message();
  EXPECT_NE(
      status.message().find("memory that HIP has not allocated: it must be memory of the plan's "
                            "device 0, or managed"),
      std::string::npos)
      << status.message();
  EXPECT_EQ(result, std::vector<float>(64, 7.0F));
}

TEST_F(HipPlace, OtherChipsContractsAreRefusedByName) {
  const bool gfx942 = hip_backend().device().list().at(0).capability == "gfx942";
  GemmSpec spec;
  spec.n = spec.k = 8;
  spec.contract = *Contract::parse(gfx942 ? "cdna2/bf16/chain" : "cdna3/bf16/chain");
  const Status status = hip_backend().supports(spec);
  EXPECT_EQ(status.code(), Errc::unsupported);
  EXPECT_NE(status.message().find(gfx942 ? "is a gfx942: cdna2/bf16/chain->bf16 needs gfx90a"
                                         : "is a gfx90a: cdna3/bf16/chain->bf16 needs gfx942"),
            std::string::npos)
      << status.message();
}

/// Without products nothing lies between the loads of C and the stores of D, which are one array.
TEST_F(HipPlace, NothingContinuedInPlaceStays) {
  const bool gfx942 = hip_backend().device().list().at(0).capability == "gfx942";
  const std::string own = gfx942 ? "cdna3" : "cdna2";
  for (const std::string& contract :
       {own + "/bf16/chain->fp32", own + "/fp16/fold:64->fp32", own + "/fp16/chain->fp32",
        own + "/bf16/fold:64->fp32", std::string("ieee_fma/fp32/chain->fp32")}) {
    conformance::Random random(7);
    conformance::Request request;
    request.spec.contract = *Contract::parse(contract);
    request.spec.continue_from_c = true;
    request.a = conformance::Elements(request.spec.contract.input, 19, 0);
    request.b = conformance::Elements(request.spec.contract.input, 0, 17);
    request.c = conformance::draw_normal(random, DType::fp32, 19, 17);
    request.in_place = true;
    GemmSpec spec = request.spec;
    spec.n = 17;
    for (const std::string& variant : hip_backend().variants(spec)) {
      request.options.variant = variant;
      const auto got = conformance::run_once(hip_backend(), request);
      ASSERT_TRUE(got || got.status().code() == Errc::unsupported) << got.status().message();
      if (!got) continue;
      EXPECT_TRUE(got->violation.empty()) << got->violation;
      EXPECT_EQ(got->d, request.c) << contract << ", " << variant;
    }
  }
}

/// From 64 on, roots no longer fit into a kernel's arguments and go through the workspace.
TEST_F(HipPlace, AnyNumberOfRootsGivesTheReferencesBits) {
  for (const int count : {1, 2, 32, 64, 256}) {
    conformance::Random random(static_cast<std::uint64_t>(count));
    conformance::Request request;
    request.spec.contract = *Contract::parse("ieee_fma/bf16/tree:8->bf16");
    request.spec.alpha = 0.5F;
    request.spec.activation = Activation::gelu;
    request.a = conformance::draw_normal(random, DType::bf16, 19, 8 * 256);
    request.b = conformance::draw_normal(random, DType::bf16, 8 * 256, 33);
    for (int i = 0; i < count; ++i) {
      request.roots.push_back(conformance::draw_normal(random, DType::fp32, 19, 33));
    }
    const auto got = conformance::run_once(hip_backend(), request);
    const auto expected = conformance::run_once(**find_backend("reference"), request);
    ASSERT_TRUE(got) << got.status().message();
    ASSERT_TRUE(expected) << expected.status().message();
    EXPECT_TRUE(got->violation.empty()) << got->violation;
    EXPECT_EQ(got->d, expected->d) << count;
  }
}

}  // namespace
}  // namespace detgemm
