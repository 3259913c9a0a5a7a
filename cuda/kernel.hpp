// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

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
  /// The number of the current context (host/context.hpp), by which its functions are remembered;
  /// 0: it was not queried, and the runtime looks the function up.
  std::uint64_t context = 0;
};

/// The launch of `grid` CTAs as the runtime takes it. It refers to itself: do not copy it.
struct LaunchConfig {
  LaunchConfig(const Kernel& kernel, int grid, const Queue& queue);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
};

/// Enqueues `grid` CTAs.
cudaError_t launch(const Kernel& kernel, int grid, const Queue& queue, void** arguments);

}  // namespace detgemm::cuda
