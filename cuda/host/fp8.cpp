// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8.hpp"

#include <algorithm>

#include "core/contract/forced_kernel.hpp"
#include "cuda/fp8/launch.hpp"
#include "cuda/host/context.hpp"
#include "cuda/sm90/fp8/kernels.hpp"
#include "cuda/sm90/host/fp8_groups.hpp"

namespace detgemm::cuda {
namespace {

constexpr int kElementCtas = 16;  // per multiprocessor

Fp8Decision by_elements(const GemmArguments& g, const LaunchOptions& options) {
  Fp8Decision d;
  d.way = Fp8Way::elements;
  const std::int64_t most = std::int64_t{options.sms} * kElementCtas;
  const std::int64_t threads = sm90::fp8_element_kernel().threads;
  std::int64_t outputs = 0;
  const bool many = __builtin_mul_overflow(g.m, g.n, &outputs);
  d.grid = static_cast<int>(many ? most : std::min(most, ceil_div(outputs, threads)));
  return d;
}

}  // namespace

bool computes_fp8(const Contract& contract) {
  return contract.arithmetic == Arithmetic::hopper && contract.input == DType::e4m3 &&
         contract.reduction.kind != ReductionKind::tree;
}

std::span<const Fp8Kernel> fp8_kernels() {
  static const auto all = [] {
    std::vector<Fp8Kernel> list;
    for (const sm90::Geometry& t : sm90::kFp8Geometries) list.push_back({sm90::name(t)});
    list.push_back({"elements"});
    return list;
  }();
  return all;
}

Result<Fp8Decision> decide_fp8(const Fp8Arguments& p, const LaunchOptions& options) {
  if (p.g.m == 0 || p.g.n == 0) return Fp8Decision{};
  const bool elements = options.forced == static_cast<int>(sm90::kFp8Geometries.size());
  if (elements) return by_elements(p.g, options);
  const char* why_not = sm90::why_not_fp8_tiles(p);
  if (why_not == nullptr && options.forced >= 0) {
    const auto& forced = sm90::kFp8Geometries[static_cast<std::size_t>(options.forced)];
    why_not = sm90::why_not_fp8_cluster(forced, options);
    if (why_not == nullptr) why_not = sm90::why_not_fp8_geometry(p, forced);
  }
  if (why_not == nullptr) return sm90::choose_fp8(p, options);
  if (options.forced < 0) return by_elements(p.g, options);
  return forced_kernel_refuses(fp8_kernels()[static_cast<std::size_t>(options.forced)].name,
                               why_not);
}

std::string name(const Fp8Decision& d) {
  if (d.way == Fp8Way::none) return "none (no outputs)";
  if (d.way == Fp8Way::elements) return "fp8/elements";
  const sm90::Geometry& t = sm90::kFp8Geometries[static_cast<std::size_t>(d.geometry)];
  const char* join = d.join == sm90::Join::add   ? ""
                     : d.join == sm90::Join::one ? "/scale-per-row"
                                                 : "/scale-per-row-and-column";
  return "sm90/fp8/" + sm90::name(t) + (d.swapped ? "/swapped" : "") + join;
}

namespace {

cudaError_t raise_fp8_limits(KernelSet) {
  for (int join = 0; join < sm90::kJoins; ++join) {
    for (std::size_t i = 0; i < sm90::kFp8Geometries.size(); ++i) {
      const auto how = static_cast<sm90::Join>(join);
      const auto geometry = static_cast<int>(i);
      if (const auto e = raise_limit(sm90::fp8_kernel(how, geometry)); e != cudaSuccess) return e;
      const auto e = raise_limit(sm90::fp8_group_kernel(how, geometry));
      if (e != cudaSuccess) return e;
    }
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t prepare_fp8_kernels() {
  return prepare_once(current_context(), KernelSet::fp8, raise_fp8_limits);
}

cudaError_t enqueue_fp8(Fp8Decision& d, const Fp8Arguments& p, const LaunchOptions& options) {
  if (d.way == Fp8Way::none) return cudaSuccess;
  if (const auto e = prepare_fp8_kernels(); e != cudaSuccess) return e;
  if (d.way == Fp8Way::tiles) {
    const Kernel kernel = sm90::fp8_kernel(d.join, d.geometry);
    const Queue queue{options.stream, options.overlap};
    if (kernel.cluster == 1) return sm90::launch_fp8(d, p, options);
    const std::uint64_t context = current_context();
    if (clusters_held(context, kernel, queue) > 0) {
      const cudaError_t error = sm90::launch_fp8(d, p, options);
      if (!says_no_cluster(error)) return error;
      cudaGetLastError();
      remember_no_cluster(context, kernel);
    }
    LaunchOptions alone = options;
    alone.clusters = false;
    const auto again = decide_fp8(p, alone);
    if (!again) return cudaErrorInvalidClusterSize;  // a forced kernel
    d = *again;
    return enqueue_fp8(d, p, alone);
  }
  Fp8Arguments all = p;
  void* arguments[] = {&all.g, &all.scales};
  return launch(sm90::fp8_element_kernel(), d.grid, {options.stream, false}, arguments);
}

}  // namespace detgemm::cuda
