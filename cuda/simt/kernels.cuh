// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

#include "cuda/simt/kernel.cuh"
#include "cuda/simt/kernels.hpp"

namespace detgemm::cuda::simt {

/// A tile as a type (see simt_kernel).
template <int kIndex>
struct Shape {
  static constexpr Tile tile = kTiles[kIndex];
};

template <bool kAlongA, bool kAlongB>
const void* large_kernel(int tile) {
  constexpr Way kA = kAlongA ? Way::along : Way::across;
  constexpr Way kB = kAlongB ? Way::along : Way::across;
  const void* found = nullptr;
  const auto look = [&]<int... i>(std::integer_sequence<int, i...>) {
    ((tile == i
          ? void(found = reinterpret_cast<const void*>(&simt_kernel<DType::fp32, Shape<i>, kA, kB>))
          : void()),
     ...);
  };
  look(std::make_integer_sequence<int, kLargeTiles>());
  return found;
}

template <int kPart>
const void* line_kernel(int tile) {
  const void* found = nullptr;
  const auto one = [&]<int i>() {
    if constexpr (kTiles[i].lines && i % kLineParts == kPart) {
      if (tile == i) {
        found =
            reinterpret_cast<const void*>(&simt_kernel<DType::fp32, Shape<i>, Way::any, Way::any>);
      }
    }
  };
  const auto look = [&]<int... i>(std::integer_sequence<int, i...>) {
    (one.template operator()<i>(), ...);
  };
  look(std::make_integer_sequence<int, kTileCount>());
  return found;
}

template <DType T>
const void* kernel_of_type(int tile) {
  const void* found = nullptr;
  const auto one = [&]<int i>() {
    if constexpr (has_tile(T, i) && (T != DType::fp32 || i >= kLargeTiles) && !kTiles[i].lines) {
      if (tile == i) {
        found = reinterpret_cast<const void*>(&simt_kernel<T, Shape<i>, Way::any, Way::any>);
      }
    }
  };
  const auto look = [&]<int... i>(std::integer_sequence<int, i...>) {
    (one.template operator()<i>(), ...);
  };
  look(std::make_integer_sequence<int, kTileCount>());
  return found;
}

}  // namespace detgemm::cuda::simt
