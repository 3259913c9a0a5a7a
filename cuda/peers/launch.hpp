// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "cuda/kernel.hpp"
#include "cuda/peers/job.hpp"

/// The entry to the kernels of peers, beside cuda/launch.hpp.
namespace detgemm::cuda::peers {

/// Threads of a CTA, at most.
inline constexpr int kMaxThreads = 512;
/// Sums that wait in the kernels that are not deep.
inline constexpr int kShallow = 4;
/// The compiled kernel: for runs of outputs or for single ones, for up to kShallow sums that wait
/// or up to kMaxWaiting.
Kernel kernel(bool vectors, bool deep);

/// Whether the kernels that take runs of 8 outputs are fit for these arrays; roots that are in
/// windows are.
bool takes_vectors(const Job& job);

/// The largest number of sums that wait while nodes are joined that close so many.
int most_waiting(const std::uint8_t* closes, int nodes);

/// How many CTAs of how many threads. A pure function, so that all ranks have the same.
struct Grid {
  int ctas = 1, threads = 128;
};
Grid choose(std::int64_t outputs_of_a_rank, int most_ctas);

/// Loads the kernels in the current context: a first launch that loads one might wait for other
/// kernels on the device, which may wait for this rank.
cudaError_t prepare();

/// Enqueues one call on the current device, of compute capability 8.0 and above. No allocation, no
/// synchronisation; capturable, and a replay is a call of its own. `overlap`: programmatic
/// dependent launch. At most most_ctas CTAs, the same number on all ranks.
cudaError_t enqueue(const Job& job, int most_ctas, cudaStream_t stream, bool overlap);

/// The kernel's line for RunInfo.
std::string name(const Job& job);

}  // namespace detgemm::cuda::peers
