// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

/// What HIP's own headers would define. Kernels are compiled without those headers, so that a plain
/// clang is enough; for a host compiler and for nvcc (tests/hip/on_cuda) there is nothing to
/// define.
#if defined(__HIP__) && !defined(__global__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#endif

#if defined(__HIP__) || defined(__CUDACC__)
#define DETGEMM_DEVICE __device__ __forceinline__
#endif
