// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/plan.hpp"

#include <algorithm>
#include <limits>

#include "backends/gpu/plan.hpp"

namespace detgemm::hip {
namespace {

/// The kernels of one contract on one device; see gpu::Kernels.
class HipKernels {
 public:
  using Runtime = Hip;
  using Decision = hip::Decision;
  using Root = hip::Root;
  /// As many as a contract has: those that a kernel's arguments do not hold go to the workspace.
  static constexpr std::size_t kMaxRoots = std::numeric_limits<std::size_t>::max();

  HipKernels(const GemmSpec& spec, const LaunchOptions& options, int device)
      : contract_(spec.contract), n_(spec.n), k_(spec.k), options_(options), device_(device) {}

  Result<Decision> decide(const GemmArguments& g, std::size_t workspace) const {
    return hip::decide(g, contract_.arithmetic, contract_.input, options_, workspace);
  }
  /// Names the compiler too, where it is not the one whose code the tests execute.
  std::string name(const Decision& decision) const {
    const CodeObject* const code = code_object_of(decision.chip);
    const bool tested = code == nullptr || is_of(code->compiler, tested_compiler());
    return hip::name(decision) + (tested ? "" : ", code of " + std::string(code->compiler));
  }
  std::size_t workspace_bytes(std::int64_t max_m) const {
    return hip::workspace_bytes(contract_, max_m, n_, k_, options_);
  }
  std::size_t fast_workspace_bytes(const GemmArguments& g) const {
    const auto fastest = decide(g, fast_workspace_bound(g.m));
    const std::size_t least = workspace_bytes(g.m);
    return fastest ? std::max(least, static_cast<std::size_t>(fastest->workspace)) : least;
  }
  std::size_t fast_workspace_bound(std::int64_t max_m) const {
    return hip::fast_workspace_bytes(contract_, max_m, n_, k_, options_);
  }
  Status enqueue(const Decision& decision, const GemmArguments& g, Workspace workspace,
                 StreamHandle stream) const {
    return launch_all(launches_of(decision, g, options_, workspace.data), stream);
  }
  Status enqueue_combine(const GemmArguments& g, std::span<const Root> roots, void* workspace,
                         StreamHandle stream) const {
    return launch_all(combine_launches(g, roots, options_, workspace), stream);
  }
  std::string combine_name() const { return std::string(hip::name(options_.chip)) + "/combine"; }

 private:
  Status launch_all(const std::vector<Launch>& launches, StreamHandle stream) const {
    for (const Launch& one : launches) {
      if (Status s = launch(device_, options_.chip, one, stream); !s) return s;
    }
    return {};
  }

  Contract contract_;
  std::int64_t n_, k_;
  LaunchOptions options_;
  int device_;
};

}  // namespace

Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec, const PlanOptions& options,
                                                  const DeviceFacts& device) {
  const auto chip = chip_of(device);
  if (!chip) return chip.status();
  if (const auto loaded = kernels_of(device.ordinal, *chip); !loaded) return loaded.status();
  LaunchOptions launch;
  launch.chip = *chip;
  launch.units = device.units;
  launch.xcds = device.xcds;
  launch.max_units = options.max_workers;
  launch.forced = gpu::index_of(kernels(spec.contract), options.variant);
  return std::shared_ptr<const PlanImpl>(std::make_shared<gpu::GpuPlan<HipKernels>>(
      spec, device.ordinal, HipKernels(spec, launch, device.ordinal)));
}

}  // namespace detgemm::hip
