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

/// Without products nothing is between the loads of C and the stores of D, which are one array.
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
    for (const bool lines : {false, true}) {  // along K, as streams need them, or any strides
      request.b_layout.col_major = lines;
      request.a_layout.ld_padding = request.b_layout.ld_padding = lines ? 8 : 0;
      for (const std::string& variant : hip_backend().variants(spec)) {
        request.options.variant = variant;
        const auto got = conformance::run_once(hip_backend(), request);
        ASSERT_TRUE(got || got.status().code() == Errc::unsupported) << got.status().message();
        if (!got) continue;
        EXPECT_TRUE(got->violation.empty()) << got->violation;
        EXPECT_EQ(got->d, request.c) << contract << ", " << variant << (lines ? ", lines" : "");
      }
    }
  }
}

/// With one leaf only its products are between them, and C may be added at the very end.
TEST_F(HipPlace, AFewLeavesContinueInPlaceAsElsewhere) {
  const bool gfx942 = hip_backend().device().list().at(0).capability == "gfx942";
  const std::string own = gfx942 ? "cdna3" : "cdna2";
  for (const std::string& contract : {own + "/bf16/fold:64->fp32", own + "/fp16/chain->fp32"}) {
    int compared = 0;
    for (const std::int64_t k : {40, 64, 130}) {
      conformance::Random random(k);
      conformance::Request request;
      request.spec.contract = *Contract::parse(contract);
      request.spec.continue_from_c = true;
      const DType input = request.spec.contract.input;
      request.a = conformance::draw_normal(random, input, 19, k);
      request.b = conformance::draw_normal(random, input, k, 17);
      request.c = conformance::draw_normal(random, DType::fp32, 19, 17);
      request.b_layout.col_major = true;
      request.a_layout.ld_padding = request.b_layout.ld_padding = 8;
      GemmSpec spec = request.spec;
      spec.n = 17, spec.k = k;
      for (const std::string& variant : hip_backend().variants(spec)) {
        request.options.variant = variant;
        request.in_place = false;
        const auto apart = conformance::run_once(hip_backend(), request);
        request.in_place = true;
        const auto got = conformance::run_once(hip_backend(), request);
        ASSERT_EQ(static_cast<bool>(apart), static_cast<bool>(got)) << got.status().message();
        ASSERT_TRUE(got || got.status().code() == Errc::unsupported) << got.status().message();
        if (!got) continue;
        ++compared;
        EXPECT_EQ(got->d, apart->d) << contract << ", k " << k << ", " << variant;
      }
    }
    EXPECT_GT(compared, 6) << contract;
  }
}

/// By the runtime's own copy of lines, and line by line where the pitch is none for it.
TEST_F(HipPlace, LinesAreCopied) {
  Device& device = hip_backend().device();
  constexpr std::size_t kWidth = 40, kLines = 33, kFrom = 56, kTo = 64;
  std::vector<unsigned char> from(kFrom * kLines);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7);
  std::vector<unsigned char> to(kTo * kLines, 0xee);
  void* const source = *device.allocate(from.size());
  void* const target = *device.allocate(to.size());
  const Stream stream = *device.create_stream();
  ASSERT_TRUE(device.to_device(source, from.data(), from.size()));
  for (const std::size_t pitch :
       {kFrom, std::size_t{8}}) {  // lines that overlap are read one by one
    ASSERT_TRUE(device.to_device(target, to.data(), to.size()));
    ASSERT_TRUE(device.copy_2d(stream, target, kTo, source, pitch, kWidth, kLines));
    ASSERT_TRUE(device.synchronize(stream));
    std::vector<unsigned char> got(to.size());
    ASSERT_TRUE(device.to_host(got.data(), target, got.size()));
    for (std::size_t line = 0; line < kLines; ++line) {
      for (std::size_t i = 0; i < kTo; ++i) {
        ASSERT_EQ(got[line * kTo + i], i < kWidth ? from[line * pitch + i] : 0xee)
            << line << ' ' << i;
      }
    }
  }
  device.destroy_stream(stream);
  device.release(source);
  device.release(target);
}

/// HIP 7 faults where a destroyed stream reaches what it does not check; GCN_STRICT does so here.
TEST_F(HipPlace, DestroyedStreamsAreRefused) {
  Device& device = hip_backend().device();
  const Stream dead = *device.create_stream();
  device.destroy_stream(dead);
  void* const memory = *device.allocate(64);
  const auto refused = [](const Status& s) {
    EXPECT_FALSE(s);
    EXPECT_NE(s.message().find("hipErrorContextIsDestroyed"), std::string::npos) << s.message();
  };
  refused(device.is_capturing(dead).status());
  refused(device.finished(dead).status());
  refused(device.copy_2d(dead, memory, 16, memory, 16, 8, 2));
  EXPECT_FALSE(device.replay(
      dead, [](Stream) { return Status(); }, 1));
  device.release(memory);
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
