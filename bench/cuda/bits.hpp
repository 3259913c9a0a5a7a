// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "bench/common/buffers.hpp"
#include "bench/common/problem.hpp"

namespace detgemm::bench {

/// Outputs that were recomputed, and those of them whose bits differ.
struct Counted {
  std::int64_t seen = 0;
  std::int64_t different = 0;
};

/// Whether against_plain_chain computes what the contract says: hopper/{bf16,fp16}/chain and
/// ieee_fma/fp32/chain, D in the type of the inputs.
bool has_plain_chain(const Contract& contract);

/// Recomputes up to `tiles` tiles of 16 x 8 outputs, spread over all of D, the last one included,
/// with one mma.sync chain per tile, in ascending k (fp32: one chain of fma per output), and
/// compares bits. Waits.
Counted against_plain_chain(cudaStream_t stream, const Problem& problem, const Buffers::Call& call,
                            std::int64_t tiles);

}  // namespace detgemm::bench
