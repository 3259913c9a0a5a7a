// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/plan.hpp"

#include <algorithm>
#include <limits>

#include "backends/gpu/grouped_plan.hpp"
#include "backends/gpu/plan.hpp"
#include "backends/hip/find_runtime.hpp"

namespace detgemm::hip {
namespace {

/// Names the compiler too, where it is not the one whose code the tests execute.
std::string name_of(const Decision& decision) {
  const CodeObject* const code = code_object_of(decision.chip);
  const bool tested = code == nullptr || is_of(code->compiler, tested_compiler());
  return name(decision) + (tested ? "" : ", code of " + std::string(code->compiler));
}

/// The kernels of one contract on one device; see gpu::Kernels.
class HipKernels {
 public:
  using Runtime = Hip;
  using Decision = hip::Decision;
  using Root = hip::Root;
  /// As many as a contract has: those that a kernel's arguments do not hold go to the workspace.
  static constexpr std::size_t kMaxRoots = std::numeric_limits<std::size_t>::max();

  HipKernels(const GemmSpec& spec, const LaunchOptions& options, int device)
      : input_(spec.contract.input),
        splits_(spec.contract.arithmetic == Arithmetic::snap3),
        contract_(multiplied(spec.contract, spec.k).contract),
        n_(spec.n),
        k_(multiplied(spec.contract, spec.k).k),
        snapping_(snapping_of(spec)),
        options_(options),
        device_(device) {}

  /// Decides for the copies where operands are snapped first: they lie as this backend lays them.
  Result<Decision> decide(const Problem& problem, std::size_t workspace) const {
    const GemmArguments& g = problem.g();
    const std::size_t copies = std::min(workspace, copies_of(g.m));
    return hip::decide(over_copies(g, nullptr), contract_.arithmetic, contract_.input, options_,
                       workspace - copies);
  }
  std::string name(const Decision& decision) const { return name_of(decision); }
  std::size_t workspace_bytes(std::int64_t max_m) const {
    return sum(copies_of(max_m), hip::workspace_bytes(contract_, max_m, n_, k_, options_));
  }
  std::size_t fast_workspace_bytes(const Problem& problem) const {
    const std::int64_t m = problem.g().m;
    const auto fastest = decide(problem, fast_workspace_bound(m));
    const std::size_t least = workspace_bytes(m);
    if (!fastest) return least;
    return std::max(least, sum(copies_of(m), static_cast<std::size_t>(fastest->workspace)));
  }
  std::size_t fast_workspace_bound(std::int64_t max_m) const {
    return sum(copies_of(max_m), hip::fast_workspace_bytes(contract_, max_m, n_, k_, options_));
  }
  Status enqueue(const Decision& decision, const Problem& problem, Workspace workspace,
                 StreamHandle stream) const {
    const GemmArguments& g = problem.g();
    const auto copying = splits_ ? split_launches(g, input_, workspace.data, options_)
                                 : copy_launches(g, snapping_, workspace.data, options_);
    if (Status s = launch_all(copying, stream); !s) return s;
    void* const rest = static_cast<std::byte*>(workspace.data) + copies_of(g.m);
    const GemmArguments copied = over_copies(g, workspace.data);
    return launch_all(launches_of(decision, copied, options_, rest), stream);
  }
  Status enqueue_combine(const GemmArguments& g, std::span<const Root> roots, void* workspace,
                         StreamHandle stream) const {
    return launch_all(combine_launches(g, roots, options_, workspace), stream);
  }
  std::string combine_name() const { return std::string(hip::name(options_.chip)) + "/combine"; }

 private:
  /// snap3 always copies both: nobody can promise parts.
  static Snapping snapping_of(const GemmSpec& spec) {
    const Arithmetic arithmetic = spec.contract.arithmetic;
    const bool snaps = arithmetic == Arithmetic::snap || arithmetic == Arithmetic::snap3;
    if (!snaps || spec.k == 0) return {};
    return {!spec.a_snapped, !spec.b_snapped};
  }
  /// The problem that is multiplied.
  GemmArguments over_copies(const GemmArguments& g, void* workspace) const {
    return splits_ ? with_parts(g, workspace) : with_copies(g, snapping_, workspace);
  }
  /// Never beyond what a size can say: such a workspace cannot be given.
  static std::size_t sum(std::size_t x, std::size_t y) {
    std::size_t both = 0;
    return __builtin_add_overflow(x, y, &both) ? std::numeric_limits<std::size_t>::max() : both;
  }
  std::size_t copies_of(std::int64_t m) const {
    return m == 0 || n_ == 0 ? 0 : copies_bytes(snapping_, m, n_, k_);
  }
  Status launch_all(const std::vector<Launch>& launches, StreamHandle stream) const {
    for (const Launch& one : launches) {
      if (Status s = launch(device_, options_.chip, one, stream); !s) return s;
    }
    return {};
  }

