// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"

/// The host half of the kernels that compute one output of e4m3 per thread by the integer model,
/// for one product and over groups: everything under chain, fold and scaled. Columns of FamilyRow.
namespace detgemm::cuda::sm90 {

std::span<const KernelInfo> element_kernels();
std::span<const KernelInfo> element_group_kernels();
Choice choose_elements(const Question& q);
Choice choose_element_groups(const Question& q);
std::string element_name(const Decision& d);
/// None: their shared memory needs no raised limit.
std::vector<Decision> compiled_elements(Family family);
Kernel element_kernel(const Decision& d);
cudaError_t launch_elements(const Kernel& kernel, const Decision& d, const Call& call);
cudaError_t launch_element_groups(const Kernel& kernel, const Decision& d, const Call& call);

}  // namespace detgemm::cuda::sm90
