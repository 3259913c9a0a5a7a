// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/plan.hpp"

#include <algorithm>

#include "backends/gpu/grouped_plan.hpp"
#include "backends/gpu/plan.hpp"
#include "cuda/launch.hpp"
#include "detgemm/tuning.hpp"

namespace detgemm::cuda {
namespace {

/// The kernels of cuda/launch.hpp as the shared plans use them: one spec, one device.
struct CudaKernels {
  using Runtime = Cuda;
  using Decision = cuda::Decision;
  using Root = cuda::Root;
  static constexpr std::size_t kMaxRoots = cuda::kMaxRoots;

  GemmSpec spec;
  LaunchOptions options;
  std::string evidence;                    ///< for RunInfo
  std::shared_ptr<const Tuning> tuning{};  ///< keeps `tuned`
  const TunedProduct* tuned = nullptr;     ///< rows of a single product, or none
  bool needs_workspace = true;             ///< a single product, for some number of rows

  Result<Decision> decide(const Problem& problem, std::size_t workspace_bytes) const {
    return cuda::decide(problem, with(problem, workspace_bytes));
  }

  Status enqueue(Decision& decision, const Problem& problem, Workspace workspace,
                 cudaStream_t stream) const {
    LaunchOptions all = with(problem, workspace.bytes);
    all.stream = stream;
    const cudaError_t error = cuda::enqueue(decision, problem, all, workspace.data);
    if (error == cudaSuccess) return {};
    if (error == cudaErrorInvalidClusterSize && options.forced >= 0) {
      all.clusters = false;
      if (const Status why = cuda::decide(problem, all).status(); !why) {
        return {why.code(), "cuda: " + why.message()};
      }
    }
    return failed("launching " + name(decision), error);
  }

  std::string name(const Decision& decision) const { return cuda::name(decision); }

  std::size_t workspace_bytes(std::int64_t max_m) const {
    if (!needs_workspace) return 0;
    return cuda::workspace_bytes(spec.contract, max_m, spec.n, spec.k, options);
  }
  std::size_t workspace_bytes(const GroupedSpec& groups, std::int64_t max_m,
                              std::int64_t max_k) const {
    return cuda::workspace_bytes(groups, max_m, max_k, options);
  }
  std::size_t fast_workspace_bytes(const Problem& problem) const {
    return cuda::fast_workspace_bytes(problem, with(problem, 0));
  }
  std::size_t fast_workspace_bound(std::int64_t max_m) const {
    return cuda::fast_workspace_bound(spec.contract, max_m, spec.n, spec.k, options);
  }

  Status enqueue_combine(const GemmArguments& g, std::span<const Root> roots, void*,
                         cudaStream_t stream) const {
    LaunchOptions all = options;
    all.stream = stream;
    const cudaError_t error = combine_roots(g, roots, all);
    if (error == cudaSuccess) return {};
    return failed("launching the combine of " + std::to_string(roots.size()) + " roots", error);
  }
  std::string combine_name() const { return "combine"; }

 private:
  LaunchOptions with(const Problem& problem, std::size_t workspace_bytes) const {
    LaunchOptions all = options;
    all.workspace_bytes = workspace_bytes;
    if (tuned == nullptr) return all;
    const TunedRange* const range = tuned->find(problem.g().m);
    if (range != nullptr) all.preferred = range->number;
    return all;
  }
};

/// Everything that a plan promises and asks for, whatever it computes.
CudaKernels kernels_for(const GemmSpec& spec, const PlanOptions& options, const DeviceFacts& device,
                        const std::string& evidence, bool grouped) {
  LaunchOptions launch;
  launch.sms = options.max_workers > 0 ? std::min(options.max_workers, device.sms) : device.sms;
  launch.forced = gpu::index_of(kernels(spec.contract, grouped), options.variant);
  launch.a_is_stable = options.stable == Stable::a;
  launch.b_is_stable = options.stable == Stable::b;
  launch.overlap = !options.serial_launch;
  launch.wgmma = device.has_wgmma();
  launch.mma = !grouped && !evidence.empty();  // of snap: mma.sync is verified
  launch.a_is_snapped = spec.a_snapped;
  launch.b_is_snapped = spec.b_snapped;
  CudaKernels made{spec, launch, evidence};
  constexpr std::int64_t kManyRows = std::int64_t{1} << 30;  // what is needed grows with the rows
  made.needs_workspace = grouped || spec.contract.reduction.kind != ReductionKind::chain ||
                         made.workspace_bytes(kManyRows) > 0;
  if (grouped || options.tuning == nullptr || launch.forced >= 0) return made;
  made.tuning = options.tuning;
  made.tuned = options.tuning->find(spec);
  return made;
}

}  // namespace

std::shared_ptr<const PlanImpl> make_plan(const GemmSpec& spec, const PlanOptions& options,
                                          const DeviceFacts& device, const std::string& evidence) {
  return std::make_shared<gpu::GpuPlan<CudaKernels>>(
      spec, device.ordinal, kernels_for(spec, options, device, evidence, false));
}

std::shared_ptr<const GroupedPlanImpl> make_grouped_plan(const GroupedSpec& spec,
                                                         const PlanOptions& options,
                                                         const DeviceFacts& device,
                                                         const std::string& evidence) {
  return std::make_shared<gpu::GroupedGpuPlan<CudaKernels>>(
      spec, device.ordinal, kernels_for(spec.gemm, options, device, evidence, true));
}

}  // namespace detgemm::cuda
