// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::test {

/// Mistakes that a kernel could make when it shares the leaves of a tree.
enum class LeafFault {
  none,           ///< the contract itself: shows that the others differ because of their fault
  element_range,  ///< the tree halves ranges of k, not of leaf indices
  arrival_order,  ///< parts are added as they arrive: here the last one first
  one_chain,      ///< leaf boundaries are ignored
};
inline constexpr int kLeafFaults = 4;

/// D = A * B under hopper/bf16/tree with the fault. D is packed row-major fp32, without an
/// epilogue.
cudaError_t planted_tree(const GemmArguments& g, LeafFault fault, cudaStream_t stream);

}  // namespace detgemm::test
