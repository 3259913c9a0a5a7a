// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <utility>

#include "cuda/sm90/grouped/kernel.cuh"
#include "cuda/sm90/grouped/kernels.hpp"

namespace detgemm::cuda::sm90 {

// Each source file instantiates this for one input type (cuda/CMakeLists.txt). Tokens are K-major,
// so that at most one operand, the weights, is MN-major.
template <DType T, Geometry kG, bool kXMn, bool kYMn>
Kernel grouped_kernel_with() {
  if constexpr (kG.takes_mn_major() || (!kXMn && !kYMn)) {
    using Tile = GroupedTile<T, kG, kXMn, kYMn>;
    return {reinterpret_cast<const void*>(&grouped_chain_kernel<Tile>), Tile::kThreads,
            Tile::kSharedBytes};
  } else {
    return {};
  }
}

template <DType T, bool kXMn, bool kYMn>
Kernel grouped_kernel_of(int geometry) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, sizeof...(I)>{
        grouped_kernel_with<T, kGroupedGeometries[I], kXMn, kYMn>()...};
  }
  (std::make_index_sequence<kGroupedGeometries.size()>());
  return all[static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
