// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/simt/choose.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/device_model.hpp"

namespace detgemm::cuda::simt {
namespace {

constexpr const DeviceModel::Simt& model = device_model().simt;
static_assert(model.rates.size() == kTiles.size(), "every tile has a rate, in the order of kTiles");

std::int64_t tiles_of(const Question& q, const Tile& t, bool swapped) {
  return ceil_div(swapped ? q.n : q.m, t.rows()) * ceil_div(swapped ? q.m : q.n, t.cols());
}

/// CTAs that a multiprocessor is expected to hold; where sums wait, shared memory may allow fewer.
int resident(const Tile& t, int shared_bytes) {
  constexpr int kSharedOfAll = 228 * 1024;
  return std::max(1, std::min(t.ctas, kSharedOfAll / (shared_bytes + 1024)));
}

/// Whether two of the last `rest` tiles behind whole rounds are on one multiprocessor, though there
/// is one for each. A launch spreads its CTAs evenly, but those that have a last tile are where
/// they happen to be: 96 to 132 of them took nearly as long as twice as many, 56 and fewer did not.
bool some_meet(std::int64_t rest, int sms) { return rest <= sms && 3 * rest > 2 * sms; }

/// Clocks of the busiest multiprocessor: whole rounds of resident CTAs, and what is left over.
double clocks(const Question& q, int tile, bool swapped, int shared_bytes) {
  const Tile& t = kTiles[static_cast<std::size_t>(tile)];
  const DeviceModel::Rate& rate = model.rates[static_cast<std::size_t>(tile)];
  const int together = resident(t, shared_bytes);
  const std::int64_t round = std::int64_t{q.sms} * together;
  const std::int64_t tiles = tiles_of(q, t, swapped);
  const auto time = [&](std::int64_t ctas) {
    const double per_clock = std::min(rate.full, rate.alone * static_cast<double>(ctas));
    return static_cast<double>(ctas) * t.outputs() * static_cast<double>(q.k) / per_clock +
           model.tile_clocks;
  };
  const std::int64_t rest = tiles % round;
  const std::int64_t rounds = tiles / round;
  double last = rest != 0 ? time(ceil_div(rest, q.sms)) : 0;
  if (rounds != 0 && together > 1 && some_meet(rest, q.sms)) {
    last += model.meet * (time(2) - last);
  }
  const double multiply = static_cast<double>(rounds) * time(together) + last;
  const double bytes = (q.input == DType::fp32 ? 4.0 : 2.0) * static_cast<double>(q.k) *
                       (static_cast<double>(q.m) + static_cast<double>(q.n));
  const double read = bytes / (model.bytes_per_clock * q.sms) + model.tile_clocks;
  // Among equals, the one with less outside D.
  return std::max(multiply, read) + 1e-3 * multiply + 0.01 * static_cast<double>(tiles);
}

/// Whether neighbours in memory are neighbours along k.
bool is_along(std::int64_t line_stride, std::int64_t k_stride) {
  return k_stride == 1 && line_stride != 1;
}

Operand operand(const void* data, std::int64_t lines, std::int64_t line_stride,
                std::int64_t k_stride, const GemmArguments& g, std::int64_t size) {
  Operand o{data, lines, line_stride, k_stride, is_along(line_stride, k_stride), false};
  const std::int64_t run = 16 / size;
  const std::int64_t unit = o.along ? k_stride : line_stride;
  const std::int64_t apart = o.along ? line_stride : k_stride;
  const bool chain = g.reduction.kind == ReductionKind::chain;
  o.vector = unit == 1 && apart % run == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
             // Every leaf begins a slab, and if runs are along k, a slab is where its leaf begins.
             (!o.along || chain || g.reduction.leaf_k % run == 0);
  return o;
}

}  // namespace

double expected_clocks(const Question& q, const Decision& d) {
  return clocks(q, d.kernel, d.swapped, d.shared_bytes);
}

std::string name(const Tile& t) {
  return std::to_string(t.rows()) + "x" + std::to_string(t.cols()) + "x" + std::to_string(t.k) +
         (t.lines ? "-lines" : "");
}

int levels_needed(const Reduction& reduction, std::int64_t k) {
  if (reduction.kind == ReductionKind::chain || k == 0) return 0;
  if (reduction.kind == ReductionKind::fold) return 1;
  return tree_stack_size(leaves_of(k, reduction.leaf_k)) - 1;
}

void ask(const GemmArguments& g, Question& q) {
  q.family = Family::simt;
  q.a_mn = !is_along(g.as.row, g.as.col);
  q.b_mn = !is_along(g.bs.col, g.bs.row);
}

Question usual_question(const GemmSpec& spec, std::int64_t) {
  Question q;
  q.k = spec.k;
  q.reduction = spec.contract.reduction;
  q.family = Family::simt;
  q.input = spec.contract.input;
  return q;
}

namespace {

const char* why_not(const Question& q, int tile) {
  const Tile& t = kTiles[static_cast<std::size_t>(tile)];
  if (!has_tile(q.input, tile)) return "it is compiled for fp32 inputs only";
  if (q.leaves() && q.k > 0 && !t.leaves) return "it computes chains only";
  if (levels_needed(q.reduction, q.k) > levels_of(t)) {
    return "shared memory does not hold the sums of a tree of so many leaves";
  }
  return nullptr;
}

}  // namespace

const char* why_not(const Question& q) { return why_not(q, q.forced); }

Choice choose(const Question& q) {
  const auto shared_of = [&](int kernel) {
    const Tile& t = kTiles[static_cast<std::size_t>(kernel)];
    return ring_bytes(t) + levels_needed(q.reduction, q.k) * waiting_bytes(t);
  };
  const Candidate best = best_of(kernels_for(q, kTileCount), [&](Candidate& c) {
    c.why_not = why_not(q, c.kernel);
    if (c.why_not == nullptr && c.swapped && !kTiles[static_cast<std::size_t>(c.kernel)].lines) {
      c.why_not = "it takes M as its rows";
    }
    if (c.why_not == nullptr) c.time = clocks(q, c.kernel, c.swapped, shared_of(c.kernel));
  });
  Choice choice;
  choice.why_not = best.why_not;
  if (choice.why_not != nullptr) return choice;
  choice.us = best.time / kClocksPerUs;
  const Tile& t = kTiles[static_cast<std::size_t>(best.kernel)];
  Decision& d = choice.decision;
  d.family = Family::simt;
  d.input = q.input;
  d.kernel = best.kernel;
  d.swapped = best.swapped;
  d.x_mn = q.a_mn;
  d.y_mn = q.b_mn;
  d.leaves = q.leaves();
  d.shared_bytes = shared_of(best.kernel);
  d.grid = static_cast<int>(std::min<std::int64_t>(
      tiles_of(q, t, best.swapped), std::int64_t{q.sms} * resident(t, d.shared_bytes)));
  return choice;
}

Params make_params(const GemmArguments& g, const Decision& d) {
  const Tile& t = kTiles[static_cast<std::size_t>(d.kernel)];
  const std::int64_t size = d.input == DType::fp32 ? 4 : 2;
  Params p{};
  p.g = g;
  p.a = operand(g.a, g.m, g.as.row, g.as.col, g, size);
  p.b = operand(g.b, g.n, g.bs.col, g.bs.row, g, size);
  p.swapped = d.swapped;
  if (d.swapped) std::swap(p.a, p.b);
  const bool chain = g.reduction.kind == ReductionKind::chain;
  p.leaf_k = chain ? g.k : g.reduction.leaf_k;
  p.leaves = g.k == 0 ? 0 : leaves_of(g.k, p.leaf_k);
  p.tiles_m = ceil_div(p.a.lines, t.rows());
  p.tiles_n = ceil_div(p.b.lines, t.cols());
  // CTAs that run together form a patch that is nearly square.
  const double width = std::sqrt(static_cast<double>(d.grid) * t.rows() / t.cols());
  p.band = std::clamp<std::int64_t>(std::llround(width), 1, p.tiles_n);
  const std::int64_t run = 4 * (g.output == DType::fp32 ? 4 : 2);  // bytes of 4 outputs
  const bool whole_runs = (g.ds.col == 1 || g.n == 1) && g.ds.row % 4 == 0 &&
                          reinterpret_cast<std::uintptr_t>(g.d) % run == 0;
  p.plain = only_rounds(g.epilogue) && (t.lines ? g.output == DType::fp32 : whole_runs);
  return p;
}

}  // namespace detgemm::cuda::simt
