// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

#include "cuda/mma/kernel.cuh"
#include "cuda/mma/kernels.hpp"
#include "cuda/sample.hpp"

namespace detgemm::cuda::mma {

/// A tile as a type.
template <int kIndex>
struct Shape {
  static constexpr Tile tile = kTiles[kIndex];
};

template <DType T, class Shape, bool kLeaves, bool kAlong>
__global__ void __launch_bounds__(Shape::tile.threads(),
                                  kLeaves || !kAlong ? 1 : Shape::tile.ctas())
    mma_kernel(const __grid_constant__ Params p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  compute_tiles<T, Shape, kLeaves, kAlong>(p, ptx::kept(ptx::shared_address(memory)));
}

template <DType T, bool kLeaves, bool kAlong>
const void* kernel_of_type(int tile) {
  const void* found = nullptr;
  static constexpr auto kFile = [] {
    std::array<int, kTileCount> accumulators{};
    for (int i = 0; i < kTileCount; ++i) {
      const Tile& t = kTiles[static_cast<std::size_t>(i)];
      if (has_kernel(t, T, kLeaves, kAlong)) {
        accumulators[static_cast<std::size_t>(i)] = t.accumulators() * (kLeaves ? 2 : 1);
      }
    }
    return accumulators;
  }();
  const auto one = [&]<int i>() {
    if constexpr (is_built(kFile, i, T)) {
      if (tile == i)
        found = reinterpret_cast<const void*>(&mma_kernel<T, Shape<i>, kLeaves, kAlong>);
    }
  };
  const auto look = [&]<int... i>(std::integer_sequence<int, i...>) {
    (one.template operator()<i>(), ...);
  };
  look(std::make_integer_sequence<int, kTileCount>());
  return found;
}

}  // namespace detgemm::cuda::mma
