// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/contract/forced_kernel.hpp"
#include "hip/gfx9/fp32_tile.hpp"
#include "hip/reduction_walk.hpp"
#include "hip/simt/tile.hpp"

namespace detgemm::hip {
namespace {

using gfx9::Major;

/// So few rows that the weights are streamed past them.
constexpr std::int64_t kStreamRows = 32;

/// Offsets inside a tile are 32-bit.
constexpr std::int64_t kMaxRowStride = std::int64_t{1} << 22;  // elements; a tile has 256 rows
constexpr std::int64_t kMaxKStride = std::int64_t{1} << 24;    // a stage has 32 k

/// Workgroups of one launch; they loop over the tiles that are left.
constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 20;

constexpr KernelInfo info(Variant variant, bool any_strides) { return {{}, variant, any_strides}; }

/// The list with its names, which are those of the variants.
template <std::size_t kCount>
std::array<KernelInfo, kCount> named(std::array<KernelInfo, kCount> list) {
  for (KernelInfo& kernel : list) kernel.name = name(kernel.variant);
  return list;
}

int units_used(const LaunchOptions& options) {
  const int units = std::max(1, options.units);
  return options.max_units > 0 ? std::min(units, options.max_units) : units;
}

/// How many dies the hardware deals workgroups to in turn: the XCDs of an MI300 have 38 compute
/// units each.
int xcds_of(const LaunchOptions& options) {
  constexpr int kUnitsOfXcd = 38;
  if (options.chip != Chip::gfx942 || options.units % kUnitsOfXcd != 0) return 1;
  return std::max(1, options.units / kUnitsOfXcd);
}

/// The share of the matrix cores' rate that a full tile reaches, from the counts in docs/hip.md.
/// Only the order matters here; no figure is a measurement.
double rate(Variant variant) {
  switch (variant) {
    case Variant::tile256:
      return 0.95;
    case Variant::tile128:
      return 0.85;
    case Variant::tile64:
      return 0.5;
    case Variant::stream:
      return 0.1;
    case Variant::simt64:
      return 0.8;
    case Variant::simt16:
      return 0.4;
    case Variant::fp32_128:
      return 1.6;  // twice the vector rate of fp32
  }
  return 1;
}

/// The time that the variant takes, in arbitrary units: how often the device is filled with
/// workgroups, times what one filling computes.
double cost(Variant variant, const GemmArguments& g, const LaunchOptions& options) {
  const Shape s = shape_of(variant, g.reduction.kind != ReductionKind::chain);
  const auto tiles =
      static_cast<double>(ceil_div(g.m, s.m)) * static_cast<double>(ceil_div(g.n, s.n));
  const double at_a_time = static_cast<double>(units_used(options)) * s.per_unit;
  return std::ceil(tiles / at_a_time) * s.per_unit * s.m * s.n / rate(variant);
}

/// How a kernel reads A and B.
struct Loads {
  Major a = Major::k;
  Major b = Major::k;
};

/// The loads with which the kernel takes these arrays, or nothing where it does not take them.
std::optional<Loads> loads_of(const KernelInfo& kernel, const GemmArguments& g) {
  if (is_ieee(kernel.variant)) return Loads{};
  const OperandFacts a = facts_of(g.a, g.m, g.as.row, g.as.col, g);
  const OperandFacts b = facts_of(g.b, g.n, g.bs.col, g.bs.row, g);
  constexpr Loads slow{Major::any, Major::any};
  if (kernel.variant == Variant::stream) return a.streams && b.streams ? Loads{} : slow;
  if (a.tile != Major::any && b.tile != Major::any) return Loads{a.tile, b.tile};
  return kernel.any_strides ? std::optional(slow) : std::nullopt;
}

struct Pick {
  Variant variant;
  Loads loads;
};

std::optional<Pick> pick(const GemmArguments& g, Arithmetic arithmetic,
                         const LaunchOptions& options) {
  const bool forced = options.forced >= 0;
  std::optional<Pick> best;
  double best_cost = 0;
  int index = 0;
  for (const KernelInfo& kernel : kernels(arithmetic, g.reduction.kind)) {
    if (forced && options.forced != index++) continue;
    const auto loads = loads_of(kernel, g);
    if (!loads) continue;
    const Pick one{kernel.variant, *loads};
    if (!forced && !may_be_chosen(kernel.variant, options.chip)) continue;
    if (!forced && kernel.variant == Variant::stream) {
      // Where its loads are aligned it is the best by construction: it reads every weight once and
      // in whole cache lines.
      if (g.m <= kStreamRows && loads->a == Major::k) return one;
      continue;
    }
    const double time = cost(kernel.variant, g, options);
    if (best && time >= best_cost) continue;
    best = one;
    best_cost = time;
  }
  return best;
}

Status refusal(Arithmetic arithmetic, const GemmArguments& g, const LaunchOptions& options) {
  const auto list = kernels(arithmetic, g.reduction.kind);
  const auto index = static_cast<std::size_t>(options.forced);
  if (options.forced < 0 || index >= list.size()) {
    return unsupported("forced is " + std::to_string(options.forced) + ": there are " +
                       std::to_string(list.size()) + " kernels for this contract");
  }
  return forced_kernel_refuses(
      list[index].name,
      "it reads A and B in aligned chunks of 16 bytes along K, or of 8 bytes along M or N, and one "
      "of them does not lie so");
}

}  // namespace

std::span<const KernelInfo> kernels(Arithmetic arithmetic, ReductionKind reduction) {
  static const auto chain =
      named(std::array{info(Variant::tile256, false), info(Variant::tile128, false),
                       info(Variant::tile64, true), info(Variant::stream, true)});
  // A tile of 256 x 256 has no registers for a second sum.
  static const auto leaves = named(std::array{
      info(Variant::tile128, false), info(Variant::tile64, true), info(Variant::stream, true)});
  static const auto simt = named(std::array{
      info(Variant::simt64, true), info(Variant::simt16, true), info(Variant::fp32_128, true)});
  if (arithmetic == Arithmetic::ieee_fma) return simt;
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
    default:
      return false;
  }
}

