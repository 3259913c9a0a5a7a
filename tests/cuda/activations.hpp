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
  planted,            ///< gelu with gelu_tanh, which differ
  rounded_silu,       ///< activate_rounded, where it knows, with the contract's value rounded
  rounded_gelu_tanh,  ///< likewise; both for bf16 and for fp16
  rounded_planted,    ///< the same with a bound of 1/16 of the error
};

/// Adds the number of inputs whose results have different bits to out[0], on the device, and for
/// activate_rounded the number of inputs from -16 to 16 with at least 2^-32 in size that it does
/// not know in bf16 to out[1].
cudaError_t compare_activations(Compared what, unsigned long long* out, cudaStream_t stream);

}  // namespace detgemm::test
