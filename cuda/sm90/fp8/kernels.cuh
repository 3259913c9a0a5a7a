// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <utility>

#include "cuda/sample.hpp"
#include "cuda/sm90/fp8/kernel.cuh"
#include "cuda/sm90/fp8/kernels.hpp"

namespace detgemm::cuda::sm90 {

/// Accumulators per thread of every kernel of a join, or 0: there is none.
template <Join kJoin>
constexpr auto fp8_accumulators() {
  std::array<int, kFp8Geometries.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Geometry& g = kFp8Geometries[i];
    all[i] = has_join(g, kJoin) ? g.blocks * g.n / 2 : 0;
  }
  return all;
}

template <Join kJoin, std::size_t kI>
Kernel compiled_fp8() {
  if constexpr (is_built(fp8_accumulators<kJoin>(), kI, DType::e4m3)) {
    using Tile = Fp8Tile<kFp8Geometries[kI], kJoin>;
    return {reinterpret_cast<const void*>(&fp8_kernel<Tile>), Tile::kThreads, Tile::kSharedBytes,
            Tile::kCluster};
  } else {
    return {};
  }
}

// One source file per join instantiates this (cuda/CMakeLists.txt).
template <Join kJoin>
Kernel fp8_kernel_of(int geometry) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, sizeof...(I)>{compiled_fp8<kJoin, I>()...};
  }
  (std::make_index_sequence<kFp8Geometries.size()>());
  return all[static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
