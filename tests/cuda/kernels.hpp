// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "core/contract/gemm_arguments.hpp"
#include "core/contract/leaf_scales.hpp"
#include "tests/cuda/element.hpp"

/// What the tests do on the device besides the GEMM itself. Every call enqueues work and returns.
namespace detgemm::test {

/// Executes the contract with `compute_element`, one output per thread: hopper with bf16 or fp16,
/// ieee_fma with fp32 too, and snap with bf16; hopper with e4m3 where the kernels are built. It is
/// slow, and shares no line with the kernels under test (`elements` of e4m3 excepted).
cudaError_t oracle(const GemmArguments& g, DType input, cudaStream_t stream,
                   Arithmetic arithmetic = Arithmetic::hopper, const ScalePair& scales = {});

/// Vectors of elements: element (line, k) lies at `data + line * strides.row + k * strides.col`.
struct Lines {
  void* data = nullptr;
  Strides strides;
  std::int64_t lines = 0;   ///< number of vectors
  std::int64_t length = 0;  ///< elements per vector
};
/// Fills the vectors with drawn elements.
cudaError_t fill(const Lines& where, const Draw& draw, cudaStream_t stream);

/// Fills an array of scales. Where a stride is 0, one scale is drawn for all.
cudaError_t fill_scales(const BlockScales& scales, const Draw& draw, cudaStream_t stream);

/// Snaps bf16 vectors where they lie, by core/arithmetic/snap.hpp, a leaf per thread.
cudaError_t snap_by_the_rule(const Lines& where, std::int64_t leaf_k, cudaStream_t stream);

/// What a comparison found.
struct Difference {
  unsigned long long elements = 0;      ///< outputs that differ
  unsigned long long bytes_inside = 0;  ///< bytes that differ in those outputs
  unsigned long long bytes = 0;         ///< bytes that differ anywhere in the two ranges
  unsigned long long first = ~0ULL;     ///< row * cols + col of the first output that differs
  unsigned long long nans = 0;          ///< expected outputs that are NaN, which reveal little

  unsigned long long bytes_outside() const { return bytes - bytes_inside; }
};

/// Compares two ranges of memory byte by byte, and the outputs in them bit by bit. What it finds is
/// added to `*out`, which lies on the device.
struct Comparison {
  const void* x = nullptr;  ///< two ranges of `bytes` bytes
  const void* y = nullptr;
  std::size_t bytes = 0;
  std::size_t first = 0;  ///< bytes from the start of a range to output (0, 0)
  Strides strides;
  std::int64_t rows = 0, cols = 0;
  DType type = DType::fp32;
};
cudaError_t compare(const Comparison& c, Difference* out, cudaStream_t stream);

/// Adds a digest of the range to `*out`; any changed byte changes it.
cudaError_t checksum(const void* range, std::size_t bytes, unsigned long long* out,
                     cudaStream_t stream);

/// Flips the bits of `mask` in one byte on the device.
cudaError_t poke(void* byte, std::uint8_t mask, cudaStream_t stream);

}  // namespace detgemm::test
