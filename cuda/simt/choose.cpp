// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/simt/choose.hpp"

#include <algorithm>
#include <cmath>

#include "core/contract/reduction.hpp"

namespace detgemm::cuda::simt {
namespace {

/// Multiply-adds a clock of one multiprocessor, measured on an H200 (docs/simt.md): full of CTAs,
/// and with a single one.
struct Rate {
  double full, alone;
};
constexpr std::array<Rate, kTiles.size()> kRates{{
    {91.5, 51},
    {92, 72},
    {88, 36},
    {79, 49},
    {73, 39},
    {50, 12},
    {18.4, 4.2},
    {18.4, 4.2},
}};
/// What a CTA costs besides its products: the first loads and the epilogue, in clocks.
constexpr double kTileClocks = 2500;

bool can(const GemmArguments& g, DType input, int tile) {
  const Tile& t = kTiles[static_cast<std::size_t>(tile)];
  if (!has_tile(input, tile)) return false;
  if (g.reduction.kind != ReductionKind::chain && g.k > 0 && !t.leaves) return false;
  return levels_needed(g.reduction, g.k) <= levels_of(t);
}

std::int64_t tiles_of(const GemmArguments& g, const Tile& t) {
  return ceil_div(g.m, t.rows()) * ceil_div(g.n, t.cols());
}

/// CTAs a multiprocessor is taken to hold: where leaves park, shared memory may allow fewer.
int resident(const Tile& t, int shared_bytes) {
  constexpr int kSharedOfAll = 164 * 1024;
  return std::max(1, std::min(t.ctas, kSharedOfAll / (shared_bytes + 1024)));
}

/// Clocks of the busiest multiprocessor: whole rounds of resident CTAs, and what is left over.
double clocks(const GemmArguments& g, int tile, int sms, int shared_bytes) {
  const Tile& t = kTiles[static_cast<std::size_t>(tile)];
  const Rate& rate = kRates[static_cast<std::size_t>(tile)];
  const int together = resident(t, shared_bytes);
  const std::int64_t a_round = std::int64_t{sms} * together;
  const std::int64_t tiles = tiles_of(g, t);
  const auto time = [&](std::int64_t ctas) {
    const double per_clock = std::min(rate.full, rate.alone * static_cast<double>(ctas));
    return static_cast<double>(ctas) * t.outputs() * static_cast<double>(g.k) / per_clock +
           kTileClocks;
  };
  const std::int64_t rest = tiles % a_round;
  return static_cast<double>(tiles / a_round) * time(together) +
         (rest != 0 ? time(ceil_div(rest, sms)) : 0) +
         0.01 * static_cast<double>(tiles);  // of equals the one with less outside D
}

Operand operand(const void* data, std::int64_t lines, std::int64_t line_stride,
                std::int64_t k_stride, const GemmArguments& g, std::int64_t size) {
  Operand o{data, lines, line_stride, k_stride, k_stride == 1 && line_stride != 1, false};
  const std::int64_t run = 16 / size;
  const std::int64_t unit = o.along ? k_stride : line_stride;
  const std::int64_t apart = o.along ? line_stride : k_stride;
  const bool chain = g.reduction.kind == ReductionKind::chain;
  o.vector = unit == 1 && apart % run == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
             // Every leaf begins a slab, and a slab of runs along k lies where its leaf begins.
             (!o.along || chain || g.reduction.leaf_k % run == 0);
  return o;
}

}  // namespace

std::string name(const Tile& t) {
  return std::to_string(t.rows()) + "x" + std::to_string(t.cols()) + "x" + std::to_string(t.k);
}

int levels_needed(const Reduction& reduction, std::int64_t k) {
  if (reduction.kind == ReductionKind::chain || k == 0) return 0;
  if (reduction.kind == ReductionKind::fold) return 1;
  return tree_stack_size(leaves_of(k, reduction.leaf_k)) - 1;
}

Decision choose(const GemmArguments& g, DType input, int sms, int forced) {
  Decision best;
  double least = 0;
  for (int i = 0; i < kTileCount; ++i) {
    if ((forced >= 0 && i != forced) || !can(g, input, i)) continue;
    const Tile& t = kTiles[static_cast<std::size_t>(i)];
    const int shared = ring_bytes(t) + levels_needed(g.reduction, g.k) * park_bytes(t);
    const double took = clocks(g, i, sms, shared);
    if (best.ok && took >= least) continue;
    least = took;
    best.ok = true;
    best.tile = i;
    best.shared_bytes = shared;
    best.grid = static_cast<int>(
        std::min<std::int64_t>(tiles_of(g, t), std::int64_t{sms} * resident(t, shared)));
  }
  return best;
}

Params make_params(const GemmArguments& g, DType input, const Decision& d) {
  const Tile& t = kTiles[static_cast<std::size_t>(d.tile)];
  const std::int64_t size = input == DType::fp32 ? 4 : 2;
  Params p{};
  p.g = g;
  p.a = operand(g.a, g.m, g.as.row, g.as.col, g, size);
  p.b = operand(g.b, g.n, g.bs.col, g.bs.row, g, size);
  const bool chain = g.reduction.kind == ReductionKind::chain;
  p.leaf_k = chain ? g.k : g.reduction.leaf_k;
  p.leaves = g.k == 0 ? 0 : leaves_of(g.k, p.leaf_k);
  p.tiles_m = ceil_div(g.m, t.rows());
  p.tiles_n = ceil_div(g.n, t.cols());
  // CTAs that run together form a patch that is nearly square.
  const double width = std::sqrt(static_cast<double>(d.grid) * t.rows() / t.cols());
  p.band = std::clamp<std::int64_t>(std::llround(width), 1, p.tiles_n);
  const std::int64_t run = 4 * (g.output == DType::fp32 ? 4 : 2);  // bytes of 4 outputs
  p.plain = only_rounds(g.epilogue) && (g.ds.col == 1 || g.n == 1) && g.ds.row % 4 == 0 &&
            reinterpret_cast<std::uintptr_t>(g.d) % run == 0;
  return p;
}

}  // namespace detgemm::cuda::simt
