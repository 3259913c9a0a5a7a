// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/grouped_plan.hpp"

#include <algorithm>
#include <optional>

#include "backends/gpu/address_rules.hpp"
#include "backends/gpu/arguments.hpp"
#include "cuda/grouped/launch.hpp"

namespace detgemm::cuda {
namespace {

/// Groups of m rows whose arrays are as they usually are: packed, row-major, aligned, one behind
/// the other.
GroupedArguments usual_groups(const GroupedSpec& spec, std::int64_t m) {
  GroupedArguments p;
  GemmSpec one = spec.gemm;
  if (spec.kind == GroupKind::k_grouped) one.k = spec.groups * 1024;
  p.all = gpu::usual_arguments(one, m);
  p.kind = spec.kind;
  p.groups = spec.groups;
  const std::int64_t n = spec.gemm.n, k = spec.gemm.k;
  const bool by_rows = spec.kind == GroupKind::m_grouped;
  const bool by_k = spec.kind == GroupKind::k_grouped;
  if (!by_rows && !by_k) p.distance.a = m * k;
  if (!by_k) p.distance.b = k * n;
  if (!by_rows) p.distance.d = p.distance.c = m * n;
  return p;
}

class GroupedCudaPlan final : public GroupedPlanImpl {
 public:
  GroupedCudaPlan(const GroupedSpec& spec, int device, const LaunchOptions& options,
                  std::optional<GroupKernel> forced)
      : spec_(spec), device_(device), options_(options), forced_(std::move(forced)) {}

  std::size_t workspace_bytes(std::int64_t max_m, std::int64_t max_k) const override {
    return grouped_workspace_bytes(spec_, max_m, max_k, options_);
  }

  Status run(Stream stream, const GroupedOperands& operands, Workspace workspace,
             RunInfo* info) const override {
    const auto on = gpu::handle<Cuda>(stream);
    GroupedArguments p = flatten(spec_, operands);
    GemmSpec one = spec_.gemm;
    one.k = p.all.k;
    if (Status s = gpu::check_stream<Cuda>(on, device_); !s) return s;
    if (Status s = gpu::check_factors<Cuda>(one, operands.arrays, device_); !s) return s;
    if (Status s = gpu::check_outputs<Cuda>(one, operands.arrays, device_); !s) return s;
    if (Status s = gpu::check_workspace<Cuda>(workspace, device_); !s) return s;
    if (p.kind != GroupKind::batched) {
      if (Status s = gpu::check_array<Cuda>("offsets", p.offsets, device_); !s) return s;
    }
    if (!one.reads_c()) p.all.c = nullptr;
    if (!one.bias) p.all.bias = nullptr;
    LaunchOptions options = options_;
    options.stream = on;
    options.workspace_bytes = workspace.bytes;
    auto decision = decide(p, options);
    if (!decision) return refusal(decision.status());
    const cudaError_t error =
        enqueue_groups(*decision, p, arithmetic(), input(), options, workspace.data);
    if (error != cudaSuccess) return failed("launching " + cuda::name(*decision), error);
    if (info != nullptr) info->kernel = cuda::name(*decision);
    return {};
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec_.gemm.n == 0) return "none (no outputs)";
    LaunchOptions options = options_;
    options.workspace_bytes = workspace_bytes(m, 0);
    const auto decision = decide(usual_groups(spec_, m), options);
    if (!decision) return "none (" + refusal(decision.status()).message() + ")";
    return cuda::name(*decision);
  }

 private:
  Arithmetic arithmetic() const { return spec_.gemm.contract.arithmetic; }
  DType input() const { return spec_.gemm.contract.input; }
  Result<GroupedDecision> decide(const GroupedArguments& p, const LaunchOptions& options) const {
    return decide_groups(p, arithmetic(), input(), options, forced_ ? &*forced_ : nullptr);
  }
  static Status refusal(const Status& why) {
    return {why.code(), std::string(Cuda::kName) + ": " + why.message()};
  }

  GroupedSpec spec_;
  int device_;
  LaunchOptions options_;
  std::optional<GroupKernel> forced_;
};

}  // namespace

std::vector<std::string> grouped_variant_names(const GroupedSpec& spec, bool wgmma) {
  std::vector<std::string> names;
  for (const GroupKernel& kernel : group_kernels(spec, wgmma)) names.push_back(kernel.name);
  return names;
}

std::shared_ptr<const GroupedPlanImpl> make_grouped_plan(const GroupedSpec& spec,
                                                         const PlanOptions& options,
                                                         const DeviceFacts& device) {
  LaunchOptions launch;
  launch.sms = options.max_workers > 0 ? std::min(options.max_workers, device.sms) : device.sms;
  launch.a_is_stable = options.stable == Stable::a;
  launch.b_is_stable = options.stable == Stable::b;
  launch.overlap = !options.serial_launch;
  launch.wgmma = device.has_wgmma();
  launch.a_is_snapped = spec.gemm.a_snapped;
  launch.b_is_snapped = spec.gemm.b_snapped;
  std::optional<GroupKernel> forced;
  for (GroupKernel& kernel : group_kernels(spec, launch.wgmma)) {
    if (kernel.name == options.variant) forced = std::move(kernel);
  }
  return std::make_shared<GroupedCudaPlan>(spec, device.ordinal, launch, std::move(forced));
}

}  // namespace detgemm::cuda
