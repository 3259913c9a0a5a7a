// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/realign_kernel.cuh"

namespace detgemm::cuda::sm90 {

template Kernel realign_kernel_of<DType::bf16, true, false>(int, Form);
template Kernel realign_kernel_of<DType::bf16, true, true>(int, Form);

}  // namespace detgemm::cuda::sm90
