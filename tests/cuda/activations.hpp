// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

namespace detgemm::test {

/// What is compared over all 2^32 inputs.
enum class Compared {
  silu,  ///< with and without the device's own division, as the next two
  gelu,
  gelu_tanh,
  planted,  ///< gelu with gelu_tanh, which differ
};

/// Adds the number of inputs whose results have different bits to `*out`, on the device.
cudaError_t compare_activations(Compared what, unsigned long long* out, cudaStream_t stream);

}  // namespace detgemm::test
