// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/chain/kernels.hpp"
#include "cuda/sm90/realign/tile.hpp"

namespace detgemm::cuda::sm90 {

namespace geometry {

/// A tile of one 64-row block per group, with several k blocks per stage.
constexpr Geometry deep(int groups, int n, int depth) {
  return {groups, 1, n, depth, 1, 64 * groups, 1, false};
}

}  // namespace geometry

/// Kernels for operands at any alignment, any epilogue and any strides of D (Family::realign).
/// Several k blocks per stage make raw rows of 272 or 400 bytes instead of 144: the copies of
/// weights are then few enough to follow memory.
inline constexpr auto kRealignGeometries = std::to_array<Geometry>(
    {geometry::tile(2, 1, 64), geometry::tile(2, 1, 128), geometry::tile(2, 1, 256),
     geometry::deep(1, 16, 3), geometry::deep(1, 32, 3), geometry::deep(1, 64, 2),
     geometry::deep(2, 16, 2), geometry::deep(2, 64, 2)});

/// Whether a geometry has the form that starts from C: 128 accumulators per thread and the
/// addresses of C are more than the 168 registers of a thread here.
constexpr bool starts_from_c(const Geometry& t) { return t.n < 256; }

/// The kernel of a geometry of kRealignGeometries; the function is null where it was not compiled.
template <DType T, bool kXMn, bool kYMn>
Kernel realign_kernel_of(int geometry, Form form);

}  // namespace detgemm::cuda::sm90
