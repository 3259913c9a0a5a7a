// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8.hpp"

#include <algorithm>
#include <limits>

#include "cuda/sm90/fp8/kernels.hpp"
#include "cuda/sm90/host/fp8_model.hpp"
#include "cuda/sm90/host/fp8_parts.hpp"
#include "cuda/sm90/host/launch.hpp"

namespace detgemm::cuda::sm90 {
namespace {

Join join_of(const Fp8Arguments& p, const Geometry& t, bool swapped) {
  if (!is_scaled(p.g)) return Join::add;
  const LeafScales& y = swapped ? p.scales.a : p.scales.b;
  return has_join(t, Join::one) && share_scales(y) ? Join::one : Join::columns;
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
  const Problem q = fp8_problem_of(g, false, {});
  if (!suits_tma(q.x, g.k) || !suits_tma(q.y, g.k) || !few_tiles(g.m, g.n)) {
    return "it reads operands through TMA, which needs extents below 2^30 and rows that do not "
           "overlap and begin at multiples of 16 bytes";
  }
  return nullptr;
}

const char* why_not_fp8_geometry(const Fp8Arguments& p, const Geometry& t) {
  if (!takes_leaves(t, leaf_blocks_of(p.g))) {
    return "its two blocks of rows share the registers of a leaf, which has to be 128 long";
  }
  if (!has_join(t, join_of(p, t, false)) && !has_join(t, join_of(p, t, true))) {
    return "it has no registers for a scale per column: 128 columns have to share theirs";
  }
  return nullptr;
}

const char* why_not_fp8_cluster(const Geometry& t, const LaunchOptions& options) {
  if (t.cluster == 1) return nullptr;
  if (!options.clusters) {
    return "it runs in clusters of CTAs, and there is no room for one in the part of the device "
           "that the caller's context may use";
  }
  if (t.cluster > options.sms) return "its clusters need more multiprocessors than it may use";
  return nullptr;
}

Fp8Decision choose_fp8(const Fp8Arguments& p, const LaunchOptions& options) {
  Fp8Decision best;
  double least = 0;
  bool wanted = false;
  for (std::size_t i = 0; i < kFp8Geometries.size(); ++i) {
    if (options.forced >= 0 && options.forced != static_cast<int>(i)) continue;
    const Geometry& t = kFp8Geometries[i];
    if (why_not_fp8_cluster(t, options) != nullptr) continue;
    if (why_not_fp8_geometry(p, t) != nullptr) continue;
    for (const bool swapped : {false, true}) {
      const bool wants = is_wanted(p.g, swapped);
      const Join join = join_of(p, t, swapped);
      if (!has_join(t, join)) continue;
      const double time = predicted_fp8_time(t, join, p.g, swapped, options.sms);
      const bool better =
          best.way == Fp8Way::none || (wants && !wanted) || (wants == wanted && time < least);
      if (!better) continue;
      least = time;
      wanted = wants;
      best.way = Fp8Way::tiles;
      best.geometry = static_cast<int>(i);
      best.join = join;
      best.swapped = swapped;
      best.raster = raster_of(t, swapped ? p.g.n : p.g.m, swapped ? p.g.m : p.g.n, options.sms);
      best.grid = t.cluster * std::min(best.raster.tiles(), options.sms / t.cluster);
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
  const Problem q = fp8_problem_of(g, d.swapped, options);
  LaunchShape shape = tile_shape(t, d.raster, q, g, false);
  shape.k_blocks = static_cast<int>(ceil_div(g.k, std::int64_t{kFp8BlockK}));
  set_finish(true, g, shape);
  // A tile that began early would have columns of three scales, or of scales that it does not load.
  if (d.join == Join::one) shape.y_last = std::numeric_limits<int>::max();
  Fp8Shape fp8;
  fp8.leaf_blocks = leaf_blocks_of(g);
  fp8.from_c = g.continue_from_c;
  fp8.of_lines = p.scales.of_lines;
  if (d.join != Join::add || fp8.of_lines) {
    fp8.x = side_of(d.swapped ? p.scales.b : p.scales.a);
    fp8.y = side_of(d.swapped ? p.scales.a : p.scales.b);
  }
  fp8.in_rows = d.join == Join::one && lie_in_rows(fp8);
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
