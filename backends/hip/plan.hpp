// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "backends/hip/devices.hpp"
#include "detgemm/backend.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm::hip {

/// A plan of the current device, whose kernels it loads. The spec is one that the device's chip
/// computes and options.variant one of its variants, or empty.
Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec, const PlanOptions& options,
                                                  const DeviceFacts& device);

/// The same over groups, for a spec that computes_groups on the device's chip; options.variant is
/// one of group_kernels, or empty.
Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(const GroupedSpec& spec,
                                                                 const PlanOptions& options,
                                                                 const DeviceFacts& device);

/// Enqueues what Backend::snap promises, on the current device.
Status snap_matrix(StreamHandle stream, const SnapSpec& spec, const ConstMatrix& from,
                   const Matrix& to, const DeviceFacts& device);

}  // namespace detgemm::hip
