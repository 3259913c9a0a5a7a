// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/plan.hpp"

#include <gtest/gtest.h>

#include "tests/cuda/sm90/fakes.hpp"

// Plans on the fake runtime: what a plan promises reaches the kernel, whatever it computes.

// What a plan asks the runtime beside launches. All memory is managed.
extern "C" cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
extern "C" cudaError_t cudaStreamGetDevice(cudaStream_t, int*) { return cudaSuccess; }
extern "C" const char* cudaGetErrorString(cudaError_t) { return "an error"; }
extern "C" const char* cudaGetErrorName(cudaError_t) { return "cudaError"; }

namespace detgemm::cuda {

gpu::Place Cuda::place_of(const void*) {
  gpu::Place place;
  place.managed = true;
  return place;
}
bool Cuda::reaches(const void*, int) { return true; }
cudaError_t combine_roots(const GemmArguments&, std::span<const Root>, const LaunchOptions&) {
  return cudaErrorNotSupported;
}

}  // namespace detgemm::cuda

namespace detgemm::test {
namespace {

constexpr std::int64_t kM = 256, kN = 384, kK = 512, kGroups = 3;

GroupedSpec spec_of(const char* contract) {
  GroupedSpec spec;
  spec.groups = kGroups;
  spec.gemm.n = kN;
  spec.gemm.k = kK;
  spec.gemm.op_b = Op::transpose;
  spec.gemm.contract = *Contract::parse(contract);
  return spec;
}

/// Aligned arrays, which are never followed.
GroupedOperands operands_of(const GroupedSpec& spec) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address << 24); };
  GroupedOperands o;
  o.arrays.a = row_major(at(1), kM, kK, spec.gemm.contract.input);
  o.arrays.b = row_major(at(2), kN, kK, spec.gemm.contract.input);
  o.arrays.d = row_major(at(3), kM, kN, spec.gemm.contract.output);
  o.group = {kM * kK, kN * kK, kM * kN};
  return o;
}

cuda::DeviceFacts hopper() {
  cuda::DeviceFacts facts;
  facts.sms = 132;
  facts.major = 9;
  return facts;
}

/// Runs one product or a batch, and says what reached the kernel of the last launch.
Recorded& run_plan(const char* contract, bool grouped, const PlanOptions& options, RunInfo& info) {
  Recorded& r = record();
  const GroupedSpec spec = spec_of(contract);
  const GroupedOperands o = operands_of(spec);
  const Stream stream{DeviceKind::cuda, nullptr};
  static std::vector<char> memory(1 << 26);
  const Workspace workspace{memory.data(), memory.size()};
  const Status status =
      grouped
          ? cuda::make_grouped_plan(spec, options, hopper())->run(stream, o, workspace, &info)
          : cuda::make_plan(spec.gemm, options, hopper())->run(stream, o.arrays, workspace, &info);
  EXPECT_TRUE(status) << status.message();
  return r;
}

/// The promise was lost for batches of e4m3.
TEST(CudaPlan, PromisesOfStabilityReachTheKernel) {
  const struct {
    const char* contract;
    bool grouped;
    const char* name;  ///< a part of it
  } all[] = {{"hopper/bf16/chain->bf16", false, "sm90/"},
             {"hopper/bf16/tree:128->bf16", true, "loop of 3: sm90/"},
             {"hopper/e4m3/fold:128->bf16", false, "sm90/fp8/"},
             {"hopper/e4m3/fold:128->bf16", true, "loop of 3: sm90/fp8/"}};
  for (const auto& x : all) {
    for (const Stable stable : {Stable::none, Stable::a, Stable::b}) {
      PlanOptions options;
      options.stable = stable;
      RunInfo info;
      const Recorded& r = run_plan(x.contract, x.grouped, options, info);
      EXPECT_EQ(info.kernel.find(x.name), 0U) << info.kernel;
      EXPECT_EQ(r.launches, x.grouped ? kGroups : 1);
      const bool a = stable == Stable::a, b = stable == Stable::b;
      EXPECT_EQ(r.shape.x_stable, r.shape.swapped ? b : a) << info.kernel;
      EXPECT_EQ(r.shape.y_stable, r.shape.swapped ? a : b) << info.kernel;
    }
  }
}

/// What the bits rest on is said of single products and of groups.
TEST(CudaPlan, EvidenceReachesRunInfo) {
  record();
  const GroupedSpec spec = spec_of("hopper/bf16/chain->bf16");
  const GroupedOperands o = operands_of(spec);
  const Stream stream{DeviceKind::cuda, nullptr};
  for (const char* evidence : {"measured by the project", "verified here on 2026-11-27"}) {
    RunInfo info, of_groups;
    ASSERT_TRUE(
        cuda::make_plan(spec.gemm, {}, hopper(), evidence)->run(stream, o.arrays, {}, &info));
    ASSERT_TRUE(
        cuda::make_grouped_plan(spec, {}, hopper(), evidence)->run(stream, o, {}, &of_groups));
    EXPECT_EQ(info.evidence, evidence);
    EXPECT_EQ(of_groups.evidence, evidence);
  }
}

TEST(CudaPlan, ForcedKernelsAreFoundByTheirNames) {
  const struct {
    const char* contract;
    bool grouped;
    const char* variant;
    const char* name;
  } all[] = {{"hopper/bf16/chain->bf16", false, "128x128", "sm90/128x128"},
             {"hopper/bf16/chain->bf16", true, "128x128", "sm90/128x128"},
             {"hopper/bf16/chain->bf16", false, "mma/64x64", "mma/64x64"},
             {"hopper/bf16/chain->bf16", true, "gather", "sm90/gather/grouped"},
             {"hopper/bf16/chain->bf16", true, "loop", "loop of 3: sm90/"},
             {"ieee_fma/bf16/chain->bf16", true, "32x32x16", "simt/32x32x16/grouped"},
             {"hopper/e4m3/fold:128->bf16", false, "128x128", "sm90/fp8/128x128"},
             {"hopper/e4m3/fold:128->bf16", false, "elements", "fp8/elements"},
             {"hopper/e4m3/fold:128->bf16", true, "elements", "fp8/elements/grouped"},
             {"hopper/e4m3/fold:128->bf16", true, "loop", "loop of 3: sm90/fp8/"}};
  for (const auto& x : all) {
    PlanOptions options;
    options.variant = x.variant;
    RunInfo info;
    run_plan(x.contract, x.grouped, options, info);
    EXPECT_EQ(info.kernel.find(x.name), 0U) << info.kernel << ", expected " << x.name;
    const GroupedSpec spec = spec_of(x.contract);
    const std::string usual = x.grouped
                                  ? cuda::make_grouped_plan(spec, options, hopper())->kernel(kM)
                                  : cuda::make_plan(spec.gemm, options, hopper())->kernel(kM);
    EXPECT_EQ(usual, info.kernel);
  }
}

}  // namespace
}  // namespace detgemm::test
