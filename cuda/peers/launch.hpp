// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "cuda/kernel.hpp"
#include "cuda/peers/job.hpp"

/// The entry to the kernels of peers, beside cuda/launch.hpp.
namespace detgemm::cuda::peers {

/// Threads of a CTA, at most, and of one that leaves room for a CTA of a product.
inline constexpr int kMaxThreads = 512;
inline constexpr int kMaxThreadsEarly = 256;
/// The compiled kernel: for runs of outputs or for single ones, for up to kShallow sums that wait
/// or up to kMaxWaiting.
Kernel kernel(bool vectors, bool deep);
/// one_shot that begins before its product has ended (early.hpp): for runs of outputs, and up to
/// kFlat sums that wait. Under its wait the next kernel of the stream begins, or does not.
Kernel early_kernel(bool lets_next_in);

/// Whether the kernels that take runs of 8 outputs are fit for these arrays; roots that are in
/// windows are.
bool takes_vectors(const Job& job);

/// The largest number of sums that wait while nodes are joined that close so many.
int most_waiting(const std::uint8_t* closes, int nodes);

/// How many CTAs of how many threads. A pure function, so that all ranks have the same.
struct Grid {
  int ctas = 1, threads = 128;
};
Grid choose(std::int64_t outputs_of_a_rank, int most_ctas, int most_threads = kMaxThreads);

/// Loads the kernels in the current context: a first launch that loads one might wait for other
/// kernels on the device, which may wait for this rank.
cudaError_t prepare();

/// How calls run on a device; the same on all ranks.
struct Way {
  int most_ctas = 1;
  bool overlap = false;  ///< programmatic dependent launch
  /// The next kernel on the stream may begin while an early one waits for its peers. It takes
  /// multiprocessors, so each rank has a device of its own, and of the windows that are open on a
  /// device one alone does so: whichever call of another window waits, this one finds room on all
  /// devices, ends, and lets the other in.
  bool lets_next_in = false;
};

/// Enqueues one call on the current device, of compute capability 8.0 and above. No allocation, no
/// synchronisation; capturable, and a replay is a call of its own. `blank`: one_shot whose own
/// roots were blank before the product, and are so again after the call.
cudaError_t enqueue(const Job& job, const Way& way, bool blank, cudaStream_t stream);

/// Makes this rank's own roots blank, on the stream.
cudaError_t blank_roots(const Job& job, cudaStream_t stream);

/// The kernel's line for RunInfo.
std::string name(const Job& job);

}  // namespace detgemm::cuda::peers
