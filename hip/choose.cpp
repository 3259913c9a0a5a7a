// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/contract/forced_kernel.hpp"
#include "hip/gfx9/fp32_tile.hpp"
#include "hip/gfx9/stream_tile.hpp"
#include "hip/parts.hpp"
#include "hip/reduction_walk.hpp"
#include "hip/simt/tile.hpp"

namespace detgemm::hip {
namespace {

using gfx9::Major;

/// Offsets inside a tile are 32-bit.
constexpr std::int64_t kMaxRowStride = std::int64_t{1} << 22;  // elements; a tile has 256 rows
constexpr std::int64_t kMaxKStride = std::int64_t{1} << 24;    // half a stage has 32 k

/// The roots of a spread K fill at most so much of the workspace, and travel as arguments.
constexpr std::int64_t kMaxRootBytes = std::int64_t{64} << 20;
static_assert(kRootsByValue == 32, "part_choices lists at most 32 roots, C included");

KernelInfo info(Variant variant, bool any_strides) {
  return {name(variant), variant, any_strides, false};
}
/// The same kernel with K spread over workgroups.
KernelInfo in_parts(Variant variant) {
  constexpr std::array names{std::pair{Variant::tile256x128, "256x128-parts"},
                             std::pair{Variant::tile128, "128x128-parts"},
                             std::pair{Variant::tile64, "64x64-parts"},
                             std::pair{Variant::stream, "stream-parts"},
                             std::pair{Variant::stream32, "stream32-parts"},
                             std::pair{Variant::stream64, "stream64-parts"},
                             std::pair{Variant::stream48x128, "stream48x128-parts"},
                             std::pair{Variant::stream64x128, "stream64x128-parts"},
                             std::pair{Variant::stream80x128, "stream80x128-parts"}};
  const auto* const found = std::find_if(names.begin(), names.end(),
                                         [&](const auto& each) { return each.first == variant; });
  const bool any_strides = variant == Variant::stream || variant == Variant::tile64;
  return {found->second, variant, any_strides, true};
}

/// The loads with which the kernel takes these arrays, or nothing where it does not take them.
std::optional<Loads> loads_of(const KernelInfo& kernel, const GemmArguments& g) {
  if (is_ieee(kernel.variant)) return Loads{};
  const OperandFacts a = facts_of(g.a, g.m, g.as.row, g.as.col, g);
  const OperandFacts b = facts_of(g.b, g.n, g.bs.col, g.bs.row, g);
  constexpr Loads slow{Major::any, Major::any};
  if (kernel.variant == Variant::stream) return a.streams && b.streams ? Loads{} : slow;
  if (is_stream(kernel.variant)) {
    const bool whole_stages =
        g.reduction.kind == ReductionKind::chain || g.reduction.leaf_k % gfx9::kStreamStage == 0;
    return a.streams && b.streams && whole_stages ? std::optional(Loads{}) : std::nullopt;
  }
  if (a.tile != Major::any && b.tile != Major::any) return Loads{a.tile, b.tile};
  return kernel.any_strides ? std::optional(slow) : std::nullopt;
}

/// Bytes of the workspace that come before the roots: the stacks of `blocks` workgroups.
std::int64_t stack_bytes(std::int64_t blocks, const Shape& shape, int waiting) {
  constexpr std::int64_t kAligned = 256;
  return ceil_div(blocks * scratch_floats(shape, waiting) * 4, kAligned) * kAligned;
}

std::int64_t root_bytes(std::int64_t parts, std::int64_t m, std::int64_t n) {
  // Compared in two steps, so that nothing overflows.
  if (parts == 1) return 0;
  if (m > kMaxRootBytes / n) return kMaxRootBytes + 1;
  return parts * m * n * 4;
}

/// What a candidate needs besides the kernel: workgroups and scratch.
struct Needs {
  std::int64_t tiles_m, tiles_n;
  std::int64_t blocks;
  std::int64_t stacks, roots;  // bytes
};
Needs needs_of(const Candidate& c, const GemmArguments& g, const LaunchOptions& options) {
  const Shape shape = shape_of(c.variant, g.reduction.kind != ReductionKind::chain);
  Needs needs{};
  needs.tiles_m = ceil_div(g.m, shape.m);
  needs.tiles_n = ceil_div(g.n, shape.n);
  const double units = static_cast<double>(needs.tiles_m) * static_cast<double>(needs.tiles_n);
  const auto tiles = static_cast<std::int64_t>(std::min(units, 0x1p40)) * c.parts;
  const int waiting = waiting_sums(g);
  needs.blocks = blocks_for(tiles, shape, waiting > 0, options);
  needs.stacks = stack_bytes(needs.blocks, shape, waiting);
  needs.roots = root_bytes(c.parts, g.m, g.n);
  return needs;
}

bool fits(const Candidate& c, const GemmArguments& g, const LaunchOptions& options,
          std::size_t workspace) {
  if (c.parts == 1) return true;  // workspace_bytes is enough for it
  const Needs needs = needs_of(c, g, options);
  return needs.roots <= kMaxRootBytes &&
         needs.stacks + needs.roots <=
             static_cast<std::int64_t>(std::min<std::size_t>(workspace, std::size_t{1} << 62));
}

std::optional<Candidate> pick(const GemmArguments& g, Arithmetic arithmetic,
                              const LaunchOptions& options, std::size_t workspace) {
  std::optional<Candidate> best;
  Cost shortest;
  for (const Candidate& one : candidates(g, arithmetic, options)) {
    if (!fits(one, g, options, workspace)) continue;
    const Cost cost = cost_of(one, g, options);
    if (best && !(cost < shortest)) continue;
    best = one;
    shortest = cost;
  }
  return best;
}

Status refusal(Arithmetic arithmetic, const GemmArguments& g, const LaunchOptions& options) {
  const auto list = kernels(arithmetic, g.reduction.kind);
  const auto index = static_cast<std::size_t>(options.forced);
  if (options.forced < 0) {
    return unsupported(std::string(name(options.chip)) + " has no kernels for " +
                       std::string(detgemm::name(arithmetic)));
  }
  if (index >= list.size()) {
    return unsupported("forced is " + std::to_string(options.forced) + ": there are " +
                       std::to_string(list.size()) + " kernels for this contract");
  }
  const KernelInfo& kernel = list[index];
  if (kernel.parts && part_choices(g, true).empty()) {
    return forced_kernel_refuses(kernel.name,
                                 "it spreads K over workgroups, which needs 2 leaves or more, and "
                                 "under fold at most 31; this problem has " +
                                     std::to_string(leaves_of(g.k, g.reduction.leaf_k)));
  }
  if (kernel.parts && loads_of(kernel, g)) {
    return forced_kernel_refuses(kernel.name,
                                 "it keeps a root of every part in the workspace, and these are "
                                 "more than 64 MiB or than the workspace holds");
  }
  if (is_stream(kernel.variant)) {
    return forced_kernel_refuses(kernel.name,
                                 "it reads A and B in aligned chunks of 8 bytes along K and leaves "
                                 "in whole stages of 64, and one of them is not aligned so");
  }
  return forced_kernel_refuses(
      kernel.name,
      "it reads A and B in aligned chunks of 16 bytes along K, or of 8 bytes along M or N, and one "
      "of them is not aligned so");
}

}  // namespace

std::span<const KernelInfo> kernels(Arithmetic arithmetic, ReductionKind reduction) {
  static const std::array chain{
      info(Variant::tile256, false),      info(Variant::tile256x224, false),
      info(Variant::tile256x192, false),  info(Variant::tile160x256, false),
      info(Variant::tile256x128, false),  info(Variant::tile128, false),
      info(Variant::tile64, true),        info(Variant::stream, true),
      info(Variant::stream32, false),     info(Variant::stream64, false),
      info(Variant::stream48x128, false), info(Variant::stream64x128, false),
      info(Variant::stream80x128, false), info(Variant::stream96x128, false)};
  // The others have no registers for a second sum.
  static const std::array leaves{
      info(Variant::tile256x128, false),  info(Variant::tile128, false),
      info(Variant::tile64, true),        info(Variant::stream, true),
      info(Variant::stream32, false),     info(Variant::stream64, false),
      info(Variant::stream48x128, false), info(Variant::stream64x128, false),
      info(Variant::stream80x128, false), in_parts(Variant::tile256x128),
      in_parts(Variant::tile128),         in_parts(Variant::tile64),
      in_parts(Variant::stream),          in_parts(Variant::stream32),
      in_parts(Variant::stream64),        in_parts(Variant::stream48x128),
      in_parts(Variant::stream64x128),    in_parts(Variant::stream80x128)};
  static const std::array simt{info(Variant::simt64, true), info(Variant::simt16, true),
                               info(Variant::fp32_128, true)};
  // Sums of snapped operands are exact, so every kernel with leaves gives them.
  static const std::vector<KernelInfo> exact = [] {
    std::vector<KernelInfo> all(leaves.begin(), leaves.end());
    all.insert(all.end(), simt.begin(), simt.end());
    return all;
  }();
  if (arithmetic == Arithmetic::ieee_fma) return simt;
  if (arithmetic == Arithmetic::snap || arithmetic == Arithmetic::snap3) return exact;
  if (reduction == ReductionKind::chain) return chain;
  return leaves;
}

bool computes(Chip chip, const Contract& contract) {
  const bool narrow = contract.input == DType::bf16 || contract.input == DType::fp16;
  switch (contract.arithmetic) {
    case Arithmetic::ieee_fma:
      return narrow || contract.input == DType::fp32;
    case Arithmetic::cdna3:
      return chip == Chip::gfx942 && narrow;
    case Arithmetic::cdna2:
      return chip == Chip::gfx90a && narrow;
    case Arithmetic::snap:
      return contract.input == DType::bf16 && contract.reduction.kind != ReductionKind::chain;
    case Arithmetic::snap3:
      return (contract.input == DType::bf16 || contract.input == DType::fp32) &&
             (contract.reduction.kind == ReductionKind::fold ||
              contract.reduction.kind == ReductionKind::tree);
    default:
      return false;
  }
}

bool may_be_chosen(Variant variant, Chip chip) {
  return has(chip, variant) && (variant != Variant::fp32_128 || DETGEMM_HIP_FP32_MFMA != 0);
}

namespace {

template <class T>
constexpr Shape tile_shape(int per_unit) {
  return {T::kM, T::kN, T::kThreads, per_unit, T::kWavesM, T::kWavesN, T::kPhased};
}
/// At most 256 registers per thread: eight waves per compute unit.
template <class W>
constexpr Shape stream_shape(bool leaves) {
  return {W::kM,       W::kN,
          W::kThreads, 2,
          1,           gfx9::kStreamWaves,
          false,       leaves ? W::kLeavesDepth : W::kDepth};
}

}  // namespace

Shape shape_of(Variant variant, bool leaves) {
  switch (variant) {
    case Variant::tile256:
      return tile_shape<gfx9::Tile256>(1);
    case Variant::tile256x224:
      return tile_shape<gfx9::Tile256x224>(1);
    case Variant::tile256x192:
      return tile_shape<gfx9::Tile256x192>(1);
    case Variant::tile160x256:
      return tile_shape<gfx9::Tile160x256>(1);
    case Variant::tile256x128:
      return tile_shape<gfx9::Tile256x128>(1);
    case Variant::tile128:
      return tile_shape<gfx9::Tile128>(2);
    case Variant::tile64:
      return tile_shape<gfx9::Tile64>(3);
    case Variant::stream:
      return {gfx9::kStreamBlock,
              gfx9::kStreamBlock,
              (leaves ? gfx9::kStreamWaves : 1) * 64,
              leaves ? 2 : 8,
              1,
              1,
              false,
              gfx9::kStreamDepth};
    case Variant::stream32:
      return stream_shape<gfx9::Stream32>(leaves);
    case Variant::stream64:
      return stream_shape<gfx9::Stream64>(leaves);
    case Variant::stream48x128:
      return stream_shape<gfx9::Stream48x128>(leaves);
    case Variant::stream64x128:
      return stream_shape<gfx9::Stream64x128>(leaves);
    case Variant::stream80x128:
      return stream_shape<gfx9::Stream80x128>(leaves);
    case Variant::stream96x128:
      return stream_shape<gfx9::Stream96x128>(leaves);
    case Variant::simt64:
      return {simt::Tile64::kM, simt::Tile64::kN, simt::kThreads, 4};
    case Variant::simt16:
      return {simt::Tile16::kM, simt::Tile16::kN, simt::kThreads, 4};
    case Variant::fp32_128:
      return {gfx9::Fp32Tile::kM, gfx9::Fp32Tile::kN, simt::kThreads, 2};
  }
  return {1, 1, 64, 1};
}

OperandFacts facts_of(const void* data, std::int64_t rows, std::int64_t row_stride,
                      std::int64_t k_stride, const GemmArguments& g) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::int64_t leaf = g.reduction.kind == ReductionKind::chain ? 0 : g.reduction.leaf_k;
  const bool along_k = k_stride == 1 || g.k <= 1;
  OperandFacts facts;
  facts.streams = along_k && address % 8 == 0 && row_stride % 4 == 0 && leaf % 4 == 0;
  if (along_k && address % 16 == 0 && row_stride % 8 == 0 && leaf % 8 == 0 &&
      row_stride <= kMaxRowStride) {
    facts.tile = Major::k;
  } else if (row_stride == 1 && rows % 4 == 0 && address % 8 == 0 && k_stride % 4 == 0 &&
             k_stride <= kMaxKStride) {
    facts.tile = Major::mn;
  }
  return facts;
}

