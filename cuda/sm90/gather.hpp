// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/kernels.hpp"

namespace detgemm::cuda::sm90 {

/// The kernel of Path::gather and its CTAs for a problem. Takes GemmArguments alone.
Kernel gather_kernel(DType type);
int gather_grid(const GemmArguments& g, int sms);

}  // namespace detgemm::cuda::sm90
