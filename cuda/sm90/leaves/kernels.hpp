// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "cuda/sm90/chain/kernels.hpp"

namespace detgemm::cuda::sm90 {

/// The kernel of a geometry of kLeafGeometries; its function is null where it was not compiled.
template <DType T, bool kXMn, bool kYMn>
Kernel leaf_kernel_of(int geometry, Form form, bool deep);

/// The same for majors known at run time.
Kernel leaf_kernel_for(int geometry, DType input, bool x_mn, bool y_mn, Form form, bool deep);

/// Their part of sm90_prepare.
cudaError_t prepare_leaves();

}  // namespace detgemm::cuda::sm90
