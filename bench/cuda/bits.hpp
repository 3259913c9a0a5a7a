// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "bench/common/buffers.hpp"
#include "bench/common/problem.hpp"

namespace detgemm::bench {

struct Counted {
  std::int64_t seen = 0;
  std::int64_t different = 0;
};

/// Recomputes up to `tiles` tiles of 16 x 8 outputs, spread over all of D, the last one included,
/// with one mma.sync chain a tile, in ascending k (fp32: one chain of fma an output), and compares
/// bits. Waits.
Counted against_plain_chain(cudaStream_t stream, const Problem& problem, const Buffers::Call& call,
                            std::int64_t tiles);

/// Counts outputs of `size` bytes, 2 or 4, whose bits differ. Waits.
Counted compare(cudaStream_t stream, const void* x, const void* y, std::int64_t bytes,
                std::int64_t size);

}  // namespace detgemm::bench
