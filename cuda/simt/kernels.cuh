// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

#include "cuda/sample.hpp"
#include "cuda/simt/kernel.cuh"
#include "cuda/simt/kernels.hpp"

namespace detgemm::cuda::simt {

/// A tile as a type (see simt_kernel).
template <int kIndex>
struct Shape {
  static constexpr Tile tile = kTiles[kIndex];
};

/// Accumulators per thread of the kernels in one source file, by tile, or 0: `has(tile)` says which
/// the file has.
template <class Has>
constexpr std::array<int, kTileCount> accumulators_where(const Has& has) {
  std::array<int, kTileCount> all{};
  for (int i = 0; i < kTileCount; ++i) {
    const Tile& t = kTiles[static_cast<std::size_t>(i)];
    if (has(i)) all[static_cast<std::size_t>(i)] = t.thread_rows * t.thread_cols;
  }
  return all;
}

template <bool kAlongA, bool kAlongB>
const void* large_kernel(int tile) {
  constexpr Way kA = kAlongA ? Way::along : Way::across;
  constexpr Way kB = kAlongB ? Way::along : Way::across;
  const void* found = nullptr;
  static constexpr auto kFile = accumulators_where([](int i) { return i < kLargeTiles; });
  constexpr bool kAnother = kSampleAlone && kAlongA != kAlongB;  // each way is read by itself
  const auto one = [&]<int i>() {
    if constexpr (!kAnother && is_built(kFile, i, DType::fp32)) {
      if (tile == i) {
        found = reinterpret_cast<const void*>(&simt_kernel<DType::fp32, Shape<i>, kA, kB>);
      }
    }
  };
  const auto look = [&]<int... i>(std::integer_sequence<int, i...>) {
    (one.template operator()<i>(), ...);
  };
  look(std::make_integer_sequence<int, kLargeTiles>());
  return found;
}

template <int kPart>
const void* line_kernel(int tile) {
  const void* found = nullptr;
  static constexpr auto kFile = accumulators_where(
      [](int i) { return kTiles[static_cast<std::size_t>(i)].lines && i % kLineParts == kPart; });
  const auto one = [&]<int i>() {
    if constexpr (is_built(kFile, i, DType::fp32)) {
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
  static constexpr auto kFile = accumulators_where([](int i) {
    return has_tile(T, i) && (T != DType::fp32 || i >= kLargeTiles) &&
           !kTiles[static_cast<std::size_t>(i)].lines;
  });
  const auto one = [&]<int i>() {
    if constexpr (is_built(kFile, i, T)) {
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
