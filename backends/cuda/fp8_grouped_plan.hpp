// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "backends/cuda/devices.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm::cuda {

/// Many products of hopper/e4m3. Preconditions: those of Backend::make_grouped_plan.
std::shared_ptr<const GroupedPlanImpl> make_fp8_grouped_plan(const GroupedSpec& spec,
                                                             const PlanOptions& options,
                                                             const DeviceFacts& device);

}  // namespace detgemm::cuda
