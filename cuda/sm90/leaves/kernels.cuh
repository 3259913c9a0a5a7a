// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <utility>

#include "cuda/sm90/leaves/kernel.cuh"
#include "cuda/sm90/leaves/kernels.hpp"

namespace detgemm::cuda::sm90 {

template <DType T, std::size_t kI, bool kXMn, bool kYMn, Form kForm, bool kDeep>
Kernel compiled_leaf() {
  constexpr Geometry kG = kLeafGeometries[kI];
  constexpr bool kTaken = kForm == Form::plain || takes_general_leaves(kG);
  if constexpr (kTaken && (kG.takes_mn_major() || (!kXMn && !kYMn))) {
    using Tile = LeafTile<T, kG, kXMn, kYMn, kForm, kDeep && has_deep(kG)>;
    return {reinterpret_cast<const void*>(&leaf_kernel<Tile>), Tile::kThreads, Tile::kSharedBytes,
            Tile::kCluster};
  } else {
    return {};
  }
}

template <DType T, bool kXMn, bool kYMn>
Kernel leaf_kernel_of(int geometry, Form form, bool deep) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, 4 * sizeof...(I)>{
        compiled_leaf<T, I, kXMn, kYMn, Form::plain, false>()...,
        compiled_leaf<T, I, kXMn, kYMn, Form::plain, true>()...,
        compiled_leaf<T, I, kXMn, kYMn, Form::general, false>()...,
        compiled_leaf<T, I, kXMn, kYMn, Form::general, true>()...};
  }
  (std::make_index_sequence<kLeafGeometries.size()>());
  const std::size_t which = (form == Form::plain ? 0U : 2U) + (deep ? 1U : 0U);
  return all[which * kLeafGeometries.size() + static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
