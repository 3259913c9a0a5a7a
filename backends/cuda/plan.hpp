// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/devices.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::cuda {

/// A plan of the current device `device`, whose kernels are prepared. The spec is one that the
/// SM90 kernels compute (chain, fold or tree) and options.variant one of theirs, or empty.
std::shared_ptr<const PlanImpl> make_sm90_plan(const GemmSpec& spec, const PlanOptions& options,
                                               const DeviceFacts& device);

/// The kernels that take some arrays of this problem: rows at 16-byte distances, if those are what
/// it takes. A run whose arrays a forced kernel does not take refuses.
std::vector<std::string> sm90_variants(const GemmSpec& spec);

}  // namespace detgemm::cuda