bool may_be_chosen(Variant variant, Chip chip) {
  return variant != Variant::fp32_128 || (DETGEMM_HIP_FP32_MFMA != 0 && has_matrix_kernels(chip));
}

Shape shape_of(Variant variant, bool leaves) {
  switch (variant) {
    case Variant::tile256:
      return {256, 256, gfx9::Tile256::kThreads, 1};
    case Variant::tile128:
      return {128, 128, gfx9::Tile128::kThreads, 2};
    case Variant::tile64:
      return {64, 64, gfx9::Tile64::kThreads, 3};
    case Variant::stream:
      return {gfx9::kStreamBlock, gfx9::kStreamBlock * (leaves ? 1 : gfx9::kStreamWaves),
              gfx9::kStreamWaves * 64, 4};
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

Result<Decision> decide(const GemmArguments& g, Arithmetic arithmetic, DType input,
                        const LaunchOptions& options) {
  const auto best = pick(g, arithmetic, options);
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
  const std::int64_t tiles_m = ceil_div(g.m, d.shape.m);
  const std::int64_t tiles_n = ceil_div(g.n, d.shape.n);
  constexpr std::int64_t kMaxTiles = (std::int64_t{1} << 31) - 1 - kMaxBlocks;
  if (tiles_m > kMaxTiles / tiles_n) {
    return unsupported("d has " + std::to_string(tiles_m) + " x " + std::to_string(tiles_n) +
                       " tiles: this backend counts at most " + std::to_string(kMaxTiles));
  }
  d.blocks = blocks_for(tiles_m * tiles_n, d.shape, waiting_sums(g) > 0, options);
  d.raster.tiles_m = static_cast<int>(tiles_m);
  d.raster.tiles_n = static_cast<int>(tiles_n);
  d.raster.xcds = xcds_of(options);
  // The tiles that one die works on at a time form a patch about as high as it is wide.
  const double together =
      static_cast<double>(units_used(options)) * d.shape.per_unit / d.raster.xcds;
  const double side = std::sqrt(together * d.shape.n / d.shape.m);
  d.raster.group = static_cast<int>(std::clamp<std::int64_t>(std::lround(side), 1, tiles_m));
  return d;
}

std::string name(const Decision& decision) {
  std::string text =
      std::string(name(decision.chip)) + "/" + std::string(name(decision.key.variant));
  if (decision.key.a == Major::any) text += "/any-strides";
  return text;
}

}  // namespace detgemm::hip
