// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/device.hpp"

#include "backends/gpu/device.hpp"
#include "backends/hip/runtime.hpp"

namespace detgemm::hip {

Device& hip_device() noexcept {
  static gpu::GpuDevice<Hip> device;
  return device;
}

}  // namespace detgemm::hip
