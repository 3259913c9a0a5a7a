// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/plan.hpp"

#include <gtest/gtest.h>

#include "backends/gpu/plan.hpp"
#include "cuda/launch.hpp"
#include "detgemm/tuning.hpp"
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

/// The CUDA backend as far as tuning files see it, without a device.
class FileBackend final : public Backend, public TuningEngine {
 public:
  std::string_view name() const noexcept override { return "cuda"; }
  std::string_view description() const noexcept override { return ""; }
  Status available() const override { return {}; }
  Status supports(const GemmSpec&) const override { return {}; }
  Guarantees guarantees(const Contract&) const override { return {}; }
  std::vector<std::string> variants(const GemmSpec&) const override { return {}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec&,
                                                    const PlanOptions&) const override {
    return unsupported("no plans");
  }
  Device& device() const noexcept override { return host_device(); }
  const TuningEngine* tuning() const noexcept override { return this; }
  Result<TuningTarget> target() const override { return TuningTarget{"cuda", "0", 1, "H", 132}; }
  std::int32_t number(const GemmSpec& spec, std::string_view kernel) const override {
    return gpu::index_of(cuda::kernels(spec.contract), kernel);
  }
  std::vector<std::string> ranked(const GemmSpec&, std::int64_t) const override { return {}; }
};

std::shared_ptr<const Tuning> tuning_of(const char* contract, std::vector<TunedRange> ranges) {
  static const FileBackend backend;
  const GemmSpec spec = spec_of(contract).gemm;
  const auto made = Tuning::make(
      backend, {{spec.contract, spec.n, spec.k, spec.op_a, spec.op_b, std::move(ranges)}});
  EXPECT_TRUE(made) << made.status().message();
  return *made;
}

/// A row decides; one whose kernel does not take the arrays is passed over; a forced kernel,
/// another M and groups are as without it.
TEST(CudaPlan, TuningChoosesAmongKernelsThatTakeTheArrays) {
  const char* const contract = "hopper/bf16/chain->bf16";
  const auto kernel = [&](const std::shared_ptr<const Tuning>& tuning, bool grouped = false,
                          const char* variant = "", const char* of = "hopper/bf16/chain->bf16") {
    PlanOptions options;
    options.tuning = tuning;
    options.variant = variant;
    RunInfo info;
    run_plan(of, grouped, options, info);
    return info.kernel;
  };
  const std::string chosen = kernel(nullptr);
  for (const char* name : {"128x64", "256x128", "64x64", "128x256"}) {
    const auto tuning = tuning_of(contract, {{1, kM - 1, "64x64"}, {kM, kM, name}});
    EXPECT_EQ(kernel(tuning).find("sm90/" + std::string(name)), 0U) << kernel(tuning);
    EXPECT_EQ(kernel(tuning, false, "128x128").find("sm90/128x128"), 0U);
    EXPECT_EQ(kernel(tuning, true), kernel(nullptr, true));
    EXPECT_EQ(kernel(tuning, false, "", "hopper/bf16/tree:128->bf16"),
              kernel(nullptr, false, "", "hopper/bf16/tree:128->bf16"));
  }
  EXPECT_EQ(kernel(tuning_of(contract, {{1, kM - 1, "64x64"}})), chosen);
  EXPECT_EQ(kernel(tuning_of(contract, {{kM + 1, 2 * kM, "64x64"}})), chosen);
  for (const cuda::KernelInfo& info : cuda::kernels(*Contract::parse(contract))) {
    if (info.name.find("-load16") == std::string::npos) continue;  // M and N have more rows
    EXPECT_EQ(kernel(tuning_of(contract, {{kM, kM, info.name}})), chosen) << info.name;
  }
}

/// Whatever a file names, the kernel is one of the contract's or the chosen one.
TEST(CudaPlan, RandomTuningRunsAListedKernel) {
  for (const char* contract : {"hopper/bf16/chain->bf16", "hopper/bf16/fold:128->bf16",
                               "hopper/bf16/tree:128->bf16", "ieee_fma/bf16/chain->bf16"}) {
    RunInfo chosen;
    run_plan(contract, false, {}, chosen);
    int took = 0, passed = 0;
    for (const cuda::KernelInfo& info : cuda::kernels(*Contract::parse(contract))) {
      if (info.family == cuda::Family::mma) continue;
      PlanOptions options;
      options.tuning = tuning_of(contract, {{1, 2 * kM, info.name}});
      RunInfo ran;
      run_plan(contract, false, options, ran);
      const bool is_row = ran.kernel.find("/" + info.name) != std::string::npos;
      EXPECT_TRUE(is_row || ran.kernel == chosen.kernel) << info.name << " ran " << ran.kernel;
      ++(is_row ? took : passed);
    }
    EXPECT_GT(took, 4) << contract << ": " << passed << " were passed over";
  }
}

}  // namespace
}  // namespace detgemm::test
