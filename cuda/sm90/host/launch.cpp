// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/launch.hpp"

#include "cuda/sm90/chain/kernels.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/host/boxes.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/packing.hpp"
#include "cuda/sm90/host/realign.hpp"
#include "cuda/sm90/leaves/kernels.hpp"
#include "cuda/sm90/leaves/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

template <DType T, bool kXMn, bool kYMn>
Kernel kernel_for(const Decision& d) {
  if (d.family == Family::leaves) {
    const int geometry = d.kernel / static_cast<int>(kSharings.size());
    Kernel kernel = d.folds   ? fold_kernel_of<T, kXMn, kYMn>(geometry, d.from_c)
                    : d.trees ? tree_kernel_of<T, kXMn, kYMn>(geometry)
                              : leaf_kernel_of<T, kXMn, kYMn>(geometry, d.deep);
    kernel.cluster = d.cluster;
    return kernel;
  }
  if (d.family == Family::realign) return realign_kernel_of<T, kXMn, kYMn>(d.kernel, d.form);
  return plain_kernel<T, kXMn, kYMn>(d.kernel);
}

template <DType T>
Kernel kernel_for(const Decision& d) {
  if (d.x_mn) return d.y_mn ? kernel_for<T, true, true>(d) : kernel_for<T, true, false>(d);
  return d.y_mn ? kernel_for<T, false, true>(d) : kernel_for<T, false, false>(d);
}

template <class Name>
std::vector<KernelInfo> list(Family family, std::size_t count, const Name& name_of) {
  std::vector<KernelInfo> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back({name_of(i), family, static_cast<int>(i)});
  return all;
}

}  // namespace

std::span<const KernelInfo> chain_kernels() {
  static const auto all = list(Family::chain, kPlainGeometries.size(),
                               [](std::size_t i) { return name(kPlainGeometries[i]); });
  return all;
}

std::span<const KernelInfo> leaf_kernels() {
  static const auto all = list(Family::leaves, kLeafKernels, leaf_kernel_name);
  return all;
}

std::string name(const Decision& d) {
  if (d.family == Family::gather || d.family == Family::gather_groups)
    return d.leaves ? "sm90/gather-leaves" : "sm90/gather";
  const std::string roles = d.swapped ? "/swapped" : "";
  if (d.family == Family::leaves) {
    const Split split = sharing_of(d).split;
    const char* way = split == Split::none      ? "/leaves-in-cta"
                      : split == Split::cluster ? "/leaves-in-cluster"
                                                : "/leaves-across-grid";
    return "sm90/" + leaf_kernel_name(static_cast<std::size_t>(d.kernel)) + roles + way +
           (d.form == Form::plain ? "" : "/general");
  }
  std::string text = "sm90/" + name(geometry_of(d)) + roles;
  if (d.family == Family::realign)
    return text + (d.form == Form::from_c ? "/realign/from-c" : "/realign");
  return d.form == Form::plain ? text : text + "/general";
}

std::vector<Decision> compiled(Family family) {
  if (family == Family::gather || family == Family::gather_groups)
    return {};  // its shared memory needs no raised limit
  const bool leaves = family == Family::leaves;
  std::vector<Decision> all;
  Decision d;
  d.family = family;
  for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {  // input type and majors
    d.input = bits & 1 ? DType::fp16 : DType::bf16;
    d.x_mn = (bits & 2) != 0;
    d.y_mn = (bits & 4) != 0;
    for (const Form form : {Form::plain, Form::general, Form::from_c}) {
      if ((form == Form::plain) == (family == Family::realign)) continue;
      d.form = form;
      for (std::size_t i = 0; i < geometries_of(family).size(); ++i) {
        d.kernel = static_cast<int>(leaves ? i * kSharings.size() : i);
        for (const int code : {0, 1, 2, 3, 4}) {
          d.deep = code == 1;
          d.folds = code == 2 || code == 3;
          d.from_c = code == 3;
          d.trees = code == 4;
          if (code > 0 && !leaves) break;
          const Geometry& t = geometry_of(d);
          const bool exists = d.from_c  ? has_fold_from_c(t, d.x_mn, d.y_mn)
                              : d.trees ? has_tree(t)
                                        : has_fold(t);
          if (code < 2 || exists) all.push_back(d);
        }
      }
    }
  }
  return all;
}

Kernel kernel_of(const Decision& d) {
  if (d.family == Family::gather) return gather_kernel(d.input, d.leaves);
  return d.input == DType::bf16 ? kernel_for<DType::bf16>(d) : kernel_for<DType::fp16>(d);
}

Sides sides_of(const Decision& d, const Call& call) {
  return make_sides(call.g(), d.swapped, call.options.a_is_stable, call.options.b_is_stable);
}

