// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/fma_plan.hpp"

#include <algorithm>

#include "backends/cuda/memory_check.hpp"

namespace detgemm::cuda {
namespace {

LaunchOptions launch_options(const PlanOptions& options, const DeviceFacts& device) {
  LaunchOptions launch;
  launch.sms = options.max_workers > 0 ? std::min(options.max_workers, device.sms) : device.sms;
  const auto kernels = simt_kernels();
  const auto forced = std::find(kernels.begin(), kernels.end(), options.variant);
  launch.forced = forced == kernels.end() ? -1 : static_cast<int>(forced - kernels.begin());
  return launch;
}

/// What the spec does not use is null, so that no kernel can come to read it.
GemmArguments arguments_of(const GemmSpec& spec, const Operands& operands) {
  GemmArguments g = flatten(spec, operands);
  if (!spec.reads_c()) g.c = nullptr;
  if (!spec.bias) g.bias = nullptr;
  return g;
}

/// All that the choice of a kernel looks at.
GemmArguments shape_of(const GemmSpec& spec, std::int64_t m) {
  GemmArguments g;
  g.m = m;
  g.n = spec.n;
  g.k = spec.k;
  g.reduction = spec.contract.reduction;
  return g;
}

class FmaPlan final : public PlanImpl {
 public:
  FmaPlan(const GemmSpec& spec, const LaunchOptions& options, int device)
      : spec_(spec), options_(options), device_(device) {}

  std::size_t workspace_bytes(std::int64_t) const override { return 0; }

  Status run(Stream stream, const Operands& operands, Workspace, RunInfo* info) const override {
    LaunchOptions options = options_;
    options.stream = static_cast<cudaStream_t>(stream.handle);
    if (Status s = check_place(spec_, operands, options.stream, device_); !s) return s;
    const GemmArguments g = arguments_of(spec_, operands);
    const DType input = spec_.contract.input;
    if (const cudaError_t error = simt_gemm(g, input, options); error != cudaSuccess) {
      return failed("launching " + simt_describe(g, input, options), error);
    }
    if (info != nullptr) info->kernel = simt_describe(g, input, options);
    return {};
  }

  Status combine(Stream stream, std::span<const ConstMatrix> roots, const Operands& operands,
                 Workspace, RunInfo* info) const override {
    LaunchOptions options = options_;
    options.stream = static_cast<cudaStream_t>(stream.handle);
    return combine_on_device(spec_, roots, operands, options, device_, info);
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec_.n == 0) return "none (no outputs)";
    return simt_describe(shape_of(spec_, m), spec_.contract.input, options_);
  }

 private:
  GemmSpec spec_;
  LaunchOptions options_;
  int device_;
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
  return std::make_shared<FmaPlan>(spec, launch_options(options, device), device.ordinal);
}

Status combine_on_device(const GemmSpec& spec, std::span<const ConstMatrix> roots,
                         const Operands& operands, const LaunchOptions& options, int device,
                         RunInfo* info) {
  if (roots.size() > kMostRoots) {
    return unsupported("cuda: roots is a list of " + std::to_string(roots.size()) +
                       ": this backend joins at most " + std::to_string(kMostRoots) +
                       " in one call");
  }
  GemmSpec output_side = spec;
  output_side.k = 0;  // so that nobody looks for A and B
  if (Status s = check_place(output_side, operands, options.stream, device); !s) return s;
  std::vector<Root> list;
  for (const ConstMatrix& root : roots) {
    const std::string name = "roots[" + std::to_string(list.size()) + "]";
    if (Status s = check_array_place(name, root.data, device); !s) return s;
    list.push_back({static_cast<const float*>(root.data), strides_of(root, Op::none)});
  }
  const GemmArguments g = arguments_of(spec, operands);
  if (const cudaError_t error = combine_roots(g, list, options); error != cudaSuccess) {
    return failed("launching the combine of " + std::to_string(roots.size()) + " roots", error);
  }
  if (info != nullptr) info->kernel = "combine";
  return {};
}

}  // namespace detgemm::cuda
