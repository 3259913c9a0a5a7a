// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <utility>

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

template <DType T, Geometry kG, bool kXMn, bool kYMn, Form kForm>
Kernel compiled() {
  if constexpr (kG.takes_mn_major() || (!kXMn && !kYMn)) {
    return kernel_of<Tile<T, kG, kXMn, kYMn, kForm>>();
  } else {
    return {};
  }
}

template <DType T, bool kXMn, bool kYMn>
Kernel plain_kernel(int geometry) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, sizeof...(I)>{
        compiled<T, kPlainGeometries[I], kXMn, kYMn, Form::plain>()...};
  }
  (std::make_index_sequence<kPlainGeometries.size()>());
  return all[static_cast<std::size_t>(geometry)];
}

template <DType T, bool kXMn, bool kYMn>
Kernel general_kernel(int geometry, Form form) {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Kernel, 2 * sizeof...(I)>{
        compiled<T, kGeneralGeometries[I], kXMn, kYMn, Form::general>()...,
        compiled<T, kGeneralGeometries[I], kXMn, kYMn, Form::from_c>()...};
  }
  (std::make_index_sequence<kGeneralGeometries.size()>());
  const std::size_t first = form == Form::from_c ? kGeneralGeometries.size() : 0;
  return all[first + static_cast<std::size_t>(geometry)];
}

}  // namespace detgemm::cuda::sm90
