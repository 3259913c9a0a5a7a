// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"

/// The host half of the kernels on ordinary loads, for one product and over groups; columns of
/// FamilyRow.
namespace detgemm::cuda::sm90 {

cudaError_t launch_gather(const Kernel& kernel, const Decision& d, const Call& call);

std::span<const KernelInfo> gather_kernels();
/// There is one kernel for chains and one for leaves.
Choice choose_gather_groups(const Question& q);
Kernel gather_kernel_of_groups(const Decision& d);
cudaError_t launch_gather_groups(const Kernel& kernel, const Decision& d, const Call& call);

/// Workspace for groups of at most max_m rows: where the sums of their trees over k wait.
std::size_t gather_workspace(const GroupedSpec& spec, std::int64_t max_m, std::int64_t k, int sms);

}  // namespace detgemm::cuda::sm90
