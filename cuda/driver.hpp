// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

namespace detgemm::cuda {

/// A function of the driver as it was in version `version` (12080: CUDA 12.8), or null where this
/// driver does not have it. The library links no driver, so that it loads where there is none.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
  if (error != cudaSuccess) cudaGetLastError();
  const bool there = error == cudaSuccess && result == cudaDriverEntryPointSuccess;
  return reinterpret_cast<Function>(there ? found : nullptr);
}

}  // namespace detgemm::cuda
