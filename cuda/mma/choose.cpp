// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/mma/choose.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/device_model.hpp"

namespace detgemm::cuda::mma {
namespace {

constexpr const DeviceModel::Mma& model = device_model().mma;
constexpr int kRegisters = 64 * 1024;
constexpr int kOtherRegisters = 56;  ///< of a thread, besides accumulators and fragments

const Tile& tile_of(int index) { return kTiles[static_cast<std::size_t>(index)]; }

/// CTAs that a multiprocessor is expected to hold.
int resident(const Tile& t, bool leaves) {
  if (!leaves) return t.ctas();
  const int fragments = 2 * (t.warp_m() + t.warp_n()) / 4;
  const int each = 2 * t.accumulators() + fragments + kOtherRegisters;
  return std::clamp(kRegisters / (t.threads() * std::min(each, 255)), 1, t.ctas());
}

/// Columns of D from one tile to the next. Where all tiles run at once, a chain's are as narrow as
/// gives every multiprocessor the same number of tiles.
std::int64_t pitch_of(std::int64_t m, std::int64_t n, const Tile& t, bool leaves, int sms) {
  if (leaves) return t.n;
  const std::int64_t down = ceil_div(m, t.m);
  for (int each = 1; each <= resident(t, leaves); ++each) {
    const std::int64_t across = std::int64_t{sms} * each / down;
    if (across == 0) continue;
    const std::int64_t even = ceil_div(ceil_div(n, across), 8) * 8;
    if (even <= t.n) return std::max<std::int64_t>(even, 8);
  }
  return t.n;
}

/// Fragments of 8 columns that a warp multiplies (Pipeline::run_used).
int fragments_used(const Tile& t, const Question& q, std::int64_t pitch) {
  const int all = t.warp_n() / 8;
  if (q.leaves() || q.a_mn || q.b_mn) return all;
  const int used = static_cast<int>(ceil_div(ceil_div(pitch, 8), std::int64_t{t.warps_n}));
  return std::max({used, all / 2, 1});
}

std::int64_t tiles_of(std::int64_t m, std::int64_t n, const Tile& t, bool leaves, int sms) {
  return ceil_div(m, t.m) * ceil_div(n, pitch_of(m, n, t, leaves, sms));
}

int grid_of(std::int64_t m, std::int64_t n, const Tile& t, bool leaves, int sms) {
  const std::int64_t most = std::int64_t{sms} * resident(t, leaves);
  return static_cast<int>(std::min(tiles_of(m, n, t, leaves, sms), most));
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
  const Tile& t = tile_of(index);
  if (q.input == DType::tf32 && !t.general) return "it computes bf16 and fp16 only";
  if ((q.a_mn || q.b_mn) && !t.general) {
    return "it takes operands that run along k at multiples of 16 bytes";
  }
  return q.leaves() && !t.leaves ? "it computes chains only" : nullptr;
}

}  // namespace

std::string name(const Tile& t) {
  const char* which = t.threads() == 256 ? "-8w" : "";
  for (const Tile& other : kTiles) {
    if (other.m == t.m && other.n == t.n && other.k < t.k && t.k == 128) which = "-k128";
  }
  return "mma/" + std::to_string(t.m) + "x" + std::to_string(t.n) + which;
}

void ask(const GemmArguments& g, Question& q) {
  q.family = Family::mma;
  const int units = units_of(q.input);
  q.a_mn = operand(g.a, g.m, g.as.row, g.as.col, g.k, units).way != Way::along;
  q.b_mn = operand(g.b, g.n, g.bs.col, g.bs.row, g.k, units).way != Way::along;
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
  // Any operation takes arrays that run along k, and every tile takes those.
  g.m = g.n = 64;
  g.as = {8, 1};
  g.bs = {1, 8};
  ask(g, q);
  return q;
}

const char* why_not(const Question& q) { return why_not(q, q.forced); }

double expected_clocks(const Question& q, int index) {
  const Tile& t = tile_of(index);
  const int together = resident(t, q.leaves());
  const std::int64_t tiles = tiles_of(q.m, q.n, t, q.leaves(), q.sms);
  const std::int64_t round = std::int64_t{q.sms} * together;
  const double k = static_cast<double>(q.k);
  const std::int64_t pitch = pitch_of(q.m, q.n, t, q.leaves(), q.sms);
  const auto lines = static_cast<double>(t.m + pitch);
  const int across = fragments_used(t, q, pitch);
  // What an instruction's 16 products of k take: the outputs that are multiplied, bytes that warps
  // read and copies write in shared memory, bytes from L2; alone, a warp's own instructions; and
  // the latency of memory over the stages that are on their way.
  const double products = 16.0 * t.m * (8 * across * t.warps_n) / model.products_per_clock;
  const double read = t.threads() / 32 * (t.warp_m() + 8 * across);
  const double shared = 32 * (read + lines) / model.shared_per_clock;
  const double fill = 32 * lines / model.fill_per_clock;
  const int instructions = t.warp_m() / 16 * across;
  const double alone =
      model.step_clocks + model.issue_clocks * instructions + 16 * model.stage_clocks / t.k;
  const double waited = 16 * model.latency / ((t.stages - 1) * t.k);
  const auto time = [&](std::int64_t ctas) {
    double sum = std::pow(alone, model.sharp) + std::pow(waited, model.sharp);
    for (const double busy : {products, shared, fill}) {
      sum += std::pow(static_cast<double>(ctas) * busy, model.sharp);
    }
    return k / 16 * std::pow(sum, 1 / model.sharp) + model.tile_clocks;
  };
  const std::int64_t rest = tiles % round;
  const double multiply = static_cast<double>(tiles / round) * time(together) +
                          (rest != 0 ? time(ceil_div(rest, q.sms)) : 0);
  const double bytes = 2 * k * (static_cast<double>(q.m) + static_cast<double>(q.n));
  // Among equals, the one with less outside D.
  return std::max(multiply, bytes / (model.read_per_clock * q.sms)) + 1e-3 * multiply +
         model.start_clocks;
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
  choice.us = best.time / kClocksPerUs;
  Decision& d = choice.decision;
  d.family = Family::mma;
  d.input = q.input;
  d.kernel = best.kernel;
  d.leaves = q.leaves();
  d.x_mn = q.a_mn || q.b_mn;
  d.levels = levels_needed(q.reduction, q.k);
  d.across = static_cast<int>(pitch_of(q.m, q.n, tile_of(best.kernel), q.leaves(), q.sms));
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
  const auto count_bytes = [&](Operand& o, int lines) {
    const bool across = o.way == Way::across;
    const int rows = t.threads() / ((across ? lines : t.k) / 8);
    o.step = 2 * rows * (across ? o.k_stride : o.line_stride);
    o.block = 2 * t.k * o.k_stride;
    o.back = o.block - lines * t.k / 8 / t.threads() * o.step;
  };
  count_bytes(p.a, t.m);
  count_bytes(p.b, t.n);
  const std::int64_t leaf_k = d.leaves ? g.reduction.leaf_k : g.k;
  p.k = g.k * units;
  p.leaf_k = leaf_k * units;
  p.leaves = g.k == 0 ? 0 : leaves_of(g.k, leaf_k);
  p.blocks = static_cast<int>(ceil_div(p.k, t.k));
  p.last = static_cast<int>(p.k - (p.blocks - 1) * std::int64_t{t.k});
  p.tiles_m = ceil_div(g.m, t.m);
  p.pitch = d.across;
  p.tiles_n = ceil_div(g.n, p.pitch);
  // CTAs that run together form a patch that is nearly square.
  const double width = std::sqrt(static_cast<double>(d.grid) * t.m / t.n);
  p.band = std::clamp<std::int64_t>(std::llround(width), 1, p.tiles_n);
  const std::uintptr_t run = 4 * (g.output == DType::fp32 ? 4 : 2);  // bytes of 4 outputs
  p.plain = only_rounds(g.epilogue) && g.ds.col == 1 && g.n % 4 == 0 && g.ds.row % 4 == 0 &&
            reinterpret_cast<std::uintptr_t>(g.d) % run == 0;
  p.goes_on = p.plain && !g.continue_from_c;
  p.waiting = static_cast<float4*>(workspace);
  p.levels = d.levels;
  return p;
}

}  // namespace detgemm::cuda::mma
