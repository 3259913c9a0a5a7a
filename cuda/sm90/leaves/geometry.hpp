// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/tile/geometry.hpp"

namespace detgemm::cuda::sm90 {

/// Kernels of fold and tree. A leaf and a sum are in registers, so a tile has at most 128 x 192.
/// There are fewer than for chains: each holds the code of every way to combine leaves, and takes
/// long to compile.
inline constexpr auto kLeafGeometries = [] {
  using namespace geometry;
  constexpr int kStream[] = {16, 32, 48, 64, 80, 96, 112};
  std::array<Geometry, 2 * 7 + 4 + 4 + 7 + 3 + 2 + 1> all{};
  int i = 0;
  for (const int load : {16, 32}) {
    for (const int n : kStream) all[i++] = stream(load, n);
  }
  for (const int n : {16, 32, 48, 80}) all[i++] = stream(64, n);  // other widths are below
  for (const int n : {64, 96, 112, 128}) all[i++] = tile(1, 1, n);
  for (const int n : {64, 80, 96, 112, 128, 160, 192}) all[i++] = tile(2, 1, n);
  for (const int n : {96, 128}) all[i++] = pair(1, 1, n, false);
  all[i++] = pair(2, 1, 96, true);
  for (const bool shares_x : {true, false}) all[i++] = pair(2, 1, 128, shares_x);
  // Three sets of 40 accumulators fit the 160 registers of a thread of three groups.
  all[i++] = tile(3, 1, 80);
  return all;
}();

}  // namespace detgemm::cuda::sm90
