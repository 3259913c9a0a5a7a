// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/launch.hpp"

#include <algorithm>
#include <cmath>

#include "hip/choose.hpp"
#include "hip/parts.hpp"
#include "hip/reduction_walk.hpp"
#include "hip/simt/tile.hpp"

namespace detgemm::hip {
namespace {

/// The problem as the kernels' walk over k sees it, without arrays.
GemmArguments problem(const Contract& contract, std::int64_t k) {
  GemmArguments g;
  g.k = k;
  g.reduction = contract.reduction;
  return g;
}

/// How many roots a combine of this contract may be given at most: a power of two that divides the
/// leaves, or any nodes.
std::int64_t max_roots(const Contract& contract, std::int64_t k) {
  if (contract.reduction.kind != ReductionKind::tree) return 0;
  const std::int64_t leaves = contract.leaves(k);
  constexpr std::int64_t kMaxNodes = 1024;  // kMaxNodeRoots of detgemm/plan.hpp
  return std::max(leaves & -leaves, std::min(leaves, kMaxNodes));
}

/// Scratch for the stacks of all kernels and for the table of a combine. K is in at most
/// `max_parts` parts, which makes more workgroups.
std::size_t scratch_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                          std::int64_t k, const LaunchOptions& options, int max_parts) {
  if (max_m == 0 || n == 0) return 0;
  std::int64_t bytes = 0;
  constexpr std::int64_t kAligned = 256;
  if (const int waiting = waiting_sums(problem(contract, k)); waiting > 0) {
    int index = 0;
    for (const KernelInfo& kernel : kernels(contract)) {
      if (options.forced >= 0 && options.forced != index++) continue;
      if (options.forced < 0 && !may_be_chosen(kernel.variant, options.chip)) continue;
      const Shape shape = shape_of(kernel.variant, true);
      // More tiles than the device holds workgroups need no more scratch. Counting them no further
      // keeps the products below from overflowing.
      const std::int64_t max_blocks = blocks_for(std::int64_t{1} << 40, shape, true, options);
      const std::int64_t across = std::min(ceil_div(n, shape.n), max_blocks);
      const std::int64_t tiles = std::min(ceil_div(max_m, shape.m), max_blocks) * across;
      const std::int64_t blocks =
          blocks_for(tiles * (kernel.parts ? max_parts : 1), shape, true, options);
      bytes = std::max(bytes, blocks * scratch_floats(shape, waiting) * 4 + kAligned);
    }
  }
  if (const std::int64_t roots = max_roots(contract, k); roots > kRootsByValue) {
    bytes = std::max(bytes, roots * static_cast<std::int64_t>(sizeof(Root)));
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, const LaunchOptions& options) {
  // A kernel that is forced to spread K has no other way.
  const auto list = kernels(contract);
  const auto forced = static_cast<std::size_t>(options.forced);
  if (options.forced >= 0 && forced < list.size() && list[forced].parts) {
    return fast_workspace_bytes(contract, max_m, n, k, options);
  }
  return scratch_bytes(contract, max_m, n, k, options, 1);
}

std::size_t fast_workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, const LaunchOptions& options) {
  if (max_m == 0 || n == 0) return 0;
  const std::int64_t roots = most_root_bytes(contract, max_m, n, k, options);
  if (roots == 0) return scratch_bytes(contract, max_m, n, k, options, 1);
  return scratch_bytes(contract, max_m, n, k, options, kRootsByValue) +
         static_cast<std::size_t>(roots);
}

std::vector<Launch> launches_of(const Decision& decision, const GemmArguments& g,
                                const LaunchOptions& options, void* workspace) {
  TileArguments arguments;
  arguments.g = g;
  arguments.raster = decision.raster;
  arguments.blocks = decision.blocks;
  if (g.reduction.kind != ReductionKind::chain && g.k > 0) {
    arguments.leaves = leaves_of(g.k, g.reduction.leaf_k);
  }
  arguments.stack = static_cast<float*>(workspace);
  arguments.stack_stride = scratch_floats(decision.shape, waiting_sums(g));
  arguments.parts = decision.parts;
  if (decision.parts > 1) {
    arguments.roots =
        reinterpret_cast<float*>(static_cast<char*>(workspace) + decision.roots_offset);
  }
  Launch launch;
  launch.kernel = decision.kernel;
  launch.blocks = static_cast<std::uint32_t>(decision.blocks);
  launch.threads = static_cast<std::uint32_t>(decision.shape.threads);
  launch.pack(arguments);
  if (decision.parts == 1) return {launch};
  const bool fold = g.reduction.kind == ReductionKind::fold;
  std::vector<Root> roots;
  // A fold starts from C, as if that were the first leaf, and every leaf is added to the sum so
  // far.
  if (g.continue_from_c) roots.push_back({static_cast<const float*>(g.c), g.cs, 0});
  for (int part = 0; part < decision.parts; ++part) {
    const int to_sum = roots.empty() ? 0 : 1;
    roots.push_back({arguments.roots + std::int64_t{part} * g.m * g.n,
                     {g.n, 1},
                     fold ? to_sum : nodes_closed_by_part(part)});
  }
  std::vector<Launch> all = combine_launches(g, roots, options, nullptr);
  all.insert(all.begin(), launch);
  return all;
}

std::vector<Launch> combine_launches(const GemmArguments& g, std::span<const Root> roots,
                                     const LaunchOptions& options, void* workspace) {
  std::vector<Launch> launches;
  CombineArguments arguments{};
  arguments.g = g;
  arguments.count = static_cast<std::int64_t>(roots.size());
  if (roots.size() <= kRootsByValue) {
    std::copy(roots.begin(), roots.end(), arguments.roots);
  } else {
    auto* const table = static_cast<Root*>(workspace);
    for (std::size_t first = 0; first < roots.size(); first += kRootsByValue) {
      const auto some =
          roots.subspan(first, std::min<std::size_t>(kRootsByValue, roots.size() - first));
      PlaceArguments place{};
      std::copy(some.begin(), some.end(), place.roots);
      place.to = table + first;
      place.count = static_cast<int>(some.size());
      Launch& launch = launches.emplace_back();
      launch.kernel = place_index(options.chip);
      launch.blocks = 1;
      launch.threads = simt::kThreads;
      launch.pack(place);
    }
    arguments.table = table;
  }
  // One thread per output, as long as there are not too many.
  constexpr std::int64_t kMaxBlocks = 1 << 16;
  const double outputs = static_cast<double>(g.m) * static_cast<double>(g.n);
  const double wanted = std::ceil(outputs / simt::kThreads);
  std::int64_t blocks = wanted > kMaxBlocks ? kMaxBlocks : static_cast<std::int64_t>(wanted);
  if (options.max_units > 0) blocks = std::min<std::int64_t>(blocks, options.max_units * 4);
  arguments.threads = blocks * simt::kThreads;
  Launch& launch = launches.emplace_back();
  launch.kernel = combine_index(options.chip);
  launch.blocks = static_cast<std::uint32_t>(blocks);
  launch.threads = simt::kThreads;
  launch.pack(arguments);
  return launches;
}

}  // namespace detgemm::hip
