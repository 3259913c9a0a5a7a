// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "backends/cuda/runtime.hpp"
#include "backends/gpu/device_table.hpp"

namespace detgemm::cuda {

/// A failed call as a Status; see gpu::failed.
inline Status failed(std::string_view what, cudaError_t error) {
  return gpu::failed<Cuda>(what, error);
}

/// ok, or why no CUDA device can be used here: a build with a sample of the kernels, no driver, one
/// that is too old, no device.
inline Status driver_status() { return Cuda::available(); }

inline Result<DeviceFacts> facts_of(int ordinal) { return gpu::facts_of<Cuda>(ordinal); }
/// The same for the calling thread's current device.
inline Result<DeviceFacts> current_device() { return gpu::current_device<Cuda>(); }

/// For example "580.159.03", or "for CUDA 13.0" where the system does not say.
std::string driver_version();
/// The version of the runtime in this library, for example "13.0".
std::string runtime_version();

}  // namespace detgemm::cuda
