// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/plan.hpp"

#include "backends/cuda/device_plan.hpp"
#include "backends/cuda/memory_check.hpp"

namespace detgemm::cuda {
namespace {

/// The kernels' door for one contract: chain, or fold and tree.
struct Kernels {
  bool leaves;

  explicit Kernels(const Contract& contract)
      : leaves(contract.reduction.kind != ReductionKind::chain) {}
  std::span<const std::string> names() const {
    return leaves ? sm90_leaf_kernels() : sm90_chain_kernels();
  }
  std::string describe(const GemmArguments& g, DType input, const LaunchOptions& options) const {
    return leaves ? sm90_leaf_describe(g, input, options) : sm90_describe(g, input, options);
  }
  cudaError_t run(const GemmArguments& g, DType input, const LaunchOptions& options,
                  void* workspace) const {
    return leaves ? sm90_leaves(g, input, options, workspace) : sm90_chain(g, input, options);
  }
};

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

/// What the kernels say where a forced kernel does not take the arrays.
constexpr std::string_view kNone = "none";

class Sm90Plan final : public DevicePlan {
 public:
  Sm90Plan(const GemmSpec& spec, const LaunchOptions& options, int device)
      : DevicePlan(spec, options, device), kernels_(spec.contract) {}

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    if (!kernels_.leaves) return 0;
    return sm90_leaf_workspace(spec().contract.reduction, max_m, spec().n, spec().k, options().sms);
  }

  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    const LaunchOptions options = options_on(stream);
    if (Status s = check_place(spec(), operands, options.stream, device()); !s) return s;
    if (workspace.data != nullptr) {
      if (Status s = check_array_place("workspace", workspace.data, device()); !s) return s;
    }
    const GemmArguments g = arguments_of(spec(), operands);
    const DType input = spec().contract.input;
    if (const cudaError_t error = kernels_.run(g, input, options, workspace.data);
        error != cudaSuccess) {
      if (error == cudaErrorNotSupported && options.forced >= 0) return not_these_arrays();
      return failed("launching " + kernels_.describe(g, input, options), error);
    }
    if (info != nullptr) info->kernel = kernels_.describe(g, input, options);
    return {};
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec().n == 0) return "none (no outputs)";
    return kernels_.describe(arguments_of(spec(), imagined_operands(spec(), m, 1)),
                             spec().contract.input, options());
  }

 private:
  Status not_these_arrays() const {
    return unsupported("cuda: variant is \"" +
                       kernels_.names()[static_cast<std::size_t>(options().forced)] +
                       "\": it does not take arrays that lie like these (rows at multiples of 16 "
                       "bytes, as a rule); leave it empty for a kernel that does");
  }

  Kernels kernels_;
};

}  // namespace

std::vector<std::string> sm90_variants(const GemmSpec& spec) {
  const Kernels door(spec.contract);
  const auto kernels = door.names();
  LaunchOptions options;
  // A chain's kernels that want several multiprocessors can be done without, and are not listed.
  // What shares leaves always wants several, and only few tiles.
  options.sms = door.leaves ? 1024 : 1;
  std::vector<std::string> list;
  for (std::size_t i = 0; i < kernels.size() && spec.n > 0; ++i) {
    options.forced = static_cast<int>(i);
    const auto takes = [&](std::int64_t m) {
      const GemmArguments g = arguments_of(spec, imagined_operands(spec, m, 8));
      return door.describe(g, spec.contract.input, options) != kNone;
    };
    if (takes(64) || (door.leaves && takes(8))) list.emplace_back(kernels[i]);
  }
  return list;
}

std::shared_ptr<const PlanImpl> make_sm90_plan(const GemmSpec& spec, const PlanOptions& options,
                                               const DeviceFacts& device) {
  LaunchOptions launch = launch_options(options, device, Kernels(spec.contract).names());
  launch.a_is_stable = options.stable == Stable::a;
  launch.b_is_stable = options.stable == Stable::b;
  return std::make_shared<Sm90Plan>(spec, launch, device.ordinal);
}

}  // namespace detgemm::cuda