LaunchShape tile_shape(const Geometry& t, const Raster& raster, const Sides& p,
                       const GemmArguments& g, bool by_class) {
  LaunchShape s;
  s.raster = raster;
  s.x_rows = static_cast<int>(p.x.rows);
  s.y_rows = static_cast<int>(p.y.rows);
  const bool twice = may_store_twice(g);
  s.x_last = last_origin(p.x, t.x(), twice, by_class);
  s.y_last = last_origin(p.y, t.n, twice, by_class);
  const Boxes x = x_boxes(t, p);
  const Boxes y = y_boxes(t, p);
  s.x_stage_bytes = x.stage_bytes;
  s.y_stage_bytes = y.stage_bytes;
  s.x_one_box = x.depth > 1;
  s.y_one_box = y.depth > 1;
  s.x_stable = p.x_stable;
  s.y_stable = p.y_stable;
  s.d_x_contiguous = p.d_x_contiguous();
  s.d_y_contiguous = p.d_y == 1 || p.y.rows == 1;
  s.swapped = p.swapped;
  s.output = g.output;
  return s;
}

void set_finish(bool may_use_registers, const GemmArguments& g, LaunchShape& s) {
  const Epilogue& e = g.epilogue;
  const bool relu = e.activation == Activation::relu;
  s.in_registers = may_use_registers && (e.beta == 0.0F || s.c.stages > 0);
  s.finishes = s.in_registers && (e.alpha != 1.0F || e.beta != 0.0F || e.has_bias || relu ||
                                  (g.continue_from_c && g.k == 0));
  s.d_by_tma = s.in_registers && suits_chunks(e.activation, g.output) &&
               lines_suit_tma(g.d, g.ds, g.m, g.n, g.output);
}

/// The producer cannot tell which CTA finishes a tile in several parts, so C is not loaded through
/// the ring there; kernels of leaves take the C from which a fold starts in ways of their own.
LaunchShape shape_of(const Decision& d, const Sides& p, const Call& call) {
  const Geometry& t = geometry_of(d);
  LaunchShape s = tile_shape(t, d.raster, p, call.g(), d.family == Family::realign);
  s.k_blocks = static_cast<int>(ceil_div(call.g().k, kBlockK));
  const bool leaves = d.family == Family::leaves;
  const bool whole = !leaves || d.folds || (sharing_of(d).parts == 1 && !call.g().continue_from_c);
  if (d.family == Family::chain || (leaves && whole)) s.c = ring_c(call.g(), p, t);
  set_finish(d.family != Family::realign, call.g(), s);
  return s;
}

cudaError_t make_maps(const Decision& d, const Sides& p, const Call& call, LaunchShape& shape,
                      LaunchMaps* maps) {
  const Geometry& t = geometry_of(d);
  if (call.g().k > 0) {
    const auto make = [&](const Operand& o, const Boxes& boxes, bool& one_box, CUtensorMap* to) {
      const auto error = make_map(o, d.input, call.g().k, boxes.rows, boxes.depth, to);
      if (error == cudaSuccess || !one_box) return error;
      one_box = false;
      return make_map(o, d.input, call.g().k, boxes.rows, 1, to);
    };
    auto error = make(p.x, x_boxes(t, p), shape.x_one_box, &maps->x);
    if (error == cudaSuccess) error = make(p.y, y_boxes(t, p), shape.y_one_box, &maps->y);
    if (error != cudaSuccess) return error;
  }
  if (shape.c.stages > 0 && !shape.c.copied) {
    const auto e = make_ring_map(call.g(), p, t, shape.c, &maps->c);
    if (e != cudaSuccess) return e;
  }
  return shape.d_by_tma ? make_output_map(call.g(), p, t, &maps->d, d.family == Family::chain)
                        : cudaSuccess;
}

cudaError_t launch_chain(const Kernel& kernel, const Decision& d, const Call& call) {
  const Sides p = sides_of(d, call);
  LaunchShape shape = shape_of(d, p, call);
  LaunchMaps maps;
  if (const auto e = make_maps(d, p, call, shape, &maps); e != cudaSuccess) return e;
  GemmArguments g = call.g();
  void* arguments[] = {&maps, &shape, &g};
  return launch(kernel, d.grid, call.queue(), arguments);
}

/// Its operands have one map for each class of rows, and D has none.
cudaError_t launch_realign(const Kernel& kernel, const Decision& d, const Call& call) {
  const Sides p = sides_of(d, call);
  const Geometry& t = geometry_of(d);
  RealignMaps maps;
  RealignShifts shifts;
  shifts.x_box_rows = class_box_rows(p.x, t.x());
  shifts.y_box_rows = class_box_rows(p.y, t.n);
  if (call.g().k > 0) {
    const auto make = [&](const Operand& o, int rows, CUtensorMap* to, std::uint32_t* late) {
      return make_class_maps(o, d.input, call.g().k, rows, t.depth, to, late);
    };
    if (const auto e = make(p.x, t.x(), maps.x, &shifts.x); e != cudaSuccess) return e;
    if (const auto e = make(p.y, t.n, maps.y, &shifts.y); e != cudaSuccess) return e;
  }
  LaunchShape shape = shape_of(d, p, call);
  GemmArguments g = call.g();
  void* arguments[] = {&maps, &shifts, &shape, &g};
  return launch(kernel, d.grid, call.queue(), arguments);
}

}  // namespace detgemm::cuda::sm90
