// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "cuda/launch.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "cuda/sm90/host/enqueue.hpp"
#include "cuda/sm90/host/operand_maps.hpp"
#include "cuda/sm90/host/recall.hpp"
#include "cuda/sm90/leaves/kernels.hpp"
#include "cuda/sm90/leaves/tile.hpp"

namespace detgemm::cuda {
namespace sm90 {

Kernel leaf_kernel_for(int geometry, DType input, bool x_mn, bool y_mn, Form form, bool deep) {
  const auto pick = [&]<DType T>() {
    if (x_mn) {
      return y_mn ? leaf_kernel_of<T, true, true>(geometry, form, deep)
                  : leaf_kernel_of<T, true, false>(geometry, form, deep);
    }
    return y_mn ? leaf_kernel_of<T, false, true>(geometry, form, deep)
                : leaf_kernel_of<T, false, false>(geometry, form, deep);
  };
  return input == DType::bf16 ? pick.template operator()<DType::bf16>()
                              : pick.template operator()<DType::fp16>();
}

cudaError_t prepare_leaves() {
  const auto raise = [](const Kernel& kernel) {
    if (kernel.function == nullptr) return cudaSuccess;
    return cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                kernel.shared_bytes);
  };
  for (const DType type : {DType::bf16, DType::fp16}) {
    for (int majors = 0; majors < 4; ++majors) {
      for (std::size_t i = 0; i < kLeafGeometries.size(); ++i) {
        for (int which = 0; which < 4; ++which) {
          const Form form = which / 2 == 0 ? Form::plain : Form::general;
          const Kernel kernel = leaf_kernel_for(static_cast<int>(i), type, majors % 2 != 0,
                                                majors / 2 != 0, form, which % 2 != 0);
          if (const auto e = raise(kernel); e != cudaSuccess) return e;
        }
      }
    }
  }
  return cudaSuccess;
}

}  // namespace sm90

namespace {

using namespace sm90;

/// No CTA keeps more in a slot, nor a multiprocessor in those of its CTAs.
constexpr std::size_t kSlotBytesPerSm = 128 * 1024;

std::size_t words_bytes(int sms) { return (static_cast<std::size_t>(sms) * 8 + 255) / 256 * 256; }

int levels_of(const Reduction& r, std::int64_t leaves) {
  return r.kind == ReductionKind::tree ? waiting_sums(leaves) : 0;
}

/// Numbers launches of this process. They begin anywhere, so that a word left in a workspace by
/// another process is not taken for one of this launch.
std::uint64_t next_launch() {
  static std::atomic<std::uint64_t> counter{
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) *
      0x9e3779b97f4a7c15ULL};
  const std::uint64_t below =
      counter.fetch_add(1, std::memory_order_relaxed) & ((std::uint64_t{1} << 56) - 1);
  return below == 0 ? 1 : below;
}

/// One leaf from +0 is the chain, and so is no leaf at all.
bool is_chain(const GemmArguments& g) {
  return g.k == 0 || (leaves_of(g.reduction, g.k) == 1 && !g.continue_from_c);
}

LeafChoice recall_choice(const GemmArguments& g, const LaunchOptions& options) {
  static thread_local Recall<LeafChoice> recall;
  return recall({g, leaf_path_of(g), options},
                [&] { return choose_leaves(g, options.sms, options.forced); });
}

/// Leaves of the largest part.
int leaves_a_part(const GemmArguments& g, const LeafDecision& d) {
  const auto leaves = static_cast<int>(leaves_of(g.reduction, g.k));
  return (leaves + d.sharing.parts - 1) / d.sharing.parts;
}

/// Trees whose sums would have to wait outside of registers.
bool is_deep(const GemmArguments& g, const LeafDecision& d) {
  return g.reduction.kind == ReductionKind::tree && leaves_a_part(g, d) > 2;
}

LeafShape leaf_shape(const GemmArguments& g, const LeafDecision& d, int sms, void* workspace) {
  const Geometry& t = kLeafGeometries[static_cast<std::size_t>(d.geometry)];
  LeafShape s;
  s.leaf_blocks = static_cast<int>(g.reduction.leaf_k / kBlockK);
  s.leaves = static_cast<int>(leaves_of(g.reduction, g.k));
  s.tree = g.reduction.kind == ReductionKind::tree;
  s.parts = d.sharing.parts;
  s.split = d.sharing.split;
  const bool deep = is_deep(g, d) && has_deep(t);
  s.levels = s.tree ? std::max(0, waiting_sums(leaves_a_part(g, d)) + 1 -
                                      registers_of(t, deep, d.path == Path::general).sums)
                    : 0;
  const int arriving = s.split == Split::cluster ? s.parts - 1 : 0;
  s.shared_levels = std::min(s.levels, shared_slots(t, deep) - arriving);
  s.from_c = g.continue_from_c;
  auto* base = static_cast<char*>(workspace);
  s.arrived = reinterpret_cast<std::uint64_t*>(base);
  s.slices = base + words_bytes(sms);
  const std::size_t grid = static_cast<std::size_t>(d.grid);
  s.waiting = static_cast<char*>(s.slices) +
              (s.split == Split::grid ? grid * static_cast<std::size_t>(slot_bytes(t)) : 0);
  s.launch = s.split == Split::grid ? next_launch() : 1;
  return s;
}

