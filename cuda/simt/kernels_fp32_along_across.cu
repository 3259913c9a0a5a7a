// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/simt/kernels.cuh"

namespace detgemm::cuda::simt {

template const void* large_kernel<true, false>(int);

}  // namespace detgemm::cuda::simt
