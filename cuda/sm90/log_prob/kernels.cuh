// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

#include "cuda/sample.hpp"
#include "cuda/sm90/log_prob/kernel.cuh"
#include "cuda/sm90/log_prob/kernels.hpp"

namespace detgemm::cuda::sm90 {

template <DType T, std::size_t kI>
Kernel log_kernel() {
  if constexpr (is_built(accumulators_of(kLogGeometries, false, false), kI, T)) {
    using Tiled = Tile<T, kLogGeometries[kI], false, false>;
    return {reinterpret_cast<const void*>(&log_tiles_kernel<Tiled>), Tiled::kThreads,
            Tiled::kSharedBytes, 1};
  } else {
    return {};
  }
}

template <DType T>
Kernel log_kernel_of(int geometry) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, sizeof...(I)>{log_kernel<T, I>()...};
  }
  (std::make_index_sequence<kLogGeometries.size()>());
  return all[static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
