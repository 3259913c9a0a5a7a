// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/device_plan.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "backends/cuda/memory_check.hpp"

namespace detgemm::cuda {

GemmArguments arguments_of(const GemmSpec& spec, const Operands& operands) {
  GemmArguments g = flatten(spec, operands);
  if (!spec.reads_c()) g.c = nullptr;
  if (!spec.bias) g.bias = nullptr;
  return g;
}

LaunchOptions launch_options(const PlanOptions& options, const DeviceFacts& device,
                             std::span<const std::string> kernels) {
  LaunchOptions launch;
  launch.sms = options.max_workers > 0 ? std::min(options.max_workers, device.sms) : device.sms;
  const auto forced = std::find(kernels.begin(), kernels.end(), options.variant);
  launch.forced = forced == kernels.end() ? -1 : static_cast<int>(forced - kernels.begin());
  return launch;
}

LaunchOptions DevicePlan::options_on(Stream stream) const {
  LaunchOptions options = options_;
  options.stream = static_cast<cudaStream_t>(stream.handle);
  return options;
}

Status DevicePlan::combine(Stream stream, std::span<const ConstMatrix> roots,
                           const Operands& operands, Workspace, RunInfo* info) const {
  if (roots.size() > kMostRoots) {
    return unsupported("cuda: roots is a list of " + std::to_string(roots.size()) +
                       ": this backend joins at most " + std::to_string(kMostRoots) +
                       " in one call");
  }
  const LaunchOptions options = options_on(stream);
  GemmSpec output_side = spec_;
  output_side.k = 0;  // so that nobody looks for A and B
  if (Status s = check_place(output_side, operands, options.stream, device_); !s) return s;
  std::vector<Root> list;
  for (const ConstMatrix& root : roots) {
    const std::string name = "roots[" + std::to_string(list.size()) + "]";
    if (Status s = check_array_place(name, root.data, device_); !s) return s;
    list.push_back({static_cast<const float*>(root.data), strides_of(root, Op::none)});
  }
  const GemmArguments g = arguments_of(spec_, operands);
  if (const cudaError_t error = combine_roots(g, list, options); error != cudaSuccess) {
    return failed("launching the combine of " + std::to_string(roots.size()) + " roots", error);
  }
  if (info != nullptr) info->kernel = "combine";
  return {};
}

}  // namespace detgemm::cuda
