// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/device.hpp"

#include "backends/cuda/runtime.hpp"
#include "backends/gpu/device.hpp"

namespace detgemm::cuda {

Device& cuda_device() noexcept {
  static gpu::GpuDevice<Cuda> device;
  return device;
}

}  // namespace detgemm::cuda
