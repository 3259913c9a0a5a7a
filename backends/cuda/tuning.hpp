// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "backends/cuda/runtime.hpp"
#include "detgemm/tuning.hpp"

namespace detgemm::cuda {

/// Kernels of single products that a tuning chooses among: those that a plan loads by itself, so
/// not those of mma.sync beside wgmma, and none of snap and snap3, whose steps depend on them.
const TuningEngine& tuning_engine() noexcept;

/// ok, or that the plan's tuning is for another kind of device than this one.
Status check_tuning(const PlanOptions& options, const DeviceFacts& device);

}  // namespace detgemm::cuda
