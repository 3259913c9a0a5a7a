// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"

/// The host half of the wgmma kernel of e4m3 over segments of rows; columns of FamilyRow. Name,
/// compiled and kernel are those of single products (fp8.hpp).
namespace detgemm::cuda::sm90 {

std::span<const KernelInfo> fp8_group_kernels();
/// The cheapest geometry and roles for groups of the average size, or the best roles of the forced
/// geometry.
Choice choose_fp8_groups(const Question& q);
cudaError_t launch_fp8_groups(const Kernel& kernel, const Decision& d, const Call& call);

}  // namespace detgemm::cuda::sm90
