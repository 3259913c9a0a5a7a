// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

namespace detgemm::test {

/// When a warp group of the main loop hands a stage back.
enum class HandBack {
  product,  ///< as the kernels do it
  early,    ///< planted fault: before the tensor core has read the stage
};

/// D (64 x 64 fp32, packed) = A (64 x k bf16) * B^T (64 x k bf16), both K-major and packed, by one
/// warp group over a ring of three stages, which it hands back with the kernels' own `release`.
/// Where `late` is set, three of its four warps sleep for two microseconds before they multiply a
/// stage. k is a multiple of 64.
cudaError_t delayed_chain(const void* a, const void* b, float* d, int k, bool late, HandBack how,
                          cudaStream_t stream);

}  // namespace detgemm::test
