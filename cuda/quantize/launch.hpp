// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/quantize.hpp"
#include "cuda/kernel.hpp"

/// The entry to the kernels that quantise a matrix to e4m3, with the bits of
/// core/contract/quantize.hpp.
///
///   kernel                       a warp takes          which
///   leaves of bf16, fp16, fp32   2 leaves of a line    per 1, LEAF <= 128 and a multiple of 4, K
///                                                      contiguous, lines aligned to 4 numbers
///   any                          1 block               everything else
namespace detgemm::cuda::quantize {

inline constexpr int kAny = 3;  ///< the kernels before it are those of DType bf16, fp16, fp32
inline constexpr int kKernels = 4;

/// A kernel; its argument is QuantizeArguments, and the grid may have any size.
Kernel kernel(int index);

/// What runs: a pure function of shapes, strides, alignment, types and multiprocessors.
struct Launch {
  int kernel = kAny;
  int grid = 0;  ///< CTAs; 0: there is nothing to quantise
};
Launch choose(const QuantizeArguments& q, int sms);

/// Enqueues it; waits for nothing and is capturable.
cudaError_t enqueue(const QuantizeArguments& q, int sms, const Queue& queue);

}  // namespace detgemm::cuda::quantize
