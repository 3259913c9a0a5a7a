// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/plan.hpp"

#include <algorithm>

#include "backends/cuda/memory_check.hpp"
#include "cuda/launch.hpp"

namespace detgemm::cuda {
namespace {

LaunchOptions launch_options(const PlanOptions& options, const DeviceFacts& device) {
  LaunchOptions launch;
  launch.sms = options.max_workers > 0 ? std::min(options.max_workers, device.sms) : device.sms;
  const auto kernels = sm90_chain_kernels();
  const auto forced = std::find(kernels.begin(), kernels.end(), options.variant);
  launch.forced = forced == kernels.end() ? -1 : static_cast<int>(forced - kernels.begin());
  launch.a_is_stable = options.stable == Stable::a;
  launch.b_is_stable = options.stable == Stable::b;
  return launch;
}

/// Aligned row-major arrays, to ask which kernel an M would get: packed as they usually are, or
/// with `unit` dividing the distance of their rows. Their address is never followed.
Operands imagined_operands(const GemmSpec& spec, std::int64_t m, std::int64_t unit) {
  void* const somewhere = reinterpret_cast<void*>(kWorkspaceAlignment);
  const auto row_major = [&](void* data, std::int64_t rows, std::int64_t cols, DType type) {
    return detgemm::row_major(data, rows, cols, type, (cols + unit - 1) / unit * unit);
  };
  const DType input = spec.contract.input;
  const DType output = spec.contract.output;
  const bool at = spec.op_a == Op::transpose;
  const bool bt = spec.op_b == Op::transpose;
  Operands usual;
  usual.a = row_major(somewhere, at ? spec.k : m, at ? m : spec.k, input);
  usual.b = row_major(somewhere, bt ? spec.n : spec.k, bt ? spec.k : spec.n, input);
  usual.d = row_major(somewhere, m, spec.n, output);
  usual.c = row_major(somewhere, m, spec.n, spec.continue_from_c ? DType::fp32 : output);
  usual.bias = {somewhere, spec.n, spec.bias.value_or(DType::fp32)};
  return usual;
}

/// What sm90_describe says where a forced kernel does not take the arrays.
constexpr std::string_view kNone = "none";

/// What the spec does not use is null, so that no kernel can come to read it.
GemmArguments arguments_of(const GemmSpec& spec, const Operands& operands) {
  GemmArguments g = flatten(spec, operands);
  if (!spec.reads_c()) g.c = nullptr;
  if (!spec.bias) g.bias = nullptr;
  return g;
}

class ChainPlan final : public PlanImpl {
 public:
  ChainPlan(const GemmSpec& spec, const LaunchOptions& options, int device)
      : spec_(spec), options_(options), device_(device) {}

  std::size_t workspace_bytes(std::int64_t) const override { return 0; }

  Status run(Stream stream, const Operands& operands, Workspace, RunInfo* info) const override {
    LaunchOptions options = options_;
    options.stream = static_cast<cudaStream_t>(stream.handle);
    if (Status s = check_place(spec_, operands, options.stream, device_); !s) return s;
    const GemmArguments g = arguments_of(spec_, operands);
    if (const cudaError_t error = sm90_chain(g, spec_.contract.input, options);
        error != cudaSuccess) {
      if (error == cudaErrorNotSupported && options.forced >= 0) return not_these_arrays();
      return failed("launching " + sm90_describe(g, spec_.contract.input, options), error);
    }
    if (info != nullptr) info->kernel = sm90_describe(g, spec_.contract.input, options);
    return {};
  }

  Status combine(Stream, std::span<const ConstMatrix>, const Operands&, Workspace,
                 RunInfo*) const override {
    return unsupported("cuda: contract is " + spec_.contract.text() +
                       ": only a tree has roots to combine, and this backend computes chain alone");
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec_.n == 0) return "none (no outputs)";
    return sm90_describe(arguments_of(spec_, imagined_operands(spec_, m, 1)), spec_.contract.input,
                         options_);
  }

 private:
  Status not_these_arrays() const {
    return unsupported(
        "cuda: variant is \"" +
        std::string(sm90_chain_kernels()[static_cast<std::size_t>(options_.forced)]) +
        "\": it does not take arrays that lie like these (rows at multiples of 16 "
        "bytes, as a rule); leave it empty for a kernel that does");
  }

  GemmSpec spec_;
  LaunchOptions options_;
  int device_;
};

}  // namespace

std::vector<std::string> chain_variants(const GemmSpec& spec) {
  constexpr std::int64_t some_m = 64;
  const auto kernels = sm90_chain_kernels();
  const GemmArguments g = arguments_of(spec, imagined_operands(spec, some_m, 8));
  std::vector<std::string> list;
  LaunchOptions options;
  options.sms = 1;
  for (std::size_t i = 0; i < kernels.size() && spec.n > 0; ++i) {
    options.forced = static_cast<int>(i);
    if (sm90_describe(g, spec.contract.input, options) != kNone) list.emplace_back(kernels[i]);
  }
  return list;
}

std::shared_ptr<const PlanImpl> make_chain_plan(const GemmSpec& spec, const PlanOptions& options,
                                                const DeviceFacts& device) {
  return std::make_shared<ChainPlan>(spec, launch_options(options, device), device.ordinal);
}

}  // namespace detgemm::cuda
