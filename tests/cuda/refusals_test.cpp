// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cuda/plan.hpp"
#include "detgemm/cuda.hpp"
#include "detgemm/grouped.hpp"
#include "detgemm/plan.hpp"

namespace detgemm {
namespace {

GemmSpec spec_of(const char* contract) {
  GemmSpec spec;
  spec.n = 16;
  spec.k = 32;
  spec.contract = *Contract::parse(contract);
  return spec;
}

/// What is refused whatever the machine has.
TEST(CudaBackend, OtherContractsAreRefusedByName) {
  for (const char* text :
       {"hopper/tf32/scaled:512->fp32", "hopper/e5m2/chain->fp32", "hopper/e4m3/tree:128->fp32",
        "hopper/bf16/scaled:128->bf16", "blackwell/e4m3/chain->bf16",
        "blackwell/bf16/scaled:128->bf16", "cdna3/bf16/chain->bf16"}) {
    const Status status = cuda_backend().supports(spec_of(text));
    EXPECT_EQ(status.code(), Errc::unsupported) << text;
    EXPECT_NE(status.message().find(std::string("contract is ") + text), std::string::npos)
        << status.message();
    EXPECT_TRUE(cuda_backend().variants(spec_of(text)).empty()) << text;
    EXPECT_FALSE(cuda_backend().guarantees(spec_of(text).contract).run_to_run) << text;
  }
}

/// The kernels of e4m3 are in no build that did not ask for them.
TEST(CudaBackend, E4m3IsPartOfTheBuildThatAsksForIt) {
  for (const char* text :
       {"hopper/e4m3/chain->fp32", "hopper/e4m3/fold:128->bf16", "hopper/e4m3/scaled:128->bf16"}) {
    const GemmSpec spec = spec_of(text);
#ifdef DETGEMM_CUDA_FP8
    EXPECT_FALSE(cuda_backend().variants(spec).empty()) << text;
#else
    const Status status = cuda_backend().supports(spec);
    EXPECT_EQ(status.code(), Errc::unsupported) << text;
    for (const char* part : {text, "DETGEMM_CUDA_FP8"}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
    EXPECT_TRUE(cuda_backend().variants(spec).empty()) << text;
    EXPECT_FALSE(cuda_backend().guarantees(spec.contract).run_to_run) << text;
#endif
  }
}

TEST(CudaBackend, ItsContractsHaveKernelsAndPromises) {
  for (const char* text :
       {"hopper/bf16/tree:512->bf16", "hopper/fp16/fold:64->fp32", "hopper/bf16/chain->bf16",
        "hopper/bf16/chain->fp32", "hopper/fp16/chain->fp16", "hopper/fp16/chain->bf16",
        "ieee_fma/fp32/chain->fp32", "ieee_fma/bf16/fold:1->bf16", "ieee_fma/fp16/tree:100->fp32",
        "snap/bf16/fold:128->bf16", "snap/bf16/tree:64->fp32", "ampere/bf16/chain->bf16",
        "ampere/fp16/fold:8->fp32", "blackwell/bf16/tree:64->bf16", "hopper/tf32/chain->fp32",
        "hopper/tf32/tree:512->bf16", "ampere/tf32/fold:64->fp32"}) {
    EXPECT_FALSE(cuda_backend().variants(spec_of(text)).empty()) << text;
    EXPECT_TRUE(cuda_backend().guarantees(spec_of(text).contract).backend_to_backend) << text;
  }
}

/// Operands that nobody promised to be snapped have copies in the workspace, on every device.
TEST(CudaBackend, PlansOfSnapHaveRoomForCopies) {
  GemmSpec spec = spec_of("snap/bf16/fold:64->bf16");
  spec.n = 1024;
  spec.k = 4096;
  constexpr std::int64_t kM = 256;
  const std::size_t a = kM * 4096 * 2, b = 1024 * 4096 * 2;
  for (const int major : {8, 9, 12}) {
    cuda::DeviceFacts facts;
    facts.sms = 132;
    facts.major = major;
    const auto bytes = [&](bool a_snapped, bool b_snapped) {
      spec.a_snapped = a_snapped;
      spec.b_snapped = b_snapped;
      return cuda::make_plan(spec, {}, facts)->workspace_bytes(kM);
    };
    const std::size_t multiplies = bytes(true, true);
    EXPECT_EQ(multiplies == 0, major != 9) << "CUDA cores need none";
    EXPECT_EQ(bytes(false, true), multiplies + a);
    EXPECT_EQ(bytes(true, false), multiplies + b);
    EXPECT_EQ(bytes(false, false), multiplies + a + b);
    const std::string kernel = cuda::make_plan(spec, {}, facts)->kernel(kM);
    EXPECT_TRUE(kernel.ends_with("/snap")) << kernel;
    EXPECT_TRUE(kernel.starts_with(major == 9 ? "sm90/" : "simt/")) << kernel;
  }
}

/// Devices without wgmma have kernels of mma.sync for hopper too; which of them have the arithmetic
/// is known when there is a device.
TEST(CudaBackend, PlansWithoutWgmmaAreOfMma) {
  for (const char* text :
       {"hopper/bf16/chain->bf16", "hopper/fp16/tree:64->fp32", "blackwell/bf16/fold:64->bf16"}) {
    cuda::DeviceFacts facts;
    facts.sms = 170;
    facts.major = 12;
    EXPECT_TRUE(cuda::make_plan(spec_of(text), {}, facts)->kernel(64).starts_with("mma/")) << text;
  }
}

/// No tile of wgmma is named for them.
TEST(CudaBackend, GroupsOfTf32AreOfOneKernelOrALoop) {
  for (const char* text : {"hopper/tf32/chain->bf16", "ampere/tf32/tree:64->fp32"}) {
    GroupedSpec spec;
    spec.gemm = spec_of(text);
    spec.groups = 4;
    using Names = std::vector<std::string>;
    for (const GroupKind kind : {GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
      spec.kind = kind;
      EXPECT_EQ(cuda_backend().grouped_variants(spec), (Names{"gather"})) << name(kind);
    }
    spec.kind = GroupKind::batched;
    EXPECT_EQ(cuda_backend().grouped_variants(spec), (Names{"loop", "gather"}));
  }
}

/// Roots travel as the argument of a kernel, so their number has a maximum; no device is asked
/// about any of them.
TEST(CudaBackend, MoreRootsThanOneCallJoinsAreRefused) {
  const GemmSpec spec = spec_of("hopper/bf16/tree:16->bf16");
  cuda::DeviceFacts facts;
  facts.sms = 132;
  const auto plan = cuda::make_plan(spec, {}, facts);
  const std::vector<TreeRoot> roots(2048);
  const Status status = plan->combine({}, roots, {}, {}, nullptr);
  EXPECT_EQ(status.code(), Errc::unsupported);
  EXPECT_NE(status.message().find("list of 2048: this backend joins at most 1024"),
            std::string::npos)
      << status.message();
}

/// Where there is no device everything says why, in one sentence, and nothing crashes.
TEST(CudaBackend, AbsenceIsASentence) {
  const Backend& backend = cuda_backend();
  const Status available = backend.available();
  if (available) GTEST_SKIP() << "there is a device: " << backend.device().description();
  EXPECT_EQ(available.code(), Errc::unavailable);
  EXPECT_EQ(available.message().find("cuda: "), 0U) << available.message();
  const auto plan = Plan::create(backend, spec_of("hopper/bf16/chain->bf16"));
  EXPECT_EQ(plan.status().message(), available.message());
  EXPECT_EQ(backend.supports(spec_of("hopper/bf16/chain->bf16")).message(), available.message());
  Device& device = backend.device();
  EXPECT_EQ(device.kind(), DeviceKind::cuda);
  EXPECT_TRUE(device.list().empty());
  EXPECT_EQ(device.description(), "none: " + available.message());
  EXPECT_FALSE(device.allocate(1024));
  EXPECT_TRUE(device.allocate(0));
  EXPECT_FALSE(device.create_stream());
  EXPECT_FALSE(device.synchronize({DeviceKind::cuda, nullptr}));
  device.release(nullptr);
}

}  // namespace
}  // namespace detgemm
