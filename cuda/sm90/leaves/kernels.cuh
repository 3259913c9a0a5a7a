// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <optional>
#include <utility>

#include "cuda/sample.hpp"
#include "cuda/sm90/leaves/fold_kernel.cuh"
#include "cuda/sm90/leaves/kernel.cuh"
#include "cuda/sm90/leaves/kernels.hpp"
#include "cuda/sm90/leaves/tree_kernel.cuh"

namespace detgemm::cuda::sm90 {

template <DType T, std::size_t kI, bool kXMn, bool kYMn, bool kDeep>
Kernel compiled_leaf() {
  constexpr Geometry kG = kLeafGeometries[kI];
  if constexpr (is_built(accumulators_of(kLeafGeometries, kXMn, kYMn), kI,
                         sampled_as(T, kXMn, kYMn))) {
    using Tile = LeafTile<T, kG, kXMn, kYMn, kDeep && has_deep(kG)>;
    return {reinterpret_cast<const void*>(&leaf_kernel<Tile>), Tile::kThreads, Tile::kSharedBytes,
            Tile::kCluster};
  } else {
    return {};
  }
}

/// Accumulators per thread of every kernel of folds, or 0: there is none.
constexpr auto fold_accumulators(bool x_mn, bool y_mn, bool from_c) {
  auto all = accumulators_of(kLeafGeometries, x_mn, y_mn);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Geometry& g = kLeafGeometries[i];
    if (!(from_c ? has_fold_from_c(g, x_mn, y_mn) : has_fold(g))) all[i] = 0;
  }
  return all;
}

template <DType T, std::size_t kI, bool kXMn, bool kYMn, bool kFromC>
Kernel compiled_fold() {
  constexpr Geometry kG = kLeafGeometries[kI];
  constexpr auto kSampledAs = kFromC ? std::optional(DType::fp16) : sampled_as(T, kXMn, kYMn);
  constexpr bool kAnother = kSampleAlone && kFromC && T != DType::bf16;  // a sample has one
  if constexpr (!kAnother && is_built(fold_accumulators(kXMn, kYMn, kFromC), kI, kSampledAs)) {
    using Tile = FoldTile<T, kG, kXMn, kYMn, kFromC>;
    return {reinterpret_cast<const void*>(&fold_kernel<Tile>), Tile::kThreads, Tile::kSharedBytes,
            Tile::kCluster};
  } else {
    return {};
  }
}

/// Accumulators per thread of every kernel of wide trees, or 0: there is none.
constexpr auto tree_accumulators(bool x_mn, bool y_mn) {
  auto all = accumulators_of(kLeafGeometries, x_mn, y_mn);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_tree(kLeafGeometries[i])) all[i] = 0;
  }
  return all;
}

template <DType T, std::size_t kI, bool kXMn, bool kYMn>
Kernel compiled_tree() {
  // A sample has one kernel, of bf16 with both operands along k.
  constexpr bool kAnother = kSampleAlone && (T != DType::bf16 || kXMn || kYMn);
  if constexpr (!kAnother && is_built(tree_accumulators(kXMn, kYMn), kI, DType::fp16)) {
    using Tile = TreeTile<T, kLeafGeometries[kI], kXMn, kYMn>;
    return {reinterpret_cast<const void*>(&tree_kernel<Tile>), Tile::kThreads, Tile::kSharedBytes,
            Tile::kCluster};
  } else {
    return {};
  }
}

template <DType T, bool kXMn, bool kYMn>
Kernel tree_kernel_of(int geometry) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, sizeof...(I)>{compiled_tree<T, I, kXMn, kYMn>()...};
  }
  (std::make_index_sequence<kLeafGeometries.size()>());
  return all[static_cast<std::size_t>(geometry)];
}

template <DType T, bool kXMn, bool kYMn>
Kernel fold_kernel_of(int geometry, bool from_c) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, 2 * sizeof...(I)>{compiled_fold<T, I, kXMn, kYMn, false>()...,
                                                compiled_fold<T, I, kXMn, kYMn, true>()...};
  }
  (std::make_index_sequence<kLeafGeometries.size()>());
  const std::size_t first = from_c ? kLeafGeometries.size() : 0;
  return all[first + static_cast<std::size_t>(geometry)];
}

template <DType T, bool kXMn, bool kYMn>
Kernel leaf_kernel_of(int geometry, bool deep) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, 2 * sizeof...(I)>{compiled_leaf<T, I, kXMn, kYMn, false>()...,
                                                compiled_leaf<T, I, kXMn, kYMn, true>()...};
  }
  (std::make_index_sequence<kLeafGeometries.size()>());
  const std::size_t first = deep ? kLeafGeometries.size() : 0;
  return all[first + static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
