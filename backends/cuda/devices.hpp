// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/cuda/runtime.hpp"
#include "backends/gpu/device_table.hpp"

namespace detgemm::cuda {

/// A failed call as a Status; see gpu::failed.
inline Status failed(std::string_view what, cudaError_t error) {
  return gpu::failed<Cuda>(what, error);
}

/// ok, or why no CUDA device can be used here: no driver, one that is too old, no device.
inline Status driver_status() { return Cuda::available(); }

inline Result<DeviceFacts> facts_of(int ordinal) { return gpu::facts_of<Cuda>(ordinal); }
/// The same for the calling thread's current device.
inline Result<DeviceFacts> current_device() { return gpu::current_device<Cuda>(); }

/// For example "580.159.03", or "for CUDA 13.0" where the system does not say.
std::string driver_version();
/// The version of the runtime in this library, for example "13.0".
std::string runtime_version();

/// A number for the calling thread's current context on device `ordinal`, which must be current.
/// Drivers of CUDA 12.0 and above number contexts and never use a number twice, so a context that
/// was made after cudaDeviceReset or with cuCtxCreate has another one. With an older driver a
/// device has the same number as long as the process lives.
std::uint64_t current_context(int ordinal);

/// Loads the kernels of compute capability 9.0 in the current context of device `ordinal`, once
/// per context: shared-memory limits that were raised in one context are not raised in another.
/// When nothing is left to do it costs one call of the driver, so a launch may ask every time. Not
/// to be called for the first time in a context while a stream is being captured.
Status prepare(int ordinal);
inline Status prepare(const DeviceFacts& device) { return prepare(device.ordinal); }
/// The same for the portable kernels.
Status prepare_portable(int ordinal);
inline Status prepare_portable(const DeviceFacts& device) {
  return prepare_portable(device.ordinal);
}

}  // namespace detgemm::cuda
