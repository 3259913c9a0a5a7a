// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/launch.hpp"

#include <array>

#include "cuda/sm90/chain/kernels.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/host/enqueue.hpp"
#include "cuda/sm90/host/operand_maps.hpp"
#include "cuda/sm90/host/recall.hpp"
#include "cuda/sm90/leaves/kernels.hpp"
#include "cuda/sm90/realign/realign.hpp"

namespace detgemm::cuda {
namespace {

using namespace sm90;

template <DType T>
Kernel kernel_for_type(const Decision& d, bool x_mn, bool y_mn, Form form) {
  const auto pick = [&]<bool kXMn, bool kYMn>() {
    if (d.path == Path::plain) return plain_kernel<T, kXMn, kYMn>(d.geometry);
    return d.path == Path::realign ? realign_kernel_of<T, kXMn, kYMn>(d.geometry, form)
                                   : general_kernel<T, kXMn, kYMn>(d.geometry, form);
  };
  if (x_mn) {
    return y_mn ? pick.template operator()<true, true>() : pick.template operator()<true, false>();
  }
  return y_mn ? pick.template operator()<false, true>() : pick.template operator()<false, false>();
}

Kernel kernel_for(const Decision& d, DType input, bool x_mn, bool y_mn, Form form) {
  return input == DType::bf16 ? kernel_for_type<DType::bf16>(d, x_mn, y_mn, form)
                              : kernel_for_type<DType::fp16>(d, x_mn, y_mn, form);
}

const Geometry& geometry_of(const Decision& d) {
  return geometries_of(d.path)[static_cast<std::size_t>(d.geometry)];
}

cudaError_t run_tiles(const GemmArguments& g, const Decision& d, DType input,
                      const LaunchOptions& options) {
  const Problem p = make_problem(g, d.swapped, options.a_is_stable, options.b_is_stable);
  const Geometry& t = geometry_of(d);
  LaunchMaps maps;
  if (g.k > 0) {
    if (const auto e = make_map(p.x, input, g.k, t.x_share(), t.depth, &maps.x); e != cudaSuccess) {
      return e;
    }
    if (const auto e = make_map(p.y, input, g.k, t.y_share(), t.depth, &maps.y); e != cudaSuccess)
      return e;
  }
  Form form = g.continue_from_c ? Form::from_c : Form::general;
  if (d.path == Path::plain) {
    form = Form::plain;
    if (const auto e = make_output_map(g, p, t, &maps.d); e != cudaSuccess) return e;
  }
  LaunchShape shape = shape_of(g, p, d.raster);
  GemmArguments arguments = g;
  void* list[] = {&maps, &shape, &arguments};
  return enqueue(kernel_for(d, input, p.x.mn_major, p.y.mn_major, form), d.grid, options, list);
}

/// Path::realign: maps by class of rows, and no map of D.
cudaError_t run_realigned(const GemmArguments& g, const Decision& d, DType input,
                          const LaunchOptions& options) {
  const Problem p = make_problem(g, d.swapped, options.a_is_stable, options.b_is_stable);
  const Geometry& t = geometry_of(d);
  RealignMaps maps;
  RealignShifts shifts;
  if (g.k > 0) {
    const auto make = [&](const Operand& o, int rows, CUtensorMap* to, std::uint32_t* late) {
      return make_class_maps(o, input, g.k, rows, t.depth, to, late);
    };
    if (const auto e = make(p.x, t.x(), maps.x, &shifts.x); e != cudaSuccess) return e;
    if (const auto e = make(p.y, t.n, maps.y, &shifts.y); e != cudaSuccess) return e;
  }
  LaunchShape shape = shape_of(g, p, d.raster);
  GemmArguments arguments = g;
  void* list[] = {&maps, &shifts, &shape, &arguments};
  const Form form = g.continue_from_c ? Form::from_c : Form::general;
  return enqueue(kernel_for(d, input, p.x.mn_major, p.y.mn_major, form), d.grid, options, list);
}

Choice recall_choice(const GemmArguments& g, const LaunchOptions& options) {
  static thread_local Recall<Choice> recall;
  return recall({g, path_of(g), options}, [&] { return choose(g, options.sms, options.forced); });
}

/// The form's part of a kernel's name.
const char* form_name(const GemmArguments& g, Path path) {
  if (path == Path::plain) return "";
  if (path == Path::realign) return g.continue_from_c ? "/realign/from-c" : "/realign";
  return g.continue_from_c ? "/from-c" : "/general";
}

}  // namespace

std::span<const std::string> sm90_chain_kernels() {
  static const auto names = [] {
    std::array<std::string, kPlainGeometries.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = name(kPlainGeometries[i]);
    return all;
  }();
  return names;
}

std::string sm90_describe(const GemmArguments& g, DType, const LaunchOptions& options) {
  const auto choice = choose(g, options.sms, options.forced);
  if (!choice.ok) return "none";
  const Decision& d = choice.decision;
  if (d.path == Path::gather) return "sm90/gather";
  return "sm90/" + name(geometry_of(d)) + (d.swapped ? "/swapped" : "") + form_name(g, d.path);
}

cudaError_t sm90_prepare() {
  if (const auto e = find_tensor_map_encoder(); e != cudaSuccess) return e;
  const auto raise = [](const Kernel& kernel) {
    if (kernel.function == nullptr) return cudaSuccess;
    return cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                kernel.shared_bytes);
  };
  for (const DType type : {DType::bf16, DType::fp16}) {
    for (int majors = 0; majors < 4; ++majors) {
      for (const Path path : {Path::plain, Path::general, Path::realign}) {
        for (std::size_t i = 0; i < geometries_of(path).size(); ++i) {
          Decision d;
          d.path = path;
          d.geometry = static_cast<int>(i);
          for (const Form form : {Form::general, Form::from_c}) {
            const auto e = raise(kernel_for(d, type, majors % 2 != 0, majors / 2 != 0, form));
            if (e != cudaSuccess) return e;
          }
        }
      }
    }
  }
  return prepare_leaves();
}

cudaError_t sm90_chain(const GemmArguments& g, DType input, const LaunchOptions& options) {
  if (g.m == 0 || g.n == 0) return cudaSuccess;
  const Choice choice = recall_choice(g, options);
  if (!choice.ok) return cudaErrorNotSupported;
  const Decision& d = choice.decision;
  if (d.path == Path::realign) return run_realigned(g, d, input, options);
  if (d.path != Path::gather) return run_tiles(g, d, input, options);
  GemmArguments arguments = g;
  GatherLeaves none;
  void* list[] = {&arguments, &none};
  return enqueue(gather_kernel(input, false), gather_grid(g, options.sms), options, list);
}

}  // namespace detgemm::cuda
