// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "backends/cuda/devices.hpp"
#include "detgemm/backend.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm::cuda {

/// A plan for the current device `device`, which supports the spec. options.variant is the name of
/// one of the contract's kernels, or empty. Arrays that a forced kernel does not take are refused
/// when the plan runs. (cuda/launch.hpp lists the kernels.) `evidence` goes to RunInfo.
std::shared_ptr<const PlanImpl> make_plan(const GemmSpec& spec, const PlanOptions& options,
                                          const DeviceFacts& device,
                                          const std::string& evidence = {});

/// The same over groups.
std::shared_ptr<const GroupedPlanImpl> make_grouped_plan(const GroupedSpec& spec,
                                                         const PlanOptions& options,
                                                         const DeviceFacts& device,
                                                         const std::string& evidence = {});

}  // namespace detgemm::cuda