cudaError_t run_gathered(const GemmArguments& g, DType input, const LaunchOptions& options,
                         void* workspace) {
  GemmArguments arguments = g;
  GatherLeaves leaves;
  leaves.levels = levels_of(g.reduction, leaves_of(g.reduction, g.k));
  leaves.waiting = static_cast<float4*>(workspace);
  void* list[] = {&arguments, &leaves};
  return enqueue(gather_kernel(input, true), gather_grid(g, options.sms), options, list);
}

const char* form_name(Path path) { return path == Path::plain ? "" : "/general"; }

}  // namespace

std::span<const std::string> sm90_leaf_kernels() {
  static const auto names = [] {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < kLeafKernels; ++i) all.push_back(leaf_kernel_name(i));
    return all;
  }();
  return names;
}

std::string sm90_leaf_describe(const GemmArguments& g, DType input, const LaunchOptions& options) {
  if (is_chain(g) && options.forced < 0) return sm90_describe(g, input, options);
  if (g.k == 0) return "none";
  const LeafChoice choice = choose_leaves(g, options.sms, options.forced);
  if (!choice.ok) return "none";
  const LeafDecision& d = choice.decision;
  if (d.path == Path::gather) return "sm90/gather-leaves";
  std::size_t index = static_cast<std::size_t>(d.geometry) * kSharings.size();
  while (kSharings[index % kSharings.size()].split != d.sharing.split ||
         kSharings[index % kSharings.size()].parts != d.sharing.parts) {
    ++index;
  }
  const char* way = d.sharing.split == Split::none      ? "/leaves-in-cta"
                    : d.sharing.split == Split::cluster ? "/leaves-in-cluster"
                                                        : "/leaves-across-grid";
  return "sm90/" + leaf_kernel_name(index) + (d.swapped ? "/swapped" : "") + way +
         form_name(d.path);
}

std::size_t sm90_leaf_workspace(const Reduction& reduction, std::int64_t max_m, std::int64_t n,
                                std::int64_t k, int sms) {
  const std::int64_t leaves = leaves_of(reduction, k);
  if (max_m == 0 || n == 0 || leaves <= 1) return 0;
  // Slots of one level, of all CTAs: their tiles cover the output, rounded up to whole tiles, once
  // for each of at most 8 parts.
  const double area = (static_cast<double>(max_m) + 255) * (static_cast<double>(n) + 255) * 32;
  const double most = static_cast<double>(sms) * kSlotBytesPerSm;
  const auto level = static_cast<std::size_t>(std::min(area, most));
  return words_bytes(sms) + level * (1 + static_cast<std::size_t>(levels_of(reduction, leaves)));
}

cudaError_t sm90_leaves(const GemmArguments& g, DType input, const LaunchOptions& options,
                        void* workspace) {
  if (g.m == 0 || g.n == 0) return cudaSuccess;
  if (is_chain(g) && options.forced < 0) return sm90_chain(g, input, options);
  if (g.k == 0) return cudaErrorNotSupported;
  const LeafChoice choice = recall_choice(g, options);
  if (!choice.ok) return cudaErrorNotSupported;
  const LeafDecision& d = choice.decision;
  if (d.path == Path::gather) return run_gathered(g, input, options, workspace);
  const Problem p = make_problem(g, d.swapped, options.a_is_stable, options.b_is_stable);
  const Geometry& t = kLeafGeometries[static_cast<std::size_t>(d.geometry)];
  LeafMaps maps;
  if (const auto e = make_map(p.x, input, g.k, t.x_share(), t.depth, &maps.x); e) return e;
  if (const auto e = make_map(p.y, input, g.k, t.y_share(), t.depth, &maps.y); e) return e;
  const Form form = d.path == Path::plain ? Form::plain : Form::general;
  if (form == Form::plain) {
    if (const auto e = make_output_map(g, p, t, &maps.d); e) return e;
  }
  Kernel kernel =
      leaf_kernel_for(d.geometry, input, p.x.mn_major, p.y.mn_major, form, is_deep(g, d));
  if (d.sharing.split == Split::cluster) kernel.cluster = d.sharing.parts;
  LaunchShape shape = shape_of(g, p, d.raster);
  LeafShape leaf = leaf_shape(g, d, options.sms, workspace);
  if (g.continue_from_c && form == Form::plain && takes_c_by_tma(t, g.output) &&
      c_suits_tma(g, p)) {
    if (const auto e = make_c_map(g, p, t, &maps.c); e) return e;
    leaf.c_by_tma = true;
  }
  GemmArguments arguments = g;
  void* list[] = {&maps, &shape, &arguments, &leaf};
  return enqueue(kernel, d.grid, options, list);
}

}  // namespace detgemm::cuda
