// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::test {

/// Mistakes that a kernel which shares the leaves of a tree could make.
enum class LeafFault {
  none,           ///< the contract: shows that the others differ for their fault's sake
  element_range,  ///< the tree halves ranges of k, not of leaf indices
  arrival_order,  ///< parts are added as they come: here the last one first
  one_chain,      ///< leaf boundaries are not seen
};
inline constexpr int kLeafFaults = 4;

/// D = A * B under hopper/bf16/tree with the fault; packed fp32 D, no epilogue.
cudaError_t planted_tree(const GemmArguments& g, LeafFault fault, cudaStream_t stream);

}  // namespace detgemm::test
