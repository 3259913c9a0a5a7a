// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/common/buffers.hpp"
#include "bench/gpu/cublaslt.hpp"
#include "bench/gpu/nvml.hpp"
#include "bench/gpu/options.hpp"
#include "bench/gpu/queue.hpp"
#include "bench/gpu/result.hpp"

namespace detgemm::bench {

/// What all cases share. `cublaslt` is null where there is none.
struct Bench {
  const Options& options;
  const Buffers& buffers;
  CublasLt* cublaslt;
  Nvml& nvml;
  CudaQueue& queue;
  cudaStream_t stream;  ///< the queue's
  double shrink = 1;    ///< of repetitions, to keep a budget
};

/// Compares bits, then times all arms.
CaseResult run_case(const Bench& bench, const Case& c);
/// Times every kernel of ours that takes the problem, about 20 ms each, and the vendor's.
CaseResult run_variants(const Bench& bench, const Case& c);

}  // namespace detgemm::bench
