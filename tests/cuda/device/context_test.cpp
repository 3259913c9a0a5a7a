// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Plans that outlive the context in which they were made: a device reset, and another context.

#include <cudaTypedefs.h>

#include <memory>

#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

/// Kernels of each of these need more shared memory than a context gives without being asked.
constexpr const char* kContracts[] = {"hopper/bf16/chain->bf16", "hopper/fp16/tree:256->fp32",
                                      "ieee_fma/fp32/tree:64->fp32"};

GemmSpec large(const char* contract) { return spec_of(contract, 512, 2048); }

/// D's bytes and the kernel that ran; all memory is gone when this returns.
std::vector<std::uint8_t> run(const Plan& plan, std::string& kernel) {
  const Product p(plan.spec(), 128, 7);
  const std::size_t bytes = *plan.workspace_bytes(p.m);
  const Array scratch(bytes + 1);
  const OwnStream stream;
  RunInfo info;
  EXPECT_OK(plan.run(stream, p.operands(), {bytes != 0 ? scratch.data() : nullptr, bytes}, &info));
  stream.wait();
  kernel = info.kernel;
  return p.d.bytes();
}

TEST(Context, PlansOutliveADeviceReset) {
  for (const char* contract : kContracts) {
    const Plan plan = plan_of(large(contract));
    std::string before, after;
    const auto bits = run(plan, before);
    ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_EQ(run(plan, after), bits) << contract;
    EXPECT_EQ(after, before) << contract;
  }
}

TEST(Context, PlansRunInAnotherContext) {
  const auto find = [](const char* name, unsigned version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result),
              cudaSuccess);
    return found;
  };
  const auto create = reinterpret_cast<PFN_cuCtxCreate_v3020>(find("cuCtxCreate", 3020));
  const auto destroy = reinterpret_cast<PFN_cuCtxDestroy_v4000>(find("cuCtxDestroy", 4000));
  ASSERT_NE(create, nullptr);
  ASSERT_NE(destroy, nullptr);
  for (const char* contract : kContracts) {
    const Plan plan = plan_of(large(contract));
    std::string before, after;
    const auto bits = run(plan, before);
    CUcontext context = nullptr;
    ASSERT_EQ(create(&context, 0, 0), CUDA_SUCCESS);  // and current
    EXPECT_EQ(run(plan, after), bits) << contract;
    EXPECT_EQ(after, before) << contract;
    ASSERT_EQ(destroy(context), CUDA_SUCCESS);  // the one before is current again
    EXPECT_EQ(run(plan, after), bits) << contract;
  }
}

}  // namespace
}  // namespace detgemm::test
