// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <utility>

#include "cuda/sample.hpp"
#include "cuda/sm90/fp8/group_kernel.cuh"
#include "cuda/sm90/fp8/kernels.cuh"

namespace detgemm::cuda::sm90 {

template <Join kJoin, std::size_t kI>
Kernel compiled_fp8_group() {
  if constexpr (has_group_join(kI, kJoin) && is_built(fp8_accumulators<kJoin>(), kI, DType::e4m3)) {
    using Tile = Fp8Tile<kFp8Geometries[kI], kJoin, kMaxSegments* int{sizeof(RowSegment)}>;
    return {reinterpret_cast<const void*>(&fp8_group_kernel<Tile>), Tile::kThreads,
            Tile::kSharedBytes};
  } else {
    return {};
  }
}

// One source file per join instantiates this (cuda/CMakeLists.txt).
template <Join kJoin>
Kernel fp8_group_kernel_of(int geometry) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, sizeof...(I)>{compiled_fp8_group<kJoin, I>()...};
  }
  (std::make_index_sequence<kFp8Geometries.size()>());
  return all[static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
