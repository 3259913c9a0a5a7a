// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "cuda/sm90/chain/kernels.hpp"
#include "cuda/sm90/realign/tile.hpp"
#include "cuda/sm90/tile/problem.hpp"

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

/// Whether the maps of the classes can describe the operand.
bool suits_realign(const Operand& operand, std::int64_t k);

/// The expected microseconds; the counterpart of predicted_time.
double predicted_realign_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows,
                              std::int64_t k, int sms);

/// Rows of a box of one class, for `rows` rows per tile: no more than the operand has.
int class_box_rows(const Operand& operand, int rows);

/// The eight maps of an operand for `rows` rows per tile, and the shifts of their rows.
cudaError_t make_class_maps(const Operand& operand, DType type, std::int64_t k, int rows, int depth,
                            CUtensorMap* maps, std::uint32_t* shifts);

}  // namespace detgemm::cuda::sm90
