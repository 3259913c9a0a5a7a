// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/fp8_plan.hpp"

#include <algorithm>

#include "backends/gpu/address_rules.hpp"
#include "backends/gpu/arguments.hpp"
#include "backends/gpu/plan.hpp"
#include "cuda/fp8/launch.hpp"

namespace detgemm::cuda {
namespace {

class Fp8Plan final : public PlanImpl {
 public:
  Fp8Plan(const GemmSpec& spec, int device, const LaunchOptions& options)
      : spec_(spec), device_(device), options_(options) {}

  std::size_t workspace_bytes(std::int64_t) const override { return 0; }

  Status run(Stream stream, const Operands& operands, Workspace, RunInfo* info) const override {
    const auto on = gpu::handle<Cuda>(stream);
    if (Status s = gpu::check_stream<Cuda>(on, device_); !s) return s;
    if (Status s = gpu::check_factors<Cuda>(spec_, operands, device_); !s) return s;
    if (Status s = check_scales(operands); !s) return s;
    if (Status s = gpu::check_outputs<Cuda>(spec_, operands, device_); !s) return s;
    const Fp8Arguments p{gpu::arguments_of(spec_, operands), flatten_scales(spec_, operands)};
    Result<Fp8Decision> decision = decide_fp8(p, options_);
    if (!decision) return refusal(decision.status());
    LaunchOptions options = options_;
    options.stream = on;
    const cudaError_t error = enqueue_fp8(*decision, p, options);
    if (error == cudaErrorInvalidClusterSize) {
      options.clusters = false;
      const auto refused = decide_fp8(p, options);
      if (!refused) return refusal(refused.status());
    }
    if (error != cudaSuccess) return failed("launching " + cuda::name(*decision), error);
    if (info != nullptr) info->kernel = cuda::name(*decision);
    return {};
  }

  Status combine(Stream, std::span<const TreeRoot>, const Operands&, Workspace,
                 RunInfo*) const override {
    return unsupported("cuda: contract is " + spec_.contract.text() +
                       ": only trees have roots to combine");
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec_.n == 0) return "none (no outputs)";
    Fp8Arguments usual{gpu::usual_arguments(spec_, m), {}};
    usual.scales.a = {nullptr, 1, 1, 1};
    usual.scales.b = {nullptr, 128, 1, 1};
    const auto decision = decide_fp8(usual, options_);
    if (!decision) return "none (" + refusal(decision.status()).message() + ")";
    return cuda::name(*decision);
  }

 private:
  Status check_scales(const Operands& operands) const {
    if (!spec_.reads_scales() || spec_.scale_leaves() == 0) return {};
    if (Status s = gpu::check_array<Cuda>("scale_a", operands.scale_a.data, device_); !s) return s;
    return gpu::check_array<Cuda>("scale_b", operands.scale_b.data, device_);
  }
  static Status refusal(const Status& why) {
    return {why.code(), std::string(Cuda::kName) + ": " + why.message()};
  }

  GemmSpec spec_;
  int device_;
  LaunchOptions options_;
};

}  // namespace

std::shared_ptr<const PlanImpl> make_fp8_plan(const GemmSpec& spec, const PlanOptions& options,
                                              const DeviceFacts& device) {
  LaunchOptions launch;
  launch.sms = options.max_workers > 0 ? std::min(options.max_workers, device.sms) : device.sms;
  launch.forced = gpu::index_of(fp8_kernels(), options.variant);
  launch.a_is_stable = options.stable == Stable::a;
  launch.b_is_stable = options.stable == Stable::b;
  launch.overlap = !options.serial_launch;
  return std::make_shared<Fp8Plan>(spec, device.ordinal, launch);
}

}  // namespace detgemm::cuda
