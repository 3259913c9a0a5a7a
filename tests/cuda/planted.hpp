// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::test {

/// Mistakes a CUDA-core kernel could make, planted one at a time in a plain kernel for fp32.
enum class Fault {
  none,           ///< the contract: shows that the others differ for their fault's sake
  descending_k,   ///< k from the last to the first
  two_chains,     ///< even and odd k on chains of their own, added at the end
  unfused,        ///< multiply, round, add in place of a fused multiply-add
  one_leaf,       ///< leaf boundaries are not seen
  late_leaf,      ///< leaves end one product late
  fold_for_tree,  ///< leaves are added from left to right
  flushed,        ///< subnormal products and sums become zero
};
inline constexpr int kFaults = 8;

const char* name(Fault fault);

/// D = A * B under ieee_fma/fp32 with the fault; packed row-major fp32, no epilogue.
cudaError_t planted_gemm(const GemmArguments& g, Fault fault, cudaStream_t stream);

}  // namespace detgemm::test
