// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/choose.hpp"

#include <algorithm>
#include <cmath>

#include "hip/reduction_walk.hpp"
#include "hip/simt/tile.hpp"

namespace detgemm::hip {
namespace {

using gfx9::Major;

/// Few enough rows that weights are streamed past them.
constexpr std::int64_t kStreamRows = 32;

/// Offsets inside a tile are 32-bit.
constexpr std::int64_t kMostRowStride = std::int64_t{1} << 22;  // elements; 256 rows of it
constexpr std::int64_t kMostKStride = std::int64_t{1} << 24;    // 32 k of it

/// One launch; workgroups loop over the rest.
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 20;

int units_used(const LaunchOptions& options) {
  const int units = std::max(1, options.units);
  return options.most_units > 0 ? std::min(units, options.most_units) : units;
}

/// Dies that the hardware deals workgroups to in turn: MI300's XCDs have 38 compute units each.
int xcds_of(const LaunchOptions& options) {
  constexpr int kUnitsOfXcd = 38;
  if (options.chip != Chip::gfx942 || options.units % kUnitsOfXcd != 0) return 1;
  return std::max(1, options.units / kUnitsOfXcd);
}

/// Share of the matrix cores' rate that a full tile reaches, by the counts in docs/hip.md. Only
/// the order matters here; no figure is a measurement.
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
  }
  return 1;
}

double cost(Variant variant, const GemmArguments& g, const LaunchOptions& options) {
  const Shape s = shape_of(variant, g.reduction.kind != ReductionKind::chain);
  const auto tiles =
      static_cast<double>(ceil_div(g.m, s.m)) * static_cast<double>(ceil_div(g.n, s.n));
  const double slots = static_cast<double>(units_used(options)) * s.per_unit;
  return std::ceil(tiles / slots) * s.per_unit * s.m * s.n / rate(variant);
}

struct Candidate {
  Variant variant;
  Major a, b;
};

/// The kernel of a family for these arrays, or none.
std::optional<Candidate> candidate(Variant variant, const GemmArguments& g) {
  if (variant == Variant::simt64 || variant == Variant::simt16) {
    return Candidate{variant, Major::k, Major::k};
  }
  const OperandFacts a = facts_of(g.a, g.m, g.as.row, g.as.col, g);
  const OperandFacts b = facts_of(g.b, g.n, g.bs.col, g.bs.row, g);
  if (variant == Variant::stream) {
    const Major major = a.streams && b.streams ? Major::k : Major::any;
    return Candidate{variant, major, major};
  }
  if (a.tile != Major::any && b.tile != Major::any) {
    if (variant == Variant::tile256 && g.reduction.kind != ReductionKind::chain) return {};
    return Candidate{variant, a.tile, b.tile};
  }
  if (variant != Variant::tile64) return {};
  return Candidate{variant, Major::any, Major::any};
}

std::optional<Candidate> pick(const GemmArguments& g, bool portable, const LaunchOptions& options) {
  std::optional<Candidate> best;
  double least = 0;
  for (const Variant variant : {Variant::tile256, Variant::tile128, Variant::tile64,
                                Variant::stream, Variant::simt64, Variant::simt16}) {
    const bool simt = variant == Variant::simt64 || variant == Variant::simt16;
    if (simt != portable) continue;
    if (!options.forced.empty() && options.forced != name(variant)) continue;
    const auto one = candidate(variant, g);
    if (!one) continue;
    if (options.forced.empty() && variant == Variant::stream) {
      // Where it suits it is right by construction: every weight is read once, by whole lines.
      if (g.m <= kStreamRows && one->a == Major::k) return one;
      continue;
    }
    const double time = cost(variant, g, options);
    if (best && time >= least) continue;
    best = one;
    least = time;
  }
  return best;
}

}  // namespace

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
      row_stride <= kMostRowStride) {
    facts.tile = Major::k;
  } else if (row_stride == 1 && rows % 4 == 0 && address % 8 == 0 && k_stride % 4 == 0 &&
             k_stride <= kMostKStride) {
    facts.tile = Major::mn;
  }
  return facts;
}

int blocks_for(std::int64_t tiles, const Shape& shape, bool parks, const LaunchOptions& options) {
  std::int64_t most = kMostBlocks;
  if (parks || options.most_units > 0) {
    most = std::min(most, std::int64_t{units_used(options)} * shape.per_unit);
  }
  return static_cast<int>(std::min(tiles, most));
}

std::int64_t scratch_floats(const Shape& shape, int parked) {
  return std::int64_t{shape.m} * shape.n * parked;
}

std::optional<Decision> choose(const GemmArguments& g, Arithmetic arithmetic, DType input,
                               const LaunchOptions& options) {
  const auto best = pick(g, arithmetic == Arithmetic::ieee_fma, options);
  if (!best) return {};
  Decision d;
  const bool leaves = g.reduction.kind != ReductionKind::chain;
  d.key = {best->variant, input, leaves, best->a, best->b};
  d.shape = shape_of(best->variant, leaves);
  const std::int64_t tiles_m = ceil_div(g.m, d.shape.m);
  const std::int64_t tiles_n = ceil_div(g.n, d.shape.n);
  constexpr std::int64_t kMostTiles = (std::int64_t{1} << 31) - 1 - kMostBlocks;
  if (tiles_m > kMostTiles / tiles_n) return {};
  d.blocks = blocks_for(tiles_m * tiles_n, d.shape, parked_sums(g) > 0, options);
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

}  // namespace detgemm::hip
