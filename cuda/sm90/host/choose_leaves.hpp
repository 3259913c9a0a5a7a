// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/leaves/geometry.hpp"
#include "cuda/sm90/leaves/shape.hpp"

namespace detgemm::cuda::sm90 {

/// Ways to share the leaves of a tile, in the order of the kernels' names.
struct Sharing {
  Split split;
  int parts;
};
inline constexpr auto kSharings = std::to_array<Sharing>({{Split::none, 1},
                                                          {Split::cluster, 2},
                                                          {Split::cluster, 4},
                                                          {Split::cluster, 8},
                                                          {Split::grid, 2},
                                                          {Split::grid, 4},
                                                          {Split::grid, 8}});

/// What can be forced: geometry index / kSharings.size() and sharing index % kSharings.size().
inline constexpr std::size_t kLeafKernels = kLeafGeometries.size() * kSharings.size();
/// For example "128x192", "64x32-load16-depth4-cluster8", "64x64-grid4".
std::string leaf_kernel_name(std::size_t index);

/// What runs. `path` gather: nothing else counts.
struct LeafDecision {
  Path path = Path::plain;
  int geometry = 0;  ///< index into kLeafGeometries
  bool swapped = false;
  Sharing sharing{Split::none, 1};
  Raster raster;
  int grid = 1;  ///< CTAs
};
struct LeafChoice {
  bool ok = false;
  LeafDecision decision;
};
/// The cheapest way by the model of choose.cpp and what sharing costs; `forced` is an index below
/// kLeafKernels or -1. Preconditions: fold or tree, k > 0. Pure.
LeafChoice choose_leaves(const GemmArguments& g, int sms, int forced);

/// Leaves of a product; 0 for k = 0.
inline std::int64_t leaves_of(const Reduction& r, std::int64_t k) {
  return k == 0 ? 0 : detgemm::leaves_of(k, r.leaf_k);
}

}  // namespace detgemm::cuda::sm90