int blocks_for(std::int64_t tiles, const Shape& shape, bool needs_scratch,
               const LaunchOptions& options) {
  std::int64_t limit = kMaxBlocks;
  if (needs_scratch || options.max_units > 0) {
    limit = std::min(limit, std::int64_t{units_used(options)} * shape.per_unit);
  }
  return static_cast<int>(std::min(tiles, limit));
}

std::int64_t scratch_floats(const Shape& shape, int waiting) {
  return std::int64_t{shape.m} * shape.n * waiting;
}

std::vector<int> part_choices(const GemmArguments& g, bool spread) {
  if (!spread) return {1};
  if (g.reduction.kind == ReductionKind::chain || g.k == 0) return {};
  const std::int64_t leaves = leaves_of(g.k, g.reduction.leaf_k);
  if (g.reduction.kind == ReductionKind::fold) {
    constexpr int kMaxLeaves = kRootsByValue - 1;  // C may come before them
    if (leaves < 2 || leaves > kMaxLeaves) return {};
    return {static_cast<int>(leaves)};
  }
  std::vector<int> parts;
  for (int p = 2; p <= kRootsByValue && p <= leaves; p *= 2) parts.push_back(p);
  return parts;
}

std::vector<Candidate> candidates(const GemmArguments& g, Arithmetic arithmetic,
                                  const LaunchOptions& options) {
  std::vector<Candidate> list;
  int index = 0;
  for (const KernelInfo& kernel : kernels(arithmetic, g.reduction.kind)) {
    if (options.forced >= 0 && options.forced != index++) continue;
    if (options.forced < 0 && !may_be_chosen(kernel.variant, options.chip)) continue;
    const auto loads = loads_of(kernel, g);
    if (!loads) continue;
    for (const int parts : part_choices(g, kernel.parts)) {
      if (root_bytes(parts, g.m, g.n) > kMaxRootBytes) continue;
      list.push_back({kernel.variant, *loads, parts});
    }
  }
  return list;
}

