// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8_groups.hpp"

#include <algorithm>

#include "cuda/sm90/fp8/kernels.hpp"
#include "cuda/sm90/fp8/segments.hpp"
#include "cuda/sm90/host/fp8_model.hpp"
#include "cuda/sm90/host/fp8_parts.hpp"

namespace detgemm::cuda::sm90 {
namespace {

/// Arrays of groups as one array: from a group to the next in rows, or -1 where that is no number.
std::int64_t step_of(std::int64_t row_stride, std::int64_t distance) {
  if (distance == 0) return 0;
  return row_stride > 0 && distance % row_stride == 0 ? distance / row_stride : -1;
}

/// With one row per group, the distance of groups is the stride of rows.
GroupedArguments with_strides(GroupedArguments p) {
  if (p.kind == GroupKind::m_grouped || p.all.m > 1) return p;
  p.all.as.row = p.distance.a;
  p.all.ds.row = p.distance.d;
  p.all.cs.row = p.distance.c;
  return p;
}

/// All groups as a product whose D is the stack of theirs.
GemmArguments stacked(const GroupedArguments& p) {
  GemmArguments g = p.all;
  g.m = (p.groups - 1) * step_of(g.ds.row, p.distance.d) + g.m;
  return g;
}

/// A as one matrix, in which each group begins `step` rows after the one before it.
Operand rows_of_all(const GroupedArguments& p, std::int64_t step) {
  return k_major(p.all.a, (p.groups - 1) * step + p.all.m, p.all.k, p.all.as.row);
}

/// Whether every tile of D begins where TMA takes it. Along N all do. Where columns of D run along
/// memory its first row is an inner coordinate: any row in segments, a multiple of the distance and
/// of a tile's rows elsewhere.
bool d_begins_suit_tma(const GroupedArguments& p) {
  if (p.all.n == 1 || p.all.ds.col == 1) return true;
  return p.kind != GroupKind::m_grouped && inner_begins_at_16(step_of(p.all.ds.row, p.distance.d),
                                                              p.all.output == DType::fp32 ? 4 : 2);
}

/// Rows that a group is expected to have.
std::int64_t average_rows(const GroupedArguments& p) {
  if (p.kind != GroupKind::m_grouped) return p.all.m;
  return std::max<std::int64_t>(1, ceil_div(p.all.m, p.groups));
}

/// As of one product, but that the rows of a group may begin at any row.
Join join_of_groups(const GroupedArguments& p, const ScalePair& scales, const Geometry& t,
                    bool swapped) {
  if (!is_scaled(p.all)) return Join::add;
  const LeafScales& y = swapped ? scales.a : scales.b;
  const bool shared = swapped ? y.stride == 0 : share_scales(y);
  return has_join(t, Join::one) && shared ? Join::one : Join::columns;
}

/// The map of an operand: boxes of (rows, 128 k), one matrix per group where `count` is more
/// than 1.
cudaError_t make_map(const Operand& o, std::int64_t k, std::int64_t count, std::int64_t distance,
                     int box_rows, CUtensorMap* map) {
  TensorShape s;
  s.data = o.data;
  s.type = DType::e4m3;
  s.rank = 3;
  s.extent[0] = static_cast<std::uint64_t>(k);
  s.extent[1] = static_cast<std::uint64_t>(o.rows);
  s.extent[2] = static_cast<std::uint64_t>(count);
  s.stride[0] = static_cast<std::uint64_t>(o.ld);
  // A matrix by itself has no distance to another; any that is legal and far enough will do.
  s.stride[1] = static_cast<std::uint64_t>(
      count > 1 ? distance : std::min(o.ld * o.rows, kMaxStride / 16 * 16 - 16));
  s.box[0] = kFp8BlockK;
  s.box[1] = static_cast<std::uint32_t>(box_rows);
  return encode(s, map);
}

/// The rule by which tiles do not take these groups, or null.
const char* why_not_groups(const GroupedArguments& p) {
  if (p.kind != GroupKind::m_grouped && p.kind != GroupKind::m_masked) {
    return "it takes segments of rows, and groups of which some rows count";
  }
  if (p.groups > kMaxSegments) return "it keeps at most 256 groups in shared memory";
  if (const char* why = why_not_fp8_tiles(p.all); why != nullptr) return why;
  const std::int64_t a = step_of(p.all.as.row, p.distance.a);
  const std::int64_t d = step_of(p.all.ds.row, p.distance.d);
  const bool c = !reads_c(p.all) || step_of(p.all.cs.row, p.distance.c) == d;
  const Operand b = k_major(p.all.b, p.all.n, p.all.k, p.all.bs.col);
  const bool apart = p.distance.b == 0 || (p.distance.b >= b.ld * (p.all.n - 1) &&
                                           p.distance.b % 16 == 0 && p.distance.b < kMaxStride);
  const std::int64_t most = kFp8MaxRows / kMaxSegments;
  if (a < 0 || d < 0 || !c || !apart || a >= most || d >= most || p.all.m >= kFp8MaxRows / 2 ||
      p.all.ds.row <= 0) {
    return "groups of A, C and D need a whole number of rows between them, those of B a multiple "
           "of 16 bytes, and all rows together an extent below 2^29";
  }
  // One map reads the rows of all groups, also where each group has one.
  if (!suits_tma(rows_of_all(p, a), p.all.k)) {
    return "it reads the rows of all groups of A through TMA, which needs extents below 2^30 and "
           "rows that do not overlap and begin at multiples of 16 bytes";
  }
  const std::int64_t tiles = (ceil_div(p.all.m, std::int64_t{16}) + 1) * p.groups;
  if (tiles >= kFp8MaxRows / ceil_div(p.all.n, std::int64_t{16})) {
    return "there are more tiles than 32 bits count";
  }
  return nullptr;
}

}  // namespace

std::span<const KernelInfo> fp8_group_kernels() {
  static const auto all = [] {
    std::vector<KernelInfo> list;
    for (std::size_t i = 0; i < kFp8Geometries.size(); ++i) {
      if (!is_fp8_group_geometry(i)) continue;
      list.push_back({name(kFp8Geometries[i]), Family::fp8_groups, static_cast<int>(i)});
    }
    return list;
  }();
  return all;
}

Choice choose_fp8_groups(const Question& q) {
  const GroupedArguments p = with_strides(q.problem->gemms);
  const ScalePair& scales = q.problem->scales;
  Choice choice;
  choice.why_not = why_not_groups(p);
  if (choice.why_not != nullptr) return choice;
  const GemmArguments g = stacked(p);
  const bool d_begins = d_begins_suit_tma(p);
  const bool spread = p.kind == GroupKind::m_grouped;
  const std::int64_t rows = average_rows(p);
  const int geometries = static_cast<int>(kFp8Geometries.size());
  const Candidate best = best_of(kernels_for(q, geometries), [&](Candidate& c) {
    const auto i = static_cast<std::size_t>(c.kernel);
    c.why_not = "it takes weights whose scale 128 columns share";
    if (!is_fp8_group_geometry(i)) return;
    const Join join = join_of_groups(p, scales, kFp8Geometries[i], c.swapped);
    if (!has_group_join(i, join)) return;
    c.why_not = "its two blocks of rows share the registers of a leaf, which has to be 128 long";
    if (!takes_leaves(kFp8Geometries[i], leaf_blocks_of(p.all))) return;
    c.why_not = "its two blocks of rows leave no registers for a C to continue from";
    if (p.all.continue_from_c && !starts_from_c(kFp8Geometries[i], true)) return;
    c.why_not = nullptr;
    // Of the room for rows few may count, and 256 rows of a tile would be empty.
    c.preferred = is_wanted(g, c.swapped, d_begins) && (spread || kFp8Geometries[i].blocks == 1);
    c.time = predicted_fp8_group_time(kFp8Geometries[i], join, p.all, rows, p.groups, spread,
                                      c.swapped, q.sms);
  });
  choice.why_not = best.why_not;
  if (choice.why_not != nullptr) return choice;
  choice.us = best.time;
  const Geometry& t = kFp8Geometries[static_cast<std::size_t>(best.kernel)];
  Decision& d = choice.decision;
  d.family = Family::fp8_groups;
  d.input = q.input;
  d.kernel = best.kernel;
  d.join = join_of_groups(p, scales, t, best.swapped);
  d.swapped = best.swapped;
  const std::int64_t height = best.swapped ? t.n : t.x();
  const std::int64_t across = ceil_div(p.all.n, std::int64_t{best.swapped ? t.x() : t.n});
  const std::int64_t all = spread ? p.all.m : p.all.m * p.groups;
  d.grid = static_cast<int>(std::min<std::int64_t>((all / height + p.groups) * across, q.sms));
  return choice;
}

cudaError_t launch_fp8_groups(const Kernel& kernel, const Decision& d, const Call& call) {
  GroupedArguments p = with_strides(call.problem.gemms);
  const Geometry& t = geometry_of(d);
  const GemmArguments g = stacked(p);
  const Sides q = fp8_sides_of(g, d.swapped, {});
  LaunchShape shape = fp8_launch_shape(t, d, q, g);
  shape.d_by_tma = shape.d_by_tma && d_begins_suit_tma(p);
  Fp8Shape fp8 = fp8_shape(d, g, call.problem.scales);
  SegmentShape s;
  s.a_step = static_cast<int>(step_of(p.all.as.row, p.distance.a));
  s.d_step = static_cast<int>(step_of(p.all.ds.row, p.distance.d));
  s.b_step = p.distance.b > 0 ? 1 : 0;
  s.across = static_cast<int>(ceil_div(g.n, std::int64_t{d.swapped ? t.x() : t.n}));
  s.a_scales = p.distance.scale_a;
  s.b_scales = p.distance.scale_b;
  // Of the scales of a group, not of the stack of all.
  fp8.in_rows =
      d.join == Join::one && are_in_rows(fp8, d.swapped ? p.all.n : p.all.m, shape.k_blocks,
                                         d.swapped ? s.b_scales : s.a_scales);
  const Operand a = rows_of_all(p, s.a_step);
  const Operand b = k_major(g.b, g.n, g.k, g.bs.col);
  LaunchMaps maps;
  const auto make = [&](bool tokens, int box_rows, CUtensorMap* map) {
    return tokens ? make_map(a, g.k, 1, 0, box_rows, map)
                  : make_map(b, g.k, s.b_step == 1 ? p.groups : 1, p.distance.b, box_rows, map);
  };
  if (const auto e = make(!d.swapped, t.x(), &maps.x); e != cudaSuccess) return e;
  if (const auto e = make(d.swapped, t.n, &maps.y); e != cudaSuccess) return e;
  if (shape.d_by_tma) {
    if (const auto e = make_output_map(g, q, t, &maps.d, false); e != cudaSuccess) return e;
  }
  void* arguments[] = {&maps, &shape, &p, &fp8, &s};
  return launch(kernel, d.grid, call.queue(), arguments);
}

}  // namespace detgemm::cuda::sm90
