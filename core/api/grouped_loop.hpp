// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "detgemm/device.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm {

/// Groups on a backend that has no kernels over groups: a Plan per group, one after the other on
/// the stream. Offsets are read on the host, which waits for the stream; batched problems have none
/// and wait for nothing. Preconditions: those of Backend::make_grouped_plan.
Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_loop(const Backend& backend,
                                                                 const GroupedSpec& spec,
                                                                 const PlanOptions& options);

/// The offsets, once all work on the stream has finished. Refuses a stream that is being captured
/// (invalid_argument), whose work has not begun.
Result<std::vector<std::int64_t>> read_offsets(Device& device, Stream stream,
                                               const Offsets& offsets);

}  // namespace detgemm
