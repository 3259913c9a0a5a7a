// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "backends/cuda/devices.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::cuda {

/// A plan of the kernels of hopper/e4m3. Precondition: computes_fp8(spec.contract).
std::shared_ptr<const PlanImpl> make_fp8_plan(const GemmSpec& spec, const PlanOptions& options,
                                              const DeviceFacts& device);

}  // namespace detgemm::cuda
