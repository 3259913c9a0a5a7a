// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::test {

/// Mistakes that a CUDA-core kernel could make, each planted in a plain kernel for fp32.
enum class Fault {
  none,           ///< the contract itself: shows that the others differ because of their fault
  descending_k,   ///< k from the last to the first
  two_chains,     ///< even and odd k have chains of their own, which are added at the end
  unfused,        ///< multiply, round and add in place of a fused multiply-add
  one_leaf,       ///< leaf boundaries are ignored
  late_leaf,      ///< leaves end one product too late
  fold_for_tree,  ///< leaves are added from left to right
  flushed,        ///< subnormal factors and sums become zero
};
inline constexpr int kFaults = 8;

const char* name(Fault fault);

/// D = A * B under ieee_fma/fp32 with the fault. D is packed row-major fp32, without an epilogue.
cudaError_t planted_gemm(const GemmArguments& g, Fault fault, cudaStream_t stream);

}  // namespace detgemm::test
