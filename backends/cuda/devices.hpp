// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "detgemm/status.hpp"

namespace detgemm::cuda {

/// A failed call as a Status; forgets the runtime's record of it, which is no later call's affair.
Status failed(std::string_view what, cudaError_t error);

/// ok, or why no CUDA device can be used here: no driver, one that is too old, no device.
Status driver_status();

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int sms = 0;
  std::size_t memory = 0;

  std::string capability() const { return std::to_string(major) + "." + std::to_string(minor); }
};

Result<DeviceFacts> facts_of(int ordinal);
/// Of the calling thread's current device.
Result<DeviceFacts> current_device();

/// For example "580.159.03", or "for CUDA 13.0" where the system does not tell.
std::string driver_version();
/// "13.0": of the runtime in this library.
std::string runtime_version();

/// Loads the kernels of compute capability 9.0 on the current device, once for each in a process.
Status prepare(const DeviceFacts& device);
/// The same for the portable kernels.
Status prepare_portable(const DeviceFacts& device);

}  // namespace detgemm::cuda
