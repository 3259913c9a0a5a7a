// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

namespace detgemm::cuda {

/// A compiled kernel and what its launch needs.
struct Kernel {
  const void* function = nullptr;  ///< null: it was not compiled
  int threads = 0;
  int shared_bytes = 0;  ///< dynamic shared memory per CTA
  int cluster = 1;       ///< CTAs per cluster
};

/// How a stream takes a kernel. `overlap`: programmatic dependent launch.
struct Queue {
  cudaStream_t stream = nullptr;
  bool overlap = false;
};

/// The launch of `grid` CTAs as the runtime takes it. It refers to itself: do not copy it.
struct LaunchConfig {
  LaunchConfig(const Kernel& kernel, int grid, const Queue& queue);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
};

inline cudaError_t launch(const Kernel& kernel, int grid, const Queue& queue, void** arguments) {
  const LaunchConfig launch(kernel, grid, queue);
  return cudaLaunchKernelExC(&launch.config, kernel.function, arguments);
}

}  // namespace detgemm::cuda
