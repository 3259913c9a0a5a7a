// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <utility>

#include "cuda/sample.hpp"
#include "cuda/sm90/chain/kernel.cuh"
#include "cuda/sm90/chain/kernels.hpp"

namespace detgemm::cuda::sm90 {

// One source file per input type and pair of majors instantiates these functions
// (cuda/CMakeLists.txt) and so compiles every geometry that takes the pair.

template <class T>
Kernel kernel_of() {
  return {reinterpret_cast<const void*>(&chain_kernel<T>), T::kThreads, T::kSharedBytes,
          T::kCluster};
}

template <DType T, std::size_t kI, bool kXMn, bool kYMn>
Kernel compiled() {
  if constexpr (is_built(accumulators_of(kPlainGeometries, kXMn, kYMn), kI,
                         sampled_as(T, kXMn, kYMn))) {
    return kernel_of<Tile<T, kPlainGeometries[kI], kXMn, kYMn>>();
  } else {
    return {};
  }
}

template <DType T, bool kXMn, bool kYMn>
Kernel plain_kernel(int geometry) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, sizeof...(I)>{compiled<T, I, kXMn, kYMn>()...};
  }
  (std::make_index_sequence<kPlainGeometries.size()>());
  return all[static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
