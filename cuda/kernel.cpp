// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/kernel.hpp"

#include <cudaTypedefs.h>

#include <array>
#include <cstddef>

#include "cuda/driver.hpp"

namespace detgemm::cuda {
namespace {

/// The function as the context has it, or null where the runtime does not say. The last answers,
/// one table per thread, so that nothing is locked.
cudaFunction_t loaded_in(std::uint64_t context, const void* function) {
  struct Loaded {
    std::uint64_t context;
    const void* function;
    cudaFunction_t loaded;
  };
  static thread_local std::array<Loaded, 64> table{};
  const auto mix = reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15ULL;
  Loaded& entry = table[mix >> 58];
  if (entry.context != context || entry.function != function) {
    cudaFunction_t loaded = nullptr;
    if (cudaGetFuncBySymbol(&loaded, function) != cudaSuccess) {
      cudaGetLastError();
      loaded = nullptr;
    }
    entry = {context, function, loaded};
  }
  return entry.loaded;
}

/// The driver's own launch, which is given the function and does not look it up, takes a tenth of a
/// microsecond less than the runtime's (docs/log/house.md). False where it was not tried or taken.
bool launched_by_driver(const Kernel& kernel, int grid, const Queue& queue, void** arguments) {
  static const auto function =
      driver_function<PFN_cuLaunchKernelEx_v11060>("cuLaunchKernelEx", 11060);
  // A number that is a device's alone outlives a reset of the device, and its functions do not.
  const bool known = queue.context != 0 && queue.context >> 63 == 0;
  if (!known || function == nullptr) return false;
  cudaFunction_t const loaded = loaded_in(queue.context, kernel.function);
  if (loaded == nullptr) return false;
  CUlaunchAttribute attributes[2]{};
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(grid);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(kernel.threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(kernel.shared_bytes);
  config.hStream = queue.stream;
  config.attrs = attributes;
  if (queue.overlap) {
    CUlaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
  }
  if (kernel.cluster > 1) {
    CUlaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {static_cast<unsigned>(kernel.cluster), 1, 1};
  }
  return function(&config, loaded, arguments, nullptr) == CUDA_SUCCESS;
}

}  // namespace

LaunchConfig::LaunchConfig(const Kernel& kernel, int grid, const Queue& queue) {
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(static_cast<unsigned>(kernel.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(kernel.shared_bytes);
  config.stream = queue.stream;
  config.attrs = attributes;
  if (queue.overlap) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (kernel.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(kernel.cluster), 1, 1};
  }
}

cudaError_t launch(const Kernel& kernel, int grid, const Queue& queue, void** arguments) {
  if (launched_by_driver(kernel, grid, queue, arguments)) return cudaSuccess;
  const LaunchConfig launch(kernel, grid, queue);  // of what is refused, the runtime says why
  return cudaLaunchKernelExC(&launch.config, kernel.function, arguments);
}

}  // namespace detgemm::cuda
