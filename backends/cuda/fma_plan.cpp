// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/fma_plan.hpp"

#include "backends/cuda/device_plan.hpp"
#include "backends/cuda/memory_check.hpp"

namespace detgemm::cuda {
namespace {

/// All that the choice of a kernel looks at.
GemmArguments shape_of(const GemmSpec& spec, std::int64_t m) {
  GemmArguments g;
  g.m = m;
  g.n = spec.n;
  g.k = spec.k;
  g.reduction = spec.contract.reduction;
  return g;
}

class FmaPlan final : public DevicePlan {
 public:
  using DevicePlan::DevicePlan;

  std::size_t workspace_bytes(std::int64_t) const override { return 0; }

  Status run(Stream stream, const Operands& operands, Workspace, RunInfo* info) const override {
    const LaunchOptions options = options_on(stream);
    if (Status s = check_place(spec(), operands, options.stream, device()); !s) return s;
    const GemmArguments g = arguments_of(spec(), operands);
    const DType input = spec().contract.input;
    if (const cudaError_t error = simt_gemm(g, input, options); error != cudaSuccess) {
      return failed("launching " + simt_describe(g, input, options), error);
    }
    if (info != nullptr) info->kernel = simt_describe(g, input, options);
    return {};
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec().n == 0) return "none (no outputs)";
    return simt_describe(shape_of(spec(), m), spec().contract.input, options());
  }
};

}  // namespace

std::vector<std::string> fma_variants(const GemmSpec& spec) {
  constexpr std::int64_t some_m = 64;
  const auto kernels = simt_kernels();
  std::vector<std::string> list;
  LaunchOptions options;
  options.sms = 1;
  for (std::size_t i = 0; i < kernels.size() && spec.n > 0; ++i) {
    options.forced = static_cast<int>(i);
    if (simt_describe(shape_of(spec, some_m), spec.contract.input, options) != "none") {
      list.emplace_back(kernels[i]);
    }
  }
  return list;
}

std::shared_ptr<const PlanImpl> make_fma_plan(const GemmSpec& spec, const PlanOptions& options,
                                              const DeviceFacts& device) {
  return std::make_shared<FmaPlan>(spec, launch_options(options, device, simt_kernels()),
                                   device.ordinal);
}

}  // namespace detgemm::cuda
