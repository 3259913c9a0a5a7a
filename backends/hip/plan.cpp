// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/plan.hpp"

#include <string>

#include "backends/hip/memory_check.hpp"

namespace detgemm::hip {
namespace {

/// Aligned row-major arrays, to ask which kernel an M would get. Their address is never followed.
Operands imagined_operands(const GemmSpec& spec, std::int64_t m) {
  void* const somewhere = reinterpret_cast<void*>(kWorkspaceAlignment);
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

/// What the spec does not use is null, so that no kernel can come to read it.
GemmArguments arguments_of(const GemmSpec& spec, const Operands& operands) {
  GemmArguments g = flatten(spec, operands);
  if (!spec.reads_c()) g.c = nullptr;
  if (!spec.bias) g.bias = nullptr;
  return g;
}

class HipPlan final : public PlanImpl {
 public:
  HipPlan(const GemmSpec& spec, const LaunchOptions& options, int device,
          const std::vector<Function>& kernels)
      : spec_(spec), options_(options), device_(device), kernels_(kernels) {}

  std::size_t workspace_bytes(std::int64_t max_m) const override {
    return hip::workspace_bytes(spec_.contract, max_m, spec_.n, spec_.k, options_);
  }

  Status run(Stream stream, const Operands& operands, Workspace workspace,
             RunInfo* info) const override {
    if (Status s = check_stream(stream.handle, device_); !s) return s;
    if (Status s = check_arrays(spec_, operands, true, device_); !s) return s;
    const GemmArguments g = arguments_of(spec_, operands);
    Launch launch;
    if (!prepare_gemm(g, spec_.contract.arithmetic, spec_.contract.input, options_, workspace.data,
                      launch)) {
      return not_this_problem();
    }
    if (Status s = enqueue(stream, launch); !s) return s;
    if (info != nullptr) info->kernel = describe_(g);
    return {};
  }

  Status combine(Stream stream, std::span<const ConstMatrix> roots, const Operands& operands,
                 Workspace workspace, RunInfo* info) const override {
    if (Status s = check_stream(stream.handle, device_); !s) return s;
    if (Status s = check_arrays(spec_, operands, false, device_); !s) return s;
    if (Status s = check_roots(roots, device_); !s) return s;
    std::vector<Root> list;
    for (const ConstMatrix& root : roots) {
      const Strides strides = strides_of(root, Op::none);
      list.push_back({static_cast<const float*>(root.data), strides.row, strides.col});
    }
    const GemmArguments g = arguments_of(spec_, operands);
    for (const Launch& launch : prepare_combine(g, list, options_, workspace.data)) {
      if (Status s = enqueue(stream, launch); !s) return s;
    }
    if (info != nullptr) info->kernel = std::string(name(options_.chip)) + "/combine";
    return {};
  }

  std::string kernel(std::int64_t m) const override {
    if (m <= 0 || spec_.n == 0) return "none (no outputs)";
    return describe_(arguments_of(spec_, imagined_operands(spec_, m)));
  }

 private:
  std::string describe_(const GemmArguments& g) const {
    return describe(g, spec_.contract.arithmetic, spec_.contract.input, options_);
  }

  Status enqueue(Stream stream, const Launch& launch) const {
    // The runtime copies the arguments before it returns.
    void* arguments[] = {const_cast<std::byte*>(launch.arguments)};
    const auto index = static_cast<std::size_t>(launch.kernel);
    const Error error =
        (*runtime())
            ->ModuleLaunchKernel(kernels_[index], launch.blocks, 1, 1, launch.threads, 1, 1, 0,
                                 stream.handle, arguments, nullptr);
    if (error == kSuccess) return {};
    return failed("launching " + kernel_names(options_.chip)[index], error);
  }

  Status not_this_problem() const {
    if (options_.forced.empty()) {
      return unsupported("hip: d has more tiles than this backend counts (2^31)");
    }
    return unsupported("hip: variant is \"" + options_.forced +
                       "\": it does not take arrays that lie like these (rows at multiples of 16 "
                       "bytes, as a rule); leave it empty for a kernel that does");
  }

  GemmSpec spec_;
  LaunchOptions options_;
  int device_;
  const std::vector<Function>& kernels_;  // lives as long as the process
};

}  // namespace

Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec, const PlanOptions& options,
                                                  const DeviceFacts& device) {
  const auto chip = chip_of(device);
  if (!chip) return chip.status();
  const auto kernels = kernels_of(device);
  if (!kernels) return kernels.status();
  LaunchOptions launch;
  launch.chip = *chip;
  launch.units = device.units;
  launch.most_units = options.max_workers;
  launch.forced = options.variant;
  return std::shared_ptr<const PlanImpl>(
      std::make_shared<HipPlan>(spec, launch, device.ordinal, **kernels));
}

}  // namespace detgemm::hip
