// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>

#include "cuda/sm90/fp8/tile.hpp"
#include "cuda/sm90/host/boxes.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/launch.hpp"
#include "cuda/sm90/host/operand_maps.hpp"

/// What one product and many have in common on the host.
namespace detgemm::cuda::sm90 {

inline constexpr std::int64_t kFp8MaxRows = std::int64_t{1}
                                            << 30;  // TMA coordinates are 32-bit, signed

inline bool is_scaled(const GemmArguments& g) { return g.reduction.kind == ReductionKind::scaled; }

/// All of K is one leaf: a chain, or a fold that ends within its first leaf.
inline bool is_one_leaf(const GemmArguments& g) {
  return g.reduction.kind == ReductionKind::chain || g.k <= g.reduction.leaf_k;
}

/// k blocks of 128 per leaf.
inline int leaf_blocks_of(const GemmArguments& g) {
  const std::int64_t leaf = is_one_leaf(g) ? g.k : g.reduction.leaf_k;
  return static_cast<int>(ceil_div(leaf, std::int64_t{kFp8BlockK}));
}

/// Whether columns that follow one another share scales, as Join::one has it: 128 of them, or all.
inline bool share_scales(const LeafScales& columns) {
  return columns.per == 128 || columns.stride == 0;
}

inline bool runs_along_k(std::int64_t k, std::int64_t k_stride) { return k <= 1 || k_stride == 1; }

/// An operand of e4m3 whose lines run along k; the stride of a single line means nothing.
inline Operand k_major(const void* data, std::int64_t rows, std::int64_t k,
                       std::int64_t row_stride) {
  return {data, rows, rows > 1 ? row_stride : ceil_div(k, std::int64_t{16}) * 16, false};
}

/// TMA takes the operand's rows without a copy.
inline bool suits_tma(const Operand& o, std::int64_t k) {
  return reinterpret_cast<std::uintptr_t>(o.data) % 16 == 0 && o.ld % 16 == 0 && o.ld >= k &&
         o.ld < kMaxStride && o.rows < kFp8MaxRows && k < kFp8MaxRows;
}

/// Tiles of 64 x 16 either way round are counted in 32 bits.
inline bool few_tiles(std::int64_t m, std::int64_t n) {
  return ceil_div(m, std::int64_t{64}) * ceil_div(n, std::int64_t{16}) < kFp8MaxRows &&
         ceil_div(n, std::int64_t{64}) * ceil_div(m, std::int64_t{16}) < kFp8MaxRows;
}

inline Sides fp8_sides_of(const GemmArguments& g, bool swapped, const LaunchOptions& options) {
  const Operand a = k_major(g.a, g.m, g.k, g.as.row);
  const Operand b = k_major(g.b, g.n, g.k, g.bs.col);
  if (!swapped) {
    return {a, b, g.k, g.ds.row, g.ds.col, false, options.a_is_stable, options.b_is_stable};
  }
  return {b, a, g.k, g.ds.col, g.ds.row, true, options.b_is_stable, options.a_is_stable};
}

inline SideScales side_of(const LeafScales& s) {
  return {s.data, s.stride, s.leaf_stride, s.per == 128 ? 7 : 0, s.type == ScaleType::e8m0};
}

/// Whether one bulk copy brings the scales of neighbouring rows (RowCopy) of x, which has so many
/// lines. `distance`: scales from a group to the next.
inline bool are_in_rows(const Fp8Shape& s, std::int64_t lines, std::int64_t k_blocks,
                        std::int64_t distance) {
  const std::int64_t leaves = ceil_div(k_blocks, std::int64_t{s.leaf_blocks});
  const std::int64_t most = std::numeric_limits<int>::max() / 2;
  return s.x.shift == 0 && s.x.stride == 1 && !s.x.e8m0 && !s.y.e8m0 &&
         reinterpret_cast<std::uintptr_t>(s.x.data) % 16 == 0 && distance % 4 == 0 &&
         s.x.leaf_stride >= 0 && s.x.leaf_stride < (most - lines) / leaves;
}

/// The rule by which the tiles do not take a product, or null.
const char* why_not_fp8_tiles(const GemmArguments& g);

/// The parameters of every kernel of e4m3. A tile that began early would have columns
/// of three scales, or of scales that it does not load.
inline LaunchShape fp8_launch_shape(const Geometry& t, const Decision& d, const Sides& q,
                                    const GemmArguments& g) {
  LaunchShape shape = tile_shape(t, d.raster, q, g, false);
  shape.k_blocks = static_cast<int>(ceil_div(g.k, std::int64_t{kFp8BlockK}));
  set_finish(true, g, shape);
  if (d.join == Join::one) shape.y_last = std::numeric_limits<int>::max();
  return shape;
}
inline Fp8Shape fp8_shape(const Decision& d, const GemmArguments& g, const ScalePair& scales) {
  Fp8Shape s;
  s.leaf_blocks = leaf_blocks_of(g);
  s.from_c = g.continue_from_c;
  s.of_lines = scales.of_lines;
  if (d.join != Join::add || s.of_lines) {
    s.x = side_of(d.swapped ? scales.b : scales.a);
    s.y = side_of(d.swapped ? scales.a : scales.b);
  }
  s.in_rows = d.join == Join::one &&
              are_in_rows(s, d.swapped ? g.n : g.m, ceil_div(g.k, std::int64_t{kFp8BlockK}), 0);
  return s;
}

/// Ordinary stores need the lines of D along y, and so do loads of C. `d_begins`: whether all tiles
/// of D begin where TMA takes them.
inline bool is_wanted(const GemmArguments& g, bool swapped, bool d_begins = true) {
  const bool ordinary = reads_c(g) || !d_begins || !lines_suit_tma(g.d, g.ds, g.m, g.n, g.output) ||
                        !suits_chunks(g.epilogue.activation, g.output);
  if (!ordinary || g.m == 1 || g.n == 1) return true;
  const Strides& lines = reads_c(g) ? g.cs : g.ds;
  return swapped ? lines.col != 1 : lines.row != 1;
}

}  // namespace detgemm::cuda::sm90