std::int64_t most_root_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                             std::int64_t k, const LaunchOptions& options) {
  GemmArguments g;
  g.k = k;
  g.reduction = contract.reduction;
  std::int64_t most = 0;
  int index = 0;
  for (const KernelInfo& kernel : kernels(contract)) {
    if (options.forced >= 0 && options.forced != index++) continue;
    if (options.forced < 0 && !may_be_chosen(kernel.variant, options.chip)) continue;
    for (const int parts : part_choices(g, kernel.parts)) {
      most = std::max(most, std::min(root_bytes(parts, max_m, n), kMaxRootBytes));
    }
  }
  return most;
}

Result<Decision> decide(const GemmArguments& g, Arithmetic arithmetic, DType input,
                        const LaunchOptions& options, std::size_t workspace) {
  const auto best = pick(g, arithmetic, options, workspace);
  if (!best) return refusal(arithmetic, g, options);
  Decision d;
  const bool leaves = g.reduction.kind != ReductionKind::chain;
  d.chip = options.chip;
  d.key = {best->variant, input, leaves, best->loads.a, best->loads.b};
  d.kernel = kernel_index(options.chip, d.key);
  if (d.kernel < 0) {
    return unsupported(std::string(name(options.chip)) + " has no kernel " + name(d.key));
  }
  d.shape = shape_of(best->variant, leaves);
  d.parts = best->parts;
  const Needs needs = needs_of(*best, g, options);
  if (needs.tiles_m > kMaxTiles / needs.tiles_n / d.parts) {
    return unsupported("d has " + std::to_string(needs.tiles_m) + " x " +
                       std::to_string(needs.tiles_n) + " tiles: this backend counts at most " +
                       std::to_string(kMaxTiles));
  }
  d.blocks = static_cast<int>(needs.blocks);
  d.roots_offset = needs.stacks;
  d.workspace = needs.stacks + needs.roots;
  d.raster.tiles_m = static_cast<int>(needs.tiles_m);
  d.raster.tiles_n = static_cast<int>(needs.tiles_n);
  d.raster.xcds = xcds_of(options);
  d.raster.group = stripe_rows(d.shape, needs.tiles_m, options);
  return d;
}

int stripe_rows(const Shape& shape, std::int64_t tiles_m, const LaunchOptions& options) {
  // The tiles that one die works on at a time form a patch about as high as it is wide.
  const double together =
      static_cast<double>(units_used(options)) * shape.per_unit / xcds_of(options);
  const double side = std::sqrt(together * shape.n / shape.m);
  return static_cast<int>(std::clamp<std::int64_t>(std::lround(side), 1, tiles_m));
}

std::string name(const Decision& decision) {
  std::string text =
      std::string(name(decision.chip)) + "/" + std::string(name(decision.key.variant));
  if (decision.parts > 1) text += "-parts:" + std::to_string(decision.parts);
  if (decision.key.groups) text += "/grouped";
  if (decision.key.a == Major::any) text += "/any-strides";
  return text;
}

}  // namespace detgemm::hip
