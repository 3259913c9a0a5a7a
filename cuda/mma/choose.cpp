// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/mma/choose.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/device_model.hpp"

namespace detgemm::cuda::mma {
namespace {

constexpr const DeviceModel::Mma& model = kH200.mma;
constexpr int kRegisters = 64 * 1024;
constexpr int kOtherRegisters = 56;  ///< of a thread, besides accumulators and fragments
/// Of a multiprocessor of 9.0 and 10.x. Where there is less, the CTAs that do not fit run later.
constexpr int kSharedBytes = 227 * 1024;

const Tile& tile_of(int index) { return kTiles[static_cast<std::size_t>(index)]; }

std::int64_t tiles_of(std::int64_t m, std::int64_t n, const Tile& t) {
  return ceil_div(m, t.m) * ceil_div(n, t.n);
}

/// CTAs that a multiprocessor is expected to hold.
int resident(const Tile& t, bool leaves) {
  const int fragments = 2 * (t.warp_m() + t.warp_n()) / 4;
  const int each = t.accumulators() * (leaves ? 2 : 1) + fragments + kOtherRegisters;
  const int by_registers = kRegisters / (t.threads() * std::min(each, 255));
  const int by_shared = kSharedBytes / (t.ring_bytes() + 1024);
  return std::max(1, std::min(by_registers, by_shared));
}

int grid_of(std::int64_t m, std::int64_t n, const Tile& t, bool leaves, int sms) {
  const std::int64_t most = std::int64_t{sms} * resident(t, leaves);
  return static_cast<int>(std::min(tiles_of(m, n, t), most));
}

/// Sums of a tree that wait while a leaf and the newest sum are in registers.
int levels_needed(const Reduction& reduction, std::int64_t k) {
  if (reduction.kind != ReductionKind::tree || k <= 0) return 0;
  return tree_stack_size(leaves_of(k, reduction.leaf_k)) - 1;
}

bool is_at_16_bytes(const void* data, std::int64_t apart) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && apart % 8 == 0;
}

/// Units of 2 bytes per element.
int units_of(DType input) { return input == DType::tf32 ? 2 : 1; }

/// `k`: elements.
Operand operand(const void* data, std::int64_t lines, std::int64_t line_stride,
                std::int64_t k_stride, std::int64_t k, int units) {
  Operand o{static_cast<const std::uint16_t*>(data), lines, line_stride * units, k_stride,
            Way::any};
  if ((k_stride == 1 || k <= 1) && is_at_16_bytes(data, o.line_stride)) {
    o.way = Way::along;
    o.k_stride = 1;
  } else if (units == 1 && (line_stride == 1 || lines <= 1) && is_at_16_bytes(data, k_stride)) {
    o.way = Way::across;  // ldmatrix transposes elements of 2 bytes alone
  }
  return o;
}

const char* why_not(const Question& q, int index) {
  if (q.input == DType::tf32 && !tile_of(index).tf32) return "it computes bf16 and fp16 only";
  return q.leaves() && !tile_of(index).leaves ? "it computes chains only" : nullptr;
}

}  // namespace

std::string name(const Tile& t) { return "mma/" + std::to_string(t.m) + "x" + std::to_string(t.n); }

void ask(const GemmArguments& g, Question& q) {
  q.family = Family::mma;
  const bool one = g.k == 0 || leaves_of(g.k, std::max<std::int64_t>(g.reduction.leaf_k, 1)) == 1;
  if (q.leaves() && (g.k == 0 || (one && !g.continue_from_c))) q.reduction = {};
}

Question usual_question(const GemmSpec& spec, std::int64_t m) {
  Question q;
  q.m = m;
  q.n = spec.n;
  q.k = spec.k;
  q.reduction = spec.contract.reduction;
  q.input = spec.contract.input;
  GemmArguments g;
  g.k = spec.k;
  g.reduction = q.reduction;
  g.continue_from_c = spec.continue_from_c;
  ask(g, q);
  return q;
}

