// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/plan.hpp"

#include <algorithm>

#include "backends/gpu/plan.hpp"
#include "cuda/launch.hpp"

namespace detgemm::cuda {
namespace {

/// The kernels of cuda/launch.hpp as the shared plan uses them: one spec, one device.
struct CudaKernels {
  using Runtime = Cuda;
  using Decision = cuda::Decision;
  using Root = cuda::Root;
  static constexpr std::size_t kMaxRoots = cuda::kMaxRoots;

  GemmSpec spec;
  LaunchOptions options;

  Result<Decision> decide(const GemmArguments& g) const { return decide(g, options); }

  Status enqueue(Decision& decision, const GemmArguments& g, void* workspace,
                 cudaStream_t stream) const {
    const cudaError_t error = cuda::enqueue(decision, g, on(stream), workspace);
    if (error == cudaSuccess) return {};
    if (error == cudaErrorInvalidClusterSize && options.forced >= 0) {
      LaunchOptions alone = options;
      alone.clusters = false;
      const Status why = decide(g, alone).status();
      return {why.code(), "cuda: " + why.message()};
    }
    return failed("launching " + name(decision), error);
  }

  std::string name(const Decision& decision) const { return cuda::name(decision); }

  std::size_t workspace_bytes(std::int64_t max_m) const {
    return cuda::workspace_bytes(spec.contract, max_m, spec.n, spec.k, options.sms);
  }

  Status enqueue_combine(const GemmArguments& g, std::span<const Root> roots, void*,
                         cudaStream_t stream) const {
    const cudaError_t error = combine_roots(g, roots, on(stream));
    if (error == cudaSuccess) return {};
    return failed("launching the combine of " + std::to_string(roots.size()) + " roots", error);
  }
  std::string combine_name() const { return "combine"; }

 private:
  Result<Decision> decide(const GemmArguments& g, const LaunchOptions& with) const {
    return cuda::decide(g, spec.contract.arithmetic, spec.contract.input, with);
  }
  LaunchOptions on(cudaStream_t stream) const {
    LaunchOptions all = options;
    all.stream = stream;
    return all;
  }
};

}  // namespace

std::shared_ptr<const PlanImpl> make_plan(const GemmSpec& spec, const PlanOptions& options,
                                          const DeviceFacts& device) {
  LaunchOptions launch;
  launch.sms = options.max_workers > 0 ? std::min(options.max_workers, device.sms) : device.sms;
  launch.forced = gpu::index_of(kernels(spec.contract), options.variant);
  launch.a_is_stable = options.stable == Stable::a;
  launch.b_is_stable = options.stable == Stable::b;
  return std::make_shared<gpu::GpuPlan<CudaKernels>>(spec, device.ordinal,
                                                     CudaKernels{spec, launch});
}

}  // namespace detgemm::cuda
