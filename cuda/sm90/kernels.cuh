// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/chain_kernel.cuh"
#include "cuda/sm90/kernels.hpp"

namespace detgemm::cuda::sm90 {

/// Part of one source file a type and pair of majors: compiles every geometry that takes them.
template <class T>
Kernel kernel_of() {
  return {reinterpret_cast<const void*>(&chain_kernel<T>), T::kThreads, T::kSharedBytes};
}

template <DType T, bool kXMn, bool kYMn>
Kernel plain_kernel(int geometry) {
  constexpr bool kAnyMn = kXMn || kYMn;
  int i = 0;
#define DETGEMM_SM90_CASE(name, groups, blocks, n, depth, ctas)                             \
  if (i++ == geometry) {                                                                    \
    if constexpr (!kAnyMn || (depth == 1 && n % 64 == 0)) {                                 \
      return kernel_of<Tile<T, groups, blocks, n, depth, kXMn, kYMn, Form::plain, ctas>>(); \
    }                                                                                       \
  }
  DETGEMM_SM90_GEOMETRIES(DETGEMM_SM90_CASE)
#undef DETGEMM_SM90_CASE
  return {};
}

template <DType T, bool kXMn, bool kYMn>
Kernel general_kernel(int geometry, Form form) {
  int i = 0;
#define DETGEMM_SM90_CASE(name, groups, blocks, n, depth, ctas)                              \
  if (i++ == geometry) {                                                                     \
    if (form == Form::from_c) {                                                              \
      return kernel_of<Tile<T, groups, blocks, n, depth, kXMn, kYMn, Form::from_c, ctas>>(); \
    }                                                                                        \
    return kernel_of<Tile<T, groups, blocks, n, depth, kXMn, kYMn, Form::general, ctas>>();  \
  }
  DETGEMM_SM90_GENERAL_GEOMETRIES(DETGEMM_SM90_CASE)
#undef DETGEMM_SM90_CASE
  return {};
}

}  // namespace detgemm::cuda::sm90
