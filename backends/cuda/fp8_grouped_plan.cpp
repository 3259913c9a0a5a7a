// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/fp8_grouped_plan.hpp"

#include <algorithm>
#include <string>

#include "backends/gpu/address_rules.hpp"
#include "backends/gpu/arguments.hpp"
#include "cuda/fp8/grouped.hpp"

namespace detgemm::cuda {
namespace {

class Fp8GroupedPlan final : public GroupedPlanImpl {
 public:
  Fp8GroupedPlan(const GroupedSpec& spec, int device, const LaunchOptions& options,
                 std::string forced)
      : spec_(spec), device_(device), options_(options), forced_(std::move(forced)) {}

  std::size_t workspace_bytes(std::int64_t, std::int64_t) const override { return 0; }

  Status run(Stream stream, const GroupedOperands& operands, Workspace,
             RunInfo* info) const override {
    const auto on = gpu::handle<Cuda>(stream);
    Fp8Groups all{flatten(spec_, operands), flatten_scales(spec_.gemm, operands.arrays)};
    GroupedArguments& p = all.p;
    GemmSpec one = spec_.gemm;
    one.k = p.all.k;
    if (Status s = gpu::check_stream<Cuda>(on, device_); !s) return s;
    if (Status s = gpu::check_factors<Cuda>(one, operands.arrays, device_); !s) return s;
    if (Status s = gpu::check_outputs<Cuda>(one, operands.arrays, device_); !s) return s;
    if (Status s = check_scales(one, operands.arrays); !s) return s;
    if (p.kind != GroupKind::batched) {
      if (Status s = gpu::check_array<Cuda>("offsets", p.offsets, device_); !s) return s;
    }
    if (!one.reads_c()) p.all.c = nullptr;
    if (!one.bias) p.all.bias = nullptr;
    LaunchOptions options = options_;
    options.stream = on;
    const auto decision = decide_fp8_groups(all, options, forced_);
    if (!decision) return refusal(decision.status());
    const cudaError_t error = enqueue_fp8_groups(*decision, all, options);
    if (error != cudaSuccess) return failed("launching " + cuda::name(*decision), error);
    if (info != nullptr) info->kernel = cuda::name(*decision);
    return {};
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec_.gemm.n == 0) return "none (no outputs)";
    Fp8Groups usual;
    GemmSpec one = spec_.gemm;
    if (spec_.kind == GroupKind::k_grouped) one.k = spec_.groups * 1024;
    usual.p.all = gpu::usual_arguments(one, m);
    usual.p.kind = spec_.kind;
    usual.p.groups = spec_.groups;
    usual.scales.a = {nullptr, 1, 1, 1};
    usual.scales.b = {nullptr, 128, 1, 1};
    const auto decision = decide_fp8_groups(usual, options_, forced_);
    if (!decision) return "none (" + refusal(decision.status()).message() + ")";
    return cuda::name(*decision);
  }

 private:
  Status check_scales(const GemmSpec& one, const Operands& operands) const {
    if (!one.reads_scales() || one.scale_leaves() == 0) return {};
    if (Status s = gpu::check_array<Cuda>("scale_a", operands.scale_a.data, device_); !s) return s;
    return gpu::check_array<Cuda>("scale_b", operands.scale_b.data, device_);
  }
  static Status refusal(const Status& why) {
    return {why.code(), std::string(Cuda::kName) + ": " + why.message()};
  }

  GroupedSpec spec_;
  int device_;
  LaunchOptions options_;
  std::string forced_;
};

}  // namespace

std::shared_ptr<const GroupedPlanImpl> make_fp8_grouped_plan(const GroupedSpec& spec,
                                                             const PlanOptions& options,
                                                             const DeviceFacts& device) {
  LaunchOptions launch;
  launch.sms = options.max_workers > 0 ? std::min(options.max_workers, device.sms) : device.sms;
  launch.overlap = !options.serial_launch;
  return std::make_shared<Fp8GroupedPlan>(spec, device.ordinal, launch, options.variant);
}

}  // namespace detgemm::cuda
