// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/devices.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::cuda {

/// A plan of the current device `device`, whose portable kernels are prepared, for an ieee_fma
/// contract. options.variant is one of fma_variants, or empty.
std::shared_ptr<const PlanImpl> make_fma_plan(const GemmSpec& spec, const PlanOptions& options,
                                              const DeviceFacts& device);

/// The kernels that compute this problem, any arrays: for fold those that can end a leaf, for a
/// tree those that can keep its subtrees.
std::vector<std::string> fma_variants(const GemmSpec& spec);

}  // namespace detgemm::cuda
