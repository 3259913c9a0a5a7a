// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>

#include "core/contract/gemm_arguments.hpp"

/// The door of the CUDA kernels: backends include this and nothing else of cuda/.
namespace detgemm::cuda {

/// How one call is launched. Everything in it is bit-neutral.
struct LaunchOptions {
  cudaStream_t stream = nullptr;
  int sms = 0;               ///< multiprocessors of the device, or fewer by the caller's wish; >= 1
  int forced = -1;           ///< index into the list of the function's kernels, or -1: by shape
  bool a_is_stable = false;  ///< nothing enqueued before this call and still running writes A ...
  bool b_is_stable = false;  ///< ... or B: it may be read before that work has ended
  bool overlap =
      true;  ///< programmatic dependent launch: the kernel's start overlaps that work's end
};

/// Names of the kernels that can be forced; all give the same bits for every problem they take.
/// One that does not take a problem makes sm90_chain return cudaErrorNotSupported.
std::span<const std::string> sm90_chain_kernels();

/// The kernel, tile and operand roles that sm90_chain would use, in one line that contains the
/// kernel's name; "none" if and only if `options.forced` names a kernel that does not take this
/// problem, which is when sm90_chain returns cudaErrorNotSupported. A pure function of shapes,
/// strides, pointer alignment, types and options. Runs without a GPU.
std::string sm90_describe(const GemmArguments& g, DType input, const LaunchOptions& options);

/// Prepares the current device once: raises shared-memory limits, loads the kernels. Not to be
/// called during a graph capture.
cudaError_t sm90_prepare();

/// Enqueues D = epilogue(A*B) under hopper/{bf16,fp16}/chain on the current device (compute
/// capability 9.0, prepared). `input` is bf16 or fp16; any m, n >= 1 and k >= 0, any strides and
/// alignment GemmArguments allows. No allocation, no synchronisation, capturable.
cudaError_t sm90_chain(const GemmArguments& g, DType input, const LaunchOptions& options);

/// Fold and tree: the kernels that can be forced, and what would run, named as above. Three ways
/// to bring leaves together have the same bits: in one CTA, in a cluster ("-cluster4" after the
/// tile), across the grid ("-grid4").
std::span<const std::string> sm90_leaf_kernels();
std::string sm90_leaf_describe(const GemmArguments& g, DType input, const LaunchOptions& options);

/// Bytes of workspace sm90_leaves may use for a problem of at most max_m rows: grows with max_m.
std::size_t sm90_leaf_workspace(const Reduction& reduction, std::int64_t max_m, std::int64_t n,
                                std::int64_t k, int sms);

/// Enqueues D = epilogue(A*B) under hopper/{bf16,fp16}/{fold,tree}:LEAF, any LEAF that is a
/// multiple of 16 (of 64 for the fast kernels). What the workspace holds before and after means
/// nothing; it is 16-byte aligned, and no two calls that may run at the same time share it.
/// Otherwise as sm90_chain.
cudaError_t sm90_leaves(const GemmArguments& g, DType input, const LaunchOptions& options,
                        void* workspace);

/// The same for ieee_fma on CUDA cores: chain, fold and tree of any LEAF, on any device of compute
/// capability 8.0 and above. `options.forced` is an index into simt_kernels(); `input` is bf16,
/// fp16 or fp32. Neither promises of stability nor overlap are made use of.
std::span<const std::string> simt_kernels();
std::string simt_describe(const GemmArguments& g, DType input, const LaunchOptions& options);
cudaError_t simt_prepare();
cudaError_t simt_gemm(const GemmArguments& g, DType input, const LaunchOptions& options);

/// One rank's fp32 root.
struct Root {
  const float* data = nullptr;
  Strides strides;
};
/// Roots that one call joins at most: they travel as the kernel's argument.
inline constexpr std::size_t kMostRoots = 1024;

/// Enqueues D = epilogue(the tree over the roots), whatever arithmetic made them: 1, 2, 4, ...
/// kMostRoots of them, else cudaErrorInvalidValue. Of g neither A nor B nor k is looked at. Any
/// device of compute capability 8.0 and above; capturable.
cudaError_t combine_roots(const GemmArguments& g, std::span<const Root> roots,
                          const LaunchOptions& options);

}  // namespace detgemm::cuda
