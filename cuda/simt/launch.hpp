// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/families.hpp"

/// The rest of the row of ieee_fma on CUDA cores; see FamilyRow.
namespace detgemm::cuda::simt {

std::span<const KernelInfo> kernels();
std::string name(const Decision& d);
std::vector<Decision> compiled();
Kernel kernel_of(const Decision& d);
cudaError_t launch(const Kernel& kernel, const Decision& d, const Call& call);

}  // namespace detgemm::cuda::simt
