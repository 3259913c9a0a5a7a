// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/boxes.hpp"

#include <algorithm>
#include <limits>

#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr int kSpanBytes = 2 * kBlockK;  // of one row of a k block

/// The address past the last element of an m x n matrix whose strides are not negative.
std::uintptr_t end_of(const void* data, std::int64_t m, std::int64_t n, const Strides& strides,
                      DType type) {
  const std::int64_t last = (m - 1) * strides.row + (n - 1) * strides.col;
  return reinterpret_cast<std::uintptr_t>(data) +
         static_cast<std::uintptr_t>((last + 1) * (type == DType::fp32 ? 4 : 2));
}

/// `share`: rows that one CTA loads; `room`: rows that a stage holds.
Boxes boxes_of(const Operand& operand, const Geometry& t, std::int64_t k, int share, int room) {
  if (!operand.mn_major && share < room && t.cluster > 2) {  // shares of the rows that there are
    const std::int64_t there = std::min<std::int64_t>(room, operand.rows);
    share = static_cast<int>(ceil_div(there, std::int64_t{t.cluster}));
    return {share, 1, t.cluster * share * kSpanBytes};
  }
  if (operand.mn_major || share < room) return {share, t.depth, t.depth * room * kSpanBytes};
  const int rows = static_cast<int>(std::min<std::int64_t>(share, operand.rows));
  const bool one_box = rows == share && k % kBlockK == 0;
  return {rows, one_box ? t.depth : 1, t.depth * rows * kSpanBytes};
}

}  // namespace

Boxes x_boxes(const Geometry& t, const Sides& p) {
  return boxes_of(p.x, t, p.k, t.x_share(), t.load);
}

Boxes y_boxes(const Geometry& t, const Sides& p) {
  const int room = p.y.mn_major ? static_cast<int>(ceil_div(t.n, 64) * 64) : t.n;
  return boxes_of(p.y, t, p.k, t.y_share(), room);
}

int last_origin(const Operand& operand, int tile, bool may_overlap, bool by_class) {
  if (!may_overlap) return std::numeric_limits<int>::max();
  const std::int64_t step = operand.mn_major || by_class ? 16 / 2 : 1;
  return static_cast<int>(ceil_div(std::max<std::int64_t>(operand.rows - tile, 0), step) * step);
}

bool may_store_twice(const GemmArguments& g) {
  if (!g.continue_from_c && g.epilogue.beta == 0.0F) return true;
  return end_of(g.c, g.m, g.n, g.cs, g.c_type) <= reinterpret_cast<std::uintptr_t>(g.d) ||
         end_of(g.d, g.m, g.n, g.ds, g.output) <= reinterpret_cast<std::uintptr_t>(g.c);
}

}  // namespace detgemm::cuda::sm90
