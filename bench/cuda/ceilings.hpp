// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "bench/common/sampling.hpp"

namespace detgemm::bench {

/// Steps of wgmma on random operands that stay in shared memory, on every multiprocessor; a refusal
/// where the device is not of compute capability 9.0. `flops` is set to what one call counts.
Arm wgmma_loop(double& flops);
/// The same of fp32 FMAs in registers.
Arm fma_loop(double& flops);

}  // namespace detgemm::bench
