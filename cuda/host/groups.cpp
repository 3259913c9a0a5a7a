// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/groups.hpp"

#include <algorithm>
#include <limits>

#include "core/contract/forced_kernel.hpp"
#include "cuda/families.hpp"
#include "cuda/grouped/launch.hpp"
#include "cuda/host/context.hpp"
#include "cuda/simt/choose.hpp"
#include "cuda/simt/grouped.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/leaves/shape.hpp"

namespace detgemm::cuda {
namespace {

const simt::Tile& simt_tile() { return simt::kTiles[simt::kGroupedTile]; }

/// The arithmetic whose kernels multiply.
Arithmetic multiplies(Arithmetic arithmetic, bool wgmma) {
  if (arithmetic != Arithmetic::snap) return arithmetic;
  return wgmma ? Arithmetic::hopper : Arithmetic::ieee_fma;
}

/// Sums of leaves that may wait in the workspace of gather, per CTA.
int gather_levels(const Reduction& r, std::int64_t k) {
  if (r.kind != ReductionKind::tree || k <= 0) return 0;
  return sm90::waiting_sums(leaves_of(k, r.leaf_k));
}

/// CTAs of a kernel with tiles of `tile` x `tile`, at most `ctas` per multiprocessor.
int grid_of(std::int64_t rows, std::int64_t groups, std::int64_t n, std::int64_t tile, int ctas,
            int sms) {
  const std::int64_t most = std::int64_t{sms} * ctas;
  const std::int64_t down = rows / tile + groups;
  const std::int64_t across = ceil_div(n, tile);
  if (down >= most || across >= most) return static_cast<int>(most);
  return static_cast<int>(std::min(most, down * across));
}

/// Rows of D of all groups together.
std::int64_t rows_of_all(GroupKind kind, std::int64_t m, std::int64_t groups) {
  std::int64_t rows = m;
  if (kind == GroupKind::m_grouped) return rows;
  if (__builtin_mul_overflow(m, groups, &rows)) return std::numeric_limits<std::int64_t>::max() / 2;
  return rows;
}

int gather_grid(GroupKind kind, std::int64_t m, std::int64_t n, std::int64_t groups, int sms) {
  return grid_of(rows_of_all(kind, m, groups), groups, n, sm90::kGatherTile, sm90::kGatherCtasPerSm,
                 sms);
}

/// Microseconds that a batch takes as launches of its single products. 128 short ones took 344, and
/// 24 that realign rows took 413, 17 each (bench/results/2026-11-23-h200-batched.md).
double predicted_loop_time(const Decision& one, std::int64_t groups) {
  constexpr double kLeast = 2.7, kLeastCopied = 17;
  const bool copied = one.family == Family::realign || one.packs_a || one.packs_b;
  return static_cast<double>(groups) * std::max(one.us, copied ? kLeastCopied : kLeast);
}

/// The same in one launch of gather. 24 products of 1000 x 128 x 777 took 376 us, where the model
/// of single ones says 153 (the same page).
double predicted_gather_time(const GroupedArguments& p, int sms) {
  const std::int64_t down = ceil_div(p.all.m, sm90::kGatherTile);
  const std::int64_t across = ceil_div(p.all.n, sm90::kGatherTile);
  const double tiles = static_cast<double>(p.groups) * static_cast<double>(down) * across;
  constexpr double kMeasured = 2.46;
  return kMeasured * sm90::predicted_gather_time(tiles, p.all.k, sms);
}

/// By tiles on copies, with the time that both are expected to take in `one.us`; `none` where no
/// copies help, or the workspace does not hold them.
GroupedDecision decide_on_copies(const GroupedArguments& p, DType input,
                                 const LaunchOptions& options) {
  GroupedDecision d;
  const GroupCopies copies = copies_for_tiles(p);
  if (!copies.any() || options.workspace_bytes < copies.bytes()) return d;
  void* const anywhere = reinterpret_cast<void*>(std::uintptr_t{4096});  // it is not read
  const Choice choice =
      sm90::choose_grouped(sm90::stack_groups(on_copies(p, copies, anywhere)), input, options, -1);
  if (choice.why_not != nullptr) return d;
  d.way = GroupWay::tiles;
  d.groups = p.groups;
  d.copies = copies;
  d.one = choice.decision;
  d.one.us = choice.us + copies.predicted_time();
  d.one.packs_a = copies.a.count > 0;
  d.one.packs_b = copies.b.count > 0;
  return d;
}

Status refusal(const GroupKernel& forced, const char* why) {
  return forced_kernel_refuses(forced.name, why);
}

}  // namespace

std::vector<GroupKernel> group_kernels(const GroupedSpec& spec, bool wgmma) {
  const Contract& contract = spec.gemm.contract;
  const bool hopper = multiplies(contract.arithmetic, wgmma) == Arithmetic::hopper;
  const bool snaps =
      contract.arithmetic == Arithmetic::snap && !(spec.gemm.a_snapped && spec.gemm.b_snapped);
  std::vector<GroupKernel> list;
  if (spec.kind == GroupKind::batched && spec.groups <= kMaxLoop) {
    list.push_back({"loop", GroupWay::loop});
  }
  if (snaps) return list;
  if (!hopper) {
    list.push_back({simt::name(simt_tile()), GroupWay::simt});
    return list;
  }
  list.push_back({"gather", GroupWay::gather});
  if (contract.reduction.kind != ReductionKind::chain) return list;
  const bool lines = spec.gemm.k > 1 || spec.kind == GroupKind::k_grouped;
  const bool a_mn = lines && spec.gemm.op_a == Op::transpose;
  const bool b_mn = lines && spec.gemm.op_b == Op::none;
  for (std::size_t i = 0; i < sm90::kGroupedGeometries.size(); ++i) {
    const sm90::Geometry& t = sm90::kGroupedGeometries[i];
    if (!sm90::takes_grouped(t, spec.kind, a_mn, b_mn)) continue;
    list.push_back({sm90::name(t), GroupWay::tiles, static_cast<int>(i)});
  }
  return list;
}

Result<GroupedDecision> decide_groups(const GroupedArguments& p, Arithmetic arithmetic, DType input,
                                      const LaunchOptions& options, const GroupKernel* forced) {
  GroupedDecision d;
  d.groups = p.groups;
  if (p.all.m == 0 || p.all.n == 0) return d;
  const auto may = [&](GroupWay way) { return forced == nullptr || forced->way == way; };
  const bool snaps =
      arithmetic == Arithmetic::snap && !(options.a_is_snapped && options.b_is_snapped);
  const Arithmetic by = multiplies(arithmetic, options.wgmma);
  if (may(GroupWay::tiles) && by == Arithmetic::hopper && !snaps) {
    const Choice choice = sm90::choose_grouped(sm90::stack_groups(p), input, options,
                                               forced != nullptr ? forced->geometry : -1);
    if (choice.why_not == nullptr) {
      d.way = GroupWay::tiles;
      d.one = choice.decision;
      return d;
    }
    if (forced != nullptr) return refusal(*forced, choice.why_not);
  }
  const GroupedDecision copied = forced == nullptr && by == Arithmetic::hopper && !snaps
                                     ? decide_on_copies(p, input, options)
                                     : GroupedDecision{};
  const auto copies_take_less = [&](double us) {
    return copied.way == GroupWay::tiles && copied.one.us < us;
  };
  const double gather_us = predicted_gather_time(p, options.sms);
  if (may(GroupWay::loop) && p.kind == GroupKind::batched && p.groups <= kMaxLoop) {
    const auto one = decide(arguments_of_group(p, 0), arithmetic, input, options);
    if (!one) return one.status();
    // Operands that are snapped first are left to the plans, which do it.
    const bool may_gather = may(GroupWay::gather) && arithmetic == Arithmetic::hopper;
    const double loop_us = predicted_loop_time(*one, p.groups);
    if (copies_take_less(std::min(loop_us, gather_us))) return copied;
    if (!may_gather || loop_us <= gather_us) {
      d.way = GroupWay::loop;
      d.one = *one;
      return d;
    }
  } else if (copies_take_less(gather_us)) {
    return copied;
  }
  if (by == Arithmetic::hopper) {
    d.way = GroupWay::gather;
    d.leaves = p.all.reduction.kind != ReductionKind::chain;
    d.levels = gather_levels(p.all.reduction, p.all.k);
    d.grid = gather_grid(p.kind, p.all.m, p.all.n, p.groups, options.sms);
    return d;
  }
  d.way = GroupWay::simt;
  d.levels = simt::levels_needed(p.all.reduction, p.all.k);
  if (d.levels > simt::levels_of(simt_tile())) {
    return unsupported("k is " + std::to_string(p.all.k) +
                       ": shared memory does not hold the sums of a tree of so many leaves for "
                       "groups; run a Plan for each group");
  }
  d.grid = grid_of(rows_of_all(p.kind, p.all.m, p.groups), p.groups, p.all.n, simt_tile().rows(),
                   simt_tile().ctas, options.sms);
  return d;
}

std::string name(const GroupedDecision& d) {
  switch (d.way) {
    case GroupWay::tiles:
      return name(d.one) + "/grouped";
    case GroupWay::loop:
      return "loop of " + std::to_string(d.groups) + ": " + name(d.one);
    case GroupWay::gather:
      return std::string(d.leaves ? "sm90/gather-leaves" : "sm90/gather") + "/grouped";
    case GroupWay::simt:
      return "simt/" + simt::name(simt_tile()) + "/grouped";
    default:
      return "none (no outputs)";
  }
}

std::size_t grouped_workspace_bytes(const GroupedSpec& spec, std::int64_t max_m, std::int64_t max_k,
                                    const LaunchOptions& options) {
  const GemmSpec& one = spec.gemm;
  if (max_m == 0 || one.n == 0) return 0;
  std::size_t bytes = 0;
  if (spec.kind == GroupKind::batched && spec.groups <= kMaxLoop) {
    bytes = workspace_bytes(one.contract, max_m, one.n, one.k, options);
  }
  if (multiplies(one.contract.arithmetic, options.wgmma) != Arithmetic::hopper) return bytes;
  const std::int64_t k = spec.kind == GroupKind::k_grouped ? max_k : one.k;
  const int levels = gather_levels(one.contract.reduction, k);
  const int grid = gather_grid(spec.kind, max_m, one.n, spec.groups, options.sms);
  const std::size_t slots = static_cast<std::size_t>(grid) * static_cast<std::size_t>(levels);
  if (one.contract.reduction.kind == ReductionKind::chain) {
    bytes = std::max(bytes, copies_bound(spec, max_m));
  }
  return std::max(bytes, slots * sm90::kGatherSlotBytes);
}

namespace {

cudaError_t raise_group_limits(KernelSet set) {
  std::vector<Kernel> kernels;
  if (set == KernelSet::groups_of_hopper) {
    kernels = sm90::grouped_kernels();
  } else {
    for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
      kernels.push_back(simt::grouped_kernel(input));
    }
  }
  for (const Kernel& kernel : kernels) {
    if (const auto e = raise_limit(kernel); e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t prepare_group_kernels(Arithmetic arithmetic, bool wgmma) {
  const bool hopper = multiplies(arithmetic, wgmma) == Arithmetic::hopper;
  return prepare_once(current_context(),
                      hopper ? KernelSet::groups_of_hopper : KernelSet::groups_of_simt,
                      raise_group_limits);
}

namespace {

cudaError_t enqueue_loop(GroupedDecision& d, const GroupedArguments& p, Arithmetic arithmetic,
                         DType input, const LaunchOptions& options, void* workspace) {
  for (std::int64_t group = 0; group < p.groups; ++group) {
    const GemmArguments g = arguments_of_group(p, group);
    auto one = decide(g, arithmetic, input, options);
    if (!one) return cudaErrorInvalidValue;  // nothing is forced, so some kernel takes it
    if (const auto e = enqueue(*one, g, options, workspace); e != cudaSuccess) return e;
    if (group == 0) d.one = *one;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t enqueue_groups(GroupedDecision& d, const GroupedArguments& p, Arithmetic arithmetic,
                           DType input, const LaunchOptions& options, void* workspace) {
  if (d.way == GroupWay::none) return cudaSuccess;
  if (d.way == GroupWay::loop) {
    return enqueue_loop(d, p, arithmetic, input, options, workspace);
  }
  if (const auto e = prepare_group_kernels(arithmetic, options.wgmma); e != cudaSuccess) return e;
  if (d.way == GroupWay::tiles) {
    if (!d.copies.any()) return sm90::launch_grouped(d.one, p, options);
    if (const auto e = copy_groups(p, d.copies, options, workspace); e != cudaSuccess) return e;
    return sm90::launch_grouped(d.one, on_copies(p, d.copies, workspace), options);
  }
  GroupedArguments arguments = p;
  if (d.way == GroupWay::gather) {
    sm90::GatherLeaves leaves{static_cast<float4*>(workspace), d.levels};
    void* parameters[] = {&arguments, &leaves};
    return launch(sm90::grouped_gather_kernel(input, d.leaves), d.grid,
                  {options.stream, options.overlap}, parameters);
  }
  Kernel kernel = simt::grouped_kernel(input);
  kernel.shared_bytes = simt::ring_bytes(simt_tile()) + d.levels * simt::waiting_bytes(simt_tile());
  void* parameters[] = {&arguments};
  return launch(kernel, d.grid, {options.stream, false}, parameters);
}

}  // namespace detgemm::cuda