  DType input_;  ///< of the operands
  bool splits_;
  // What is multiplied: under snap3 the product over the copies.
  Contract contract_;
  std::int64_t n_, k_;
  Snapping snapping_;
  LaunchOptions options_;
  int device_;
};

/// The kernels over groups of one contract on one device; see gpu::Multiplies.
class HipGroupKernels {
 public:
  using Runtime = Hip;
  using Decision = hip::Decision;

  HipGroupKernels(const LaunchOptions& options, int device) : options_(options), device_(device) {}

  Result<Decision> decide(const Problem& problem, std::size_t) const {
    return decide_groups(problem, options_);
  }
  std::string name(const Decision& decision) const { return name_of(decision); }
  std::size_t workspace_bytes(const GroupedSpec& spec, std::int64_t max_m,
                              std::int64_t max_k) const {
    return group_workspace_bytes(spec, max_m, max_k, options_);
  }
  Status enqueue(const Decision& decision, const Problem& problem, Workspace workspace,
                 StreamHandle stream) const {
    return launch(device_, options_.chip, group_launch(decision, problem.gemms, workspace.data),
                  stream);
  }

 private:
  LaunchOptions options_;
  int device_;
};

/// The chip of the current device, whose kernels are then loaded.
Result<Chip> loaded_chip(const DeviceFacts& device) {
  if (Status s = check_one_runtime(); !s) return s;  // one that was loaded since the first call
  const auto chip = chip_of(device);
  if (!chip) return chip.status();
  if (const auto loaded = kernels_of(device.ordinal, *chip); !loaded) return loaded.status();
  return *chip;
}

/// Everything that a plan's options and its device say of a launch.
LaunchOptions options_of(const PlanOptions& options, const DeviceFacts& device, Chip chip,
                         std::span<const KernelInfo> list) {
  LaunchOptions launch;
  launch.chip = chip;
  launch.units = device.units;
  launch.xcds = device.xcds;
  launch.max_units = options.max_workers;
  launch.forced = gpu::index_of(list, options.variant);
  return launch;
}

/// A matrix as rows of K.
SnapOperand operand_of(const SnapSpec& spec, const ConstMatrix& view) {
  const Strides s = strides_of(view, spec.k == KDimension::cols ? Op::none : Op::transpose);
  return {view.data, s.row, s.col};
}

}  // namespace

Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec, const PlanOptions& options,
                                                  const DeviceFacts& device) {
  const auto chip = loaded_chip(device);
  if (!chip) return chip.status();
  const LaunchOptions launch = options_of(options, device, *chip, kernels(spec.contract));
  return std::shared_ptr<const PlanImpl>(std::make_shared<gpu::GpuPlan<HipKernels>>(
      spec, device.ordinal, HipKernels(spec, launch, device.ordinal)));
}

Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(const GroupedSpec& spec,
                                                                 const PlanOptions& options,
                                                                 const DeviceFacts& device) {
  const auto chip = loaded_chip(device);
  if (!chip) return chip.status();
  const auto list = group_kernels(spec.gemm.contract);
  const LaunchOptions launch = options_of(options, device, *chip, list);
  return std::shared_ptr<const GroupedPlanImpl>(
      std::make_shared<gpu::GroupedGpuPlan<HipGroupKernels>>(
          spec, device.ordinal, HipGroupKernels(launch, device.ordinal)));
}

Status snap_matrix(StreamHandle stream, const SnapSpec& spec, const ConstMatrix& from,
                   const Matrix& to, const DeviceFacts& device) {
  const auto chip = chip_of(device);
  if (!chip) return chip.status();
  if (Status s = gpu::check_stream<Hip>(stream, device.ordinal); !s) return s;
  if (Status s = gpu::check_array<Hip>("from", from.data, device.ordinal); !s) return s;
  if (Status s = gpu::check_array<Hip>("to", to.data, device.ordinal); !s) return s;
  LaunchOptions options;
  options.chip = *chip;
  options.units = device.units;
  const bool along = spec.k == KDimension::cols;
  return launch(
      device.ordinal, *chip,
      snap_launch(operand_of(spec, from), operand_of(spec, to), along ? from.rows : from.cols,
                  along ? from.cols : from.rows, spec.leaf_k, options),
      stream);
}

}  // namespace detgemm::hip