const char* why_not(const Question& q) { return why_not(q, q.forced); }

double expected_clocks(const Question& q, int index) {
  const Tile& t = tile_of(index);
  const int together = resident(t, q.leaves());
  const std::int64_t tiles = tiles_of(q.m, q.n, t);
  const std::int64_t round = std::int64_t{q.sms} * together;
  const double k = static_cast<double>(q.k);
  const auto time = [&](std::int64_t ctas) {
    const double each = static_cast<double>(ctas) * k;
    return std::max({each * t.m * t.n / model.products_per_clock,
                     each * 2 * (t.m + t.n) / model.fill_per_clock, k / 16 * model.step_clocks}) +
           model.tile_clocks;
  };
  const std::int64_t rest = tiles % round;
  const double multiply = static_cast<double>(tiles / round) * time(together) +
                          (rest != 0 ? time(ceil_div(rest, q.sms)) : 0);
  const double bytes = 2 * k * (static_cast<double>(q.m) + static_cast<double>(q.n));
  // Among equals, the one with less outside D.
  return std::max(multiply, bytes / (model.read_per_clock * q.sms)) + 1e-3 * multiply;
}

Choice choose(const Question& q) {
  const Candidate best = best_of(kernels_for(q, kTileCount), [&](Candidate& c) {
    c.why_not = why_not(q, c.kernel);
    if (c.why_not == nullptr && c.swapped) c.why_not = "it takes M as its rows";
    if (c.why_not == nullptr) c.time = expected_clocks(q, c.kernel);
  });
  Choice choice;
  choice.why_not = best.why_not;
  if (choice.why_not != nullptr) return choice;
  Decision& d = choice.decision;
  d.family = Family::mma;
  d.input = q.input;
  d.kernel = best.kernel;
  d.leaves = q.leaves();
  d.levels = levels_needed(q.reduction, q.k);
  d.grid = grid_of(q.m, q.n, tile_of(best.kernel), q.leaves(), q.sms);
  return choice;
}

std::size_t workspace_bytes(const Reduction& reduction, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, int sms) {
  const auto levels = static_cast<std::size_t>(levels_needed(reduction, k));
  std::size_t bytes = 0;
  for (const Tile& t : kTiles) {
    if (!t.leaves || max_m == 0 || n == 0) continue;
    const auto ctas = static_cast<std::size_t>(grid_of(max_m, n, t, true, sms));
    bytes = std::max(bytes, ctas * levels * static_cast<std::size_t>(t.waiting_bytes()));
  }
  return bytes;
}

Params make_params(const GemmArguments& g, const Decision& d, void* workspace) {
  const Tile& t = tile_of(d.kernel);
  Params p;
  p.g = g;
  const int units = units_of(d.input);
  p.a = operand(g.a, g.m, g.as.row, g.as.col, g.k, units);
  p.b = operand(g.b, g.n, g.bs.col, g.bs.row, g.k, units);
  const std::int64_t leaf_k = d.leaves ? g.reduction.leaf_k : g.k;
  p.k = g.k * units;
  p.leaf_k = leaf_k * units;
  p.leaves = g.k == 0 ? 0 : leaves_of(g.k, leaf_k);
  p.tiles_m = ceil_div(g.m, t.m);
  p.tiles_n = ceil_div(g.n, t.n);
  // CTAs that run together form a patch that is nearly square.
  const double width = std::sqrt(static_cast<double>(d.grid) * t.m / t.n);
  p.band = std::clamp<std::int64_t>(std::llround(width), 1, p.tiles_n);
  const std::uintptr_t run = 4 * (g.output == DType::fp32 ? 4 : 2);  // bytes of 4 outputs
  p.plain = only_rounds(g.epilogue) && (g.ds.col == 1 || g.n == 1) && g.ds.row % 4 == 0 &&
            reinterpret_cast<std::uintptr_t>(g.d) % run == 0;
  p.waiting = static_cast<float4*>(workspace);
  p.levels = d.levels;
  return p;
}

}  // namespace detgemm::cuda::mma
