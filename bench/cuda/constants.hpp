// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "bench/cuda/nvml.hpp"
#include "bench/suite/device.hpp"

namespace detgemm::bench {

/// What models of time read of a CUDA device beside the ceilings: its last cache, clocks and the
/// rate of wgmma under load, and what launches cost. About five seconds.
std::vector<Constant> cuda_constants(BenchDevice& device, Nvml& nvml);

}  // namespace detgemm::bench
