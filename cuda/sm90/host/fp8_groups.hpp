// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"
#include "cuda/fp8/launch.hpp"
#include "cuda/kernel.hpp"

/// The host half of the wgmma kernel of e4m3 over segments of rows.
namespace detgemm::cuda::sm90 {

/// The rule by which tiles do not take these groups, or null.
const char* why_not_fp8_groups(const GroupedArguments& p, const ScalePair& scales);

/// The cheapest geometry and roles for groups of the average size, or the best roles of the forced
/// geometry. Precondition: tiles take the groups.
Fp8Decision choose_fp8_groups(const GroupedArguments& p, const ScalePair& scales,
                              const LaunchOptions& options);

Kernel fp8_group_kernel(Join join, int geometry);

cudaError_t launch_fp8_groups(const Fp8Decision& d, const GroupedArguments& p,
                              const ScalePair& scales, const LaunchOptions& options);

}  // namespace detgemm::cuda::sm90
