// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/leaf_kernels.cuh"

namespace detgemm::cuda::sm90 {

template Kernel leaf_kernel_of<DType::bf16, false, false>(int, Form, bool);

}  // namespace detgemm::cuda::sm90
