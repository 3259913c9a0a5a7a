// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <utility>

#include "cuda/sample.hpp"
#include "cuda/sm90/grouped/kernel.cuh"
#include "cuda/sm90/grouped/kernels.hpp"

namespace detgemm::cuda::sm90 {

// Each source file instantiates this for one input type (cuda/CMakeLists.txt). Tokens are K-major,
// so that at most one operand, the weights, is MN-major.
template <DType T, std::size_t kI, bool kXMn, bool kYMn>
Kernel grouped_kernel_with() {
  if constexpr (is_built(accumulators_of(kGroupedGeometries, kXMn, kYMn), kI,
                         sampled_as(T, kXMn, kYMn))) {
    using Tile = GroupedTile<T, kGroupedGeometries[kI], kXMn, kYMn>;
    return {reinterpret_cast<const void*>(&grouped_chain_kernel<Tile>), Tile::kThreads,
            Tile::kSharedBytes};
  } else {
    return {};
  }
}

template <DType T, bool kXMn, bool kYMn>
Kernel grouped_kernel_of(int geometry) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, sizeof...(I)>{grouped_kernel_with<T, I, kXMn, kYMn>()...};
  }
  (std::make_index_sequence<kGroupedGeometries.size()>());
  return all[static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
