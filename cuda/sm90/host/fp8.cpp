// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8.hpp"

#include <algorithm>

#include "cuda/sm90/fp8/kernels.hpp"
#include "cuda/sm90/host/fp8_model.hpp"
#include "cuda/sm90/host/fp8_parts.hpp"

namespace detgemm::cuda::sm90 {
namespace {

Join join_of(const Problem& p, const Geometry& t, bool swapped) {
  if (!is_scaled(p.g())) return Join::add;
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

const char* why_not_fp8_tiles(const GemmArguments& g) {
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
  const Sides q = fp8_sides_of(g, false, {});
  if (!suits_tma(q.x, g.k) || !suits_tma(q.y, g.k) || !few_tiles(g.m, g.n)) {
    return "it reads operands through TMA, which needs extents below 2^30 and rows that do not "
           "overlap and begin at multiples of 16 bytes";
  }
  return nullptr;
}

namespace {

/// The rule by which one geometry does not take a problem that the tiles take, or null.
const char* why_not_geometry(const Problem& p, const Geometry& t) {
  if (!takes_leaves(t, leaf_blocks_of(p.g()))) {
    return "its two blocks of rows share the registers of a leaf, which has to be 128 long";
  }
  if (!has_join(t, join_of(p, t, false)) && !has_join(t, join_of(p, t, true))) {
    return "it has no registers for a scale per column: 128 columns have to share theirs";
  }
  return nullptr;
}

/// The rule by which a kernel does not run here, whatever the problem, or null.
const char* why_not_cluster(const Geometry& t, const Question& q) {
  if (t.cluster == 1) return nullptr;
  if (!q.clusters) {
    return "it runs in clusters of CTAs, and there is no room for one in the part of the device "
           "that the caller's context may use";
  }
  if (t.cluster > q.sms) return "its clusters need more multiprocessors than it may use";
  return nullptr;
}

Kernel kernel_for(Join join, int geometry) {
  if (!has_join(kFp8Geometries[static_cast<std::size_t>(geometry)], join)) return {};
  if (join == Join::add) return fp8_kernel_of<Join::add>(geometry);
  return join == Join::one ? fp8_kernel_of<Join::one>(geometry)
                           : fp8_kernel_of<Join::columns>(geometry);
}

Kernel group_kernel_for(Join join, int geometry) {
  if (!has_group_join(static_cast<std::size_t>(geometry), join)) return {};
  if (join == Join::add) return fp8_group_kernel_of<Join::add>(geometry);
  return join == Join::one ? fp8_group_kernel_of<Join::one>(geometry)
                           : fp8_group_kernel_of<Join::columns>(geometry);
}

}  // namespace

void ask_fp8(const Problem& p, Question& q) {
  const bool elements = q.forced == static_cast<int>(kFp8Geometries.size()) ||
                        (q.forced < 0 && why_not_fp8_tiles(p.g()) != nullptr);
  q.family = elements ? Family::elements : Family::fp8;
  q.problem = &p;
}

std::span<const KernelInfo> fp8_kernels() {
  static const auto all = [] {
    std::vector<KernelInfo> list;
    for (const Geometry& t : kFp8Geometries) {
      list.push_back({name(t), Family::fp8, static_cast<int>(list.size())});
    }
    return list;
  }();
  return all;
}

Choice choose_fp8(const Question& q) {
  const Problem& p = *q.problem;
  const GemmArguments& g = p.g();
  Choice choice;
  if (q.forced >= 0) choice.why_not = why_not_fp8_tiles(g);
  if (choice.why_not != nullptr) return choice;
  const int geometries = static_cast<int>(kFp8Geometries.size());
  const Candidate best = best_of(kernels_for(q, geometries), [&](Candidate& c) {
    const Geometry& t = kFp8Geometries[static_cast<std::size_t>(c.kernel)];
    c.why_not = why_not_cluster(t, q);
    if (c.why_not == nullptr) c.why_not = why_not_geometry(p, t);
    if (c.why_not != nullptr) return;
    const Join join = join_of(p, t, c.swapped);
    if (!has_join(t, join)) {
      c.why_not = "it has no registers for these scales in these roles";
      return;
    }
    c.preferred = is_wanted(g, c.swapped);
    c.time = predicted_fp8_time(t, join, g, c.swapped, q.sms);
  });
  choice.why_not = best.why_not;
  if (choice.why_not != nullptr) return choice;
  choice.us = best.time;
  const Geometry& t = kFp8Geometries[static_cast<std::size_t>(best.kernel)];
  const bool swapped = best.swapped;
  Decision& d = choice.decision;
  d.family = Family::fp8;
  d.input = q.input;
  d.kernel = best.kernel;
  d.join = join_of(p, t, swapped);
  d.swapped = swapped;
  d.cluster = t.cluster;
  d.raster = raster_of(t, swapped ? g.n : g.m, swapped ? g.m : g.n, q.sms);
  d.grid = t.cluster * std::min(d.raster.tiles(), q.sms / t.cluster);
  return choice;
}

std::string fp8_name(const Decision& d) {
  const char* join = d.join == Join::add   ? ""
                     : d.join == Join::one ? "/scale-per-row"
                                           : "/scale-per-row-and-column";
  return "sm90/fp8/" + name(geometry_of(d)) + (d.swapped ? "/swapped" : "") + join;
}

std::vector<Decision> compiled_fp8(Family family) {
  std::vector<Decision> all;
  Decision d;
  d.family = family;
  for (const Join join : {Join::add, Join::one, Join::columns}) {
    d.join = join;
    for (d.kernel = 0; d.kernel < static_cast<int>(kFp8Geometries.size()); ++d.kernel) {
      all.push_back(d);
    }
  }
  return all;
}

Kernel fp8_kernel(const Decision& d) {
  return d.family == Family::fp8 ? kernel_for(d.join, d.kernel)
                                 : group_kernel_for(d.join, d.kernel);
}

cudaError_t launch_fp8(const Kernel& kernel, const Decision& d, const Call& call) {
  const Geometry& t = geometry_of(d);
  GemmArguments g = call.g();
  const Sides q = fp8_sides_of(g, d.swapped, call.options);
  LaunchShape shape = fp8_launch_shape(t, d, q, g);
  Fp8Shape fp8 = fp8_shape(d, g, call.problem.scales);
  LaunchMaps maps;
  if (const auto e = make_fp8_map(q.x, g.k, x_boxes(t, q).rows, &maps.x); e != cudaSuccess)
    return e;
  if (const auto e = make_fp8_map(q.y, g.k, y_boxes(t, q).rows, &maps.y); e != cudaSuccess)
    return e;
  if (shape.d_by_tma) {
    if (const auto e = make_output_map(g, q, t, &maps.d, false); e != cudaSuccess) return e;
  }
  void* arguments[] = {&maps, &shape, &g, &fp8};
  return launch(kernel, d.grid, call.queue(), arguments);
}

}  // namespace detgemm::cuda::sm90
