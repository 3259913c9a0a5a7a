// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/fp8/host.hpp"

#include <algorithm>

#include "cuda/sm90/fp8/kernels.hpp"
#include "cuda/sm90/host/boxes.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/launch.hpp"
#include "cuda/sm90/host/operand_maps.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;  // TMA coordinates are 32-bit, signed

bool is_scaled(const GemmArguments& g) { return g.reduction.kind == ReductionKind::scaled; }

/// All of K is one leaf: a chain, or a fold that ends within its first leaf.
bool is_one_leaf(const GemmArguments& g) {
  return g.reduction.kind == ReductionKind::chain || g.k <= g.reduction.leaf_k;
}

bool runs_along_k(std::int64_t k, std::int64_t k_stride) { return k <= 1 || k_stride == 1; }

/// An operand of e4m3 whose lines run along k; the stride of a single line means nothing.
Operand k_major(const void* data, std::int64_t rows, std::int64_t k, std::int64_t row_stride) {
  return {data, rows, rows > 1 ? row_stride : ceil_div(k, std::int64_t{16}) * 16, false};
}

/// TMA takes the operand's rows as they are.
bool suits_tma(const Operand& o, std::int64_t k) {
  return reinterpret_cast<std::uintptr_t>(o.data) % 16 == 0 && o.ld % 16 == 0 && o.ld >= k &&
         o.ld < kMaxStride && o.rows < kMaxRows && k < kMaxRows;
}

/// Tiles of 64 x 16 either way round are counted in 32 bits.
bool few_tiles(std::int64_t m, std::int64_t n) {
  return ceil_div(m, std::int64_t{64}) * ceil_div(n, std::int64_t{16}) < kMaxRows &&
         ceil_div(n, std::int64_t{64}) * ceil_div(m, std::int64_t{16}) < kMaxRows;
}

Problem problem_of(const GemmArguments& g, bool swapped, const LaunchOptions& options) {
  const Operand a = k_major(g.a, g.m, g.k, g.as.row);
  const Operand b = k_major(g.b, g.n, g.k, g.bs.col);
  if (!swapped) {
    return {a, b, g.k, g.ds.row, g.ds.col, false, options.a_is_stable, options.b_is_stable};
  }
  return {b, a, g.k, g.ds.col, g.ds.row, true, options.b_is_stable, options.a_is_stable};
}

/// Whether the columns of every tile share their scales: a tile lies within 128 columns that do, or
/// all columns do. No tile begins early then (last_origin).
Join join_of(const Fp8Arguments& p, const Geometry& t, bool swapped) {
  if (!is_scaled(p.g)) return Join::add;
  const LeafScales& y = swapped ? p.scales.a : p.scales.b;
  const std::int64_t rows = swapped ? p.g.m : p.g.n;
  const bool whole = rows % t.n == 0 || rows < t.n;
  const bool shared = y.per == 128 && whole;
  return has_join(t, Join::one) && (shared || y.stride == 0) ? Join::one : Join::columns;
}

SideScales side_of(const LeafScales& s) {
  return {s.data, s.stride, s.leaf_stride, s.per == 128 ? 7 : 0, s.type == ScaleType::e8m0};
}

/// Ordinary stores want the lines of D along y, and so do loads of C.
bool is_wanted(const GemmArguments& g, bool swapped) {
  const bool reads_c = g.continue_from_c || g.epilogue.beta != 0.0F;
  const bool ordinary =
      reads_c || !lines_suit_tma(g.d, g.ds, g.m, g.n, g.output) ||
      (g.epilogue.activation != Activation::none && g.epilogue.activation != Activation::relu);
  if (!ordinary || g.m == 1 || g.n == 1) return true;
  const Strides& lines = reads_c ? g.cs : g.ds;
  return swapped ? lines.col != 1 : lines.row != 1;
}

/// Microseconds: the model of bf16, of which a number has the bytes and the clocks of two of e4m3,
/// and what a leaf waits for where it joins after its last step. Not fitted: nothing was measured.
double predicted_fp8_time(const Geometry& t, const GemmArguments& g, bool swapped, int sms) {
  constexpr double kTurn = 0.08;  // us per leaf, as for folds of bf16
  const std::int64_t x = swapped ? g.n : g.m;
  const std::int64_t y = swapped ? g.m : g.n;
  const double time = predicted_time(t, x, y, ceil_div(g.k, std::int64_t{2}), sms, swapped);
  if (t.blocks * t.n <= 128 || is_one_leaf(g)) return time;
  const int turns = (raster_of(t, x, y, sms).tiles() + sms - 1) / sms;
  return time + kTurn * turns * static_cast<double>(leaves_of(g.reduction, g.k));
}

