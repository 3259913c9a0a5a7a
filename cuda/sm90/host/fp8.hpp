// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"

/// The host half of the wgmma kernels of e4m3; columns of FamilyRow.
namespace detgemm::cuda::sm90 {

/// Fills in what a Question says about a product of e4m3: tiles take it, or it is one for elements.
void ask_fp8(const Problem& p, Question& q);

std::span<const KernelInfo> fp8_kernels();
/// The cheapest geometry and roles, or the best roles of the forced geometry.
Choice choose_fp8(const Question& q);
/// For example "sm90/fp8/128x128/swapped". Over groups too.
std::string fp8_name(const Decision& d);
/// Of single products and of groups, by the family.
std::vector<Decision> compiled_fp8(Family family);
Kernel fp8_kernel(const Decision& d);
cudaError_t launch_fp8(const Kernel& kernel, const Decision& d, const Call& call);

}  // namespace detgemm::cuda::sm90
