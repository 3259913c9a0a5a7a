// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/kernels.cuh"

namespace detgemm::cuda::sm90 {

template Kernel plain_kernel<DType::fp16, false, true>(int);
template Kernel general_kernel<DType::fp16, false, true>(int, Form);

}  // namespace detgemm::cuda::sm90
