// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <optional>

#include "core/contract/forced_kernel.hpp"
#include "hip/choose.hpp"
#include "hip/reduction_walk.hpp"

namespace detgemm::hip {
namespace {

using gfx9::Major;

/// How the operand of every group suits the kernels. Groups are `distance` elements apart. Where
/// segments begin anywhere along the neighbours in memory, no chunk of them is aligned.
OperandFacts facts_of_groups(const OperandFacts& one, const GroupedArguments& p,
                             std::int64_t distance, bool has_segments) {
  OperandFacts facts = one;
  const bool by_k = p.kind == GroupKind::k_grouped;
  if (facts.tile == Major::k && (distance % 8 != 0 || by_k)) facts.tile = Major::any;
  // Rows of m_masked are counted on the device: they may not be whole quads.
  if (facts.tile == Major::mn && (distance % 4 != 0 || (has_segments && !by_k))) {
    facts.tile = Major::any;
  }
  if (distance % 4 != 0 || by_k) facts.streams = false;
  return facts;
}

std::optional<Loads> loads_of_groups(const KernelInfo& kernel, const GroupedArguments& p) {
  if (is_ieee(kernel.variant)) return Loads{};
  const GemmArguments& g = p.all;
  const bool rows = p.kind == GroupKind::m_grouped || p.kind == GroupKind::m_masked;
  const auto a = facts_of_groups(facts_of(g.a, g.m, g.as.row, g.as.col, g), p, p.distance.a, rows);
  const auto b = facts_of_groups(facts_of(g.b, g.n, g.bs.col, g.bs.row, g), p, p.distance.b, false);
  if (is_stream(kernel.variant)) {
    const bool whole_stages =
        g.reduction.kind == ReductionKind::chain || g.reduction.leaf_k % gfx9::kStage == 0;
    return a.streams && b.streams && whole_stages ? std::optional(Loads{}) : std::nullopt;
  }
  if (kernel.variant == Variant::tile64) return Loads{Major::any, Major::any};
  if (a.tile == Major::any || b.tile == Major::any) return std::nullopt;
  if (a.tile == Major::mn && b.tile == Major::k) return std::nullopt;  // there is no such kernel
  return Loads{a.tile, b.tile};
}

/// A group as the model of times takes it. How the rows or products are shared out is on the
/// device, so every group counts as an average one.
GemmArguments average(const GroupedArguments& p) {
  GemmArguments g = p.all;
  if (p.kind == GroupKind::m_grouped) g.m = std::max<std::int64_t>(1, ceil_div(g.m, p.groups));
  if (p.kind == GroupKind::k_grouped) g.k = std::max<std::int64_t>(1, ceil_div(g.k, p.groups));
  return g;
}

/// Workgroups: as many as the device holds at a time, or as there may be tiles.
int group_blocks(const GroupedArguments& p, const Shape& shape, const LaunchOptions& options) {
  const double rows = static_cast<double>(p.all.m);
  const auto groups = static_cast<double>(p.groups);
  const bool shared = p.kind == GroupKind::m_grouped;
  const double down = shared ? rows / shape.m + groups : (rows / shape.m + 1) * groups;
  const double tiles = down * static_cast<double>(ceil_div(p.all.n, shape.n));
  const double most = static_cast<double>(units_used(options)) * shape.per_unit;
  return static_cast<int>(std::clamp(tiles, 1.0, most));
}

std::int64_t group_stack_bytes(int blocks, const Shape& shape, int waiting) {
  return std::int64_t{blocks} * scratch_floats(shape, waiting) * 4;
}

}  // namespace

std::span<const KernelInfo> group_kernels(Arithmetic arithmetic, ReductionKind reduction) {
  const auto info = [](Variant variant, bool any_strides) {
    return KernelInfo{name(variant), variant, any_strides, false};
  };
  static const std::array matrix{info(Variant::tile128, false), info(Variant::tile64, true),
                                 info(Variant::stream32, false), info(Variant::stream64, false)};
  static const std::array simt{info(Variant::simt64, true)};
  static const std::array exact{info(Variant::tile128, false), info(Variant::tile64, true),
                                info(Variant::stream32, false), info(Variant::stream64, false),
                                info(Variant::simt64, true)};
  if (reduction == ReductionKind::scaled) return {};
  if (arithmetic == Arithmetic::ieee_fma) return simt;
  if (arithmetic == Arithmetic::snap) return exact;
  return matrix;
}

bool computes_groups(Chip chip, const GroupedSpec& spec) {
  const Contract& contract = spec.gemm.contract;
  if (!computes(chip, contract) || contract.arithmetic == Arithmetic::snap3) return false;
  return contract.arithmetic != Arithmetic::snap || (spec.gemm.a_snapped && spec.gemm.b_snapped);
}

Result<Decision> decide_groups(const Problem& problem, const LaunchOptions& options) {
  const GroupedArguments& p = problem.gemms;
  const GemmArguments one = average(p);
  const bool leaves = p.all.reduction.kind != ReductionKind::chain;
  const auto list = group_kernels(problem.arithmetic, p.all.reduction.kind);
  std::optional<Candidate> best;
  Cost shortest;
  int index = 0;
  for (const KernelInfo& kernel : list) {
    if (options.forced >= 0 && options.forced != index++) continue;
    if (!may_be_chosen(kernel.variant, options.chip)) continue;
    const auto loads = loads_of_groups(kernel, p);
    if (!loads) continue;
    const Candidate candidate{kernel.variant, *loads, 1};
    const Cost cost = cost_of(candidate, one, options, p.groups);
    if (best && !(cost < shortest)) continue;
    best = candidate;
    shortest = cost;
  }
  if (!best) {
    const auto forced = static_cast<std::size_t>(options.forced);
    if (options.forced < 0 || forced >= list.size()) {
      return unsupported(std::string(name(options.chip)) + " has no kernels over groups for " +
                         std::string(detgemm::name(problem.arithmetic)));
    }
    return forced_kernel_refuses(
        list[forced].name,
        "it reads A and B of every group in aligned chunks, of 8 bytes (streams) or 16 along K, or "
        "of 8 along N or along both M and N, and one of them is not aligned so");
  }
  Decision d;
  d.chip = options.chip;
  d.key = {best->variant, problem.input, leaves, best->loads.a, best->loads.b, true};
  d.kernel = kernel_index(options.chip, d.key);
  if (d.kernel < 0) {
    return unsupported(std::string(name(options.chip)) + " has no kernel " + name(d.key));
  }
  d.shape = shape_of(best->variant, leaves);
  const std::int64_t tiles_m = ceil_div(p.all.m, d.shape.m);
  const std::int64_t tiles_n = ceil_div(p.all.n, d.shape.n);
  if (tiles_m > kMaxTiles / tiles_n) {
    return unsupported("d has " + std::to_string(tiles_m) + " x " + std::to_string(tiles_n) +
                       " tiles: this backend counts at most " + std::to_string(kMaxTiles));
  }
  d.blocks = group_blocks(p, d.shape, options);
  d.workspace = group_stack_bytes(d.blocks, d.shape, waiting_sums(p.all));
  d.raster.tiles_m = static_cast<int>(tiles_m);
  d.raster.tiles_n = static_cast<int>(tiles_n);
  d.raster.xcds = xcds_of(options);
  d.raster.group = stripe_rows(d.shape, tiles_m, options);
  return d;
}

std::size_t group_workspace_bytes(const GroupedSpec& spec, std::int64_t max_m, std::int64_t max_k,
                                  const LaunchOptions& options) {
  GroupedArguments p;
  p.all.m = max_m;
  p.all.n = spec.gemm.n;
  p.all.k = spec.kind == GroupKind::k_grouped ? max_k : spec.gemm.k;
  p.all.reduction = spec.gemm.contract.reduction;
  p.kind = spec.kind;
  p.groups = spec.groups;
  const int waiting = waiting_sums(p.all);
  if (max_m == 0 || p.all.n == 0 || waiting == 0) return 0;
  std::int64_t bytes = 0;
  int index = 0;
  for (const KernelInfo& kernel : group_kernels(spec.gemm.contract)) {
    if (options.forced >= 0 && options.forced != index++) continue;
    if (!may_be_chosen(kernel.variant, options.chip)) continue;
    const Shape shape = shape_of(kernel.variant, true);
    bytes = std::max(bytes, group_stack_bytes(group_blocks(p, shape, options), shape, waiting));
  }
  return static_cast<std::size_t>(bytes);
}

Launch group_launch(const Decision& decision, const GroupedArguments& groups, void* workspace) {
  const GemmArguments& g = groups.all;
  GroupTileArguments arguments;
  arguments.groups = groups;
  arguments.tile.g = g;
  arguments.tile.raster = decision.raster;
  arguments.tile.blocks = decision.blocks;
  if (g.reduction.kind != ReductionKind::chain && g.k > 0) {
    arguments.tile.leaves = leaves_of(g.k, g.reduction.leaf_k);
  }
  arguments.tile.stack = static_cast<float*>(workspace);
  arguments.tile.stack_stride = scratch_floats(decision.shape, waiting_sums(g));
  Launch launch;
  launch.kernel = decision.kernel;
  launch.blocks = static_cast<std::uint32_t>(decision.blocks);
  launch.threads = static_cast<std::uint32_t>(decision.shape.threads);
  launch.pack(arguments);
  return launch;
}

}  // namespace detgemm::hip
