// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/devices.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm::cuda {

/// The names of the kernels over groups that may be forced.
std::vector<std::string> grouped_variant_names(const GroupedSpec& spec, bool wgmma);

/// A plan for the current device `device`, which supports the spec. options.variant is one of the
/// names, or empty. Arrays that a forced kernel does not take are refused when the plan runs.
std::shared_ptr<const GroupedPlanImpl> make_grouped_plan(const GroupedSpec& spec,
                                                         const PlanOptions& options,
                                                         const DeviceFacts& device);

}  // namespace detgemm::cuda