/// The map of an operand: boxes of (rows, 128 k).
cudaError_t make_fp8_map(const Operand& o, std::int64_t k, int box_rows, CUtensorMap* map) {
  TensorShape s;
  s.data = o.data;
  s.type = DType::e4m3;
  s.extent[0] = static_cast<std::uint64_t>(k);
  s.extent[1] = static_cast<std::uint64_t>(o.rows);
  s.stride[0] = static_cast<std::uint64_t>(o.ld);
  s.box[0] = kFp8BlockK;
  s.box[1] = static_cast<std::uint32_t>(box_rows);
  return encode(s, map);
}

}  // namespace

const char* why_not_fp8_tiles(const Fp8Arguments& p) {
  const GemmArguments& g = p.g;
  if (g.k == 0) return "k is 0, and it multiplies";
  if (g.reduction.kind == ReductionKind::chain && g.continue_from_c) {
    return "it starts chains from +0, and this one continues from C";
  }
  if (!is_one_leaf(g) && g.reduction.leaf_k % kFp8BlockK != 0) {
    return "LEAF is not a multiple of 128, the k that one stage of its pipeline holds";
  }
  if (!runs_along_k(g.k, g.as.col) || !runs_along_k(g.k, g.bs.row)) {
    return "wgmma takes e4m3 K-major alone, and the memory of an operand does not run along k";
  }
  const Problem q = problem_of(g, false, {});
  if (!suits_tma(q.x, g.k) || !suits_tma(q.y, g.k) || !few_tiles(g.m, g.n)) {
    return "it reads operands through TMA, which needs extents below 2^30 and rows that do not "
           "overlap and begin at multiples of 16 bytes";
  }
  return nullptr;
}

Fp8Decision choose_fp8(const Fp8Arguments& p, const LaunchOptions& options) {
  Fp8Decision best;
  double least = 0;
  bool wanted = false;
  for (std::size_t i = 0; i < kFp8Geometries.size(); ++i) {
    if (options.forced >= 0 && options.forced != static_cast<int>(i)) continue;
    const Geometry& t = kFp8Geometries[i];
    for (const bool swapped : {false, true}) {
      const bool wants = is_wanted(p.g, swapped);
      const double time = predicted_fp8_time(t, p.g, swapped, options.sms);
      const bool better =
          best.way == Fp8Way::none || (wants && !wanted) || (wants == wanted && time < least);
      if (!better) continue;
      least = time;
      wanted = wants;
      best.way = Fp8Way::tiles;
      best.geometry = static_cast<int>(i);
      best.join = join_of(p, t, swapped);
      best.swapped = swapped;
      best.raster = raster_of(t, swapped ? p.g.n : p.g.m, swapped ? p.g.m : p.g.n, options.sms);
      best.grid = std::min(best.raster.tiles(), options.sms);
    }
  }
  return best;
}

Kernel fp8_kernel(Join join, int geometry) {
  if (join == Join::add) return fp8_kernel_of<Join::add>(geometry);
  return join == Join::one ? fp8_kernel_of<Join::one>(geometry)
                           : fp8_kernel_of<Join::columns>(geometry);
}

cudaError_t launch_fp8(const Fp8Decision& d, const Fp8Arguments& p, const LaunchOptions& options) {
  const Geometry& t = kFp8Geometries[static_cast<std::size_t>(d.geometry)];
  GemmArguments g = p.g;
  const Problem q = problem_of(g, d.swapped, options);
  LaunchShape shape = tile_shape(t, d.raster, q, g, false);
  shape.k_blocks = static_cast<int>(ceil_div(g.k, std::int64_t{kFp8BlockK}));
  set_finish(true, g, shape);
  Fp8Shape fp8;
  fp8.leaf_blocks =
      is_one_leaf(g) ? shape.k_blocks : static_cast<int>(g.reduction.leaf_k / kFp8BlockK);
  fp8.from_c = g.continue_from_c;
  fp8.of_lines = p.scales.of_lines;
  if (d.join != Join::add || fp8.of_lines) {
    fp8.x = side_of(d.swapped ? p.scales.b : p.scales.a);
    fp8.y = side_of(d.swapped ? p.scales.a : p.scales.b);
  }
  LaunchMaps maps;
  if (const auto e = make_fp8_map(q.x, g.k, x_boxes(t, q).rows, &maps.x); e != cudaSuccess)
    return e;
  if (const auto e = make_fp8_map(q.y, g.k, y_boxes(t, q).rows, &maps.y); e != cudaSuccess)
    return e;
  if (shape.d_by_tma) {
    if (const auto e = make_output_map(g, q, t, &maps.d); e != cudaSuccess) return e;
  }
  void* arguments[] = {&maps, &shape, &g, &fp8};
  return launch(fp8_kernel(d.join, d.geometry), d.grid, {options.stream, options.overlap},
                arguments);
}

}  // namespace detgemm::cuda::sm90
