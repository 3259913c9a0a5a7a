// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/cost.hpp"

#include <algorithm>
#include <cmath>

#include "hip/choose.hpp"
#include "hip/gfx9/stream_tile.hpp"

namespace detgemm::hip {
namespace {

using gfx9::Major;

// Published figures: AMD's CDNA 2 and CDNA 3 white papers, and their ISA guides.
constexpr double kSimds = 4;
constexpr double kLdsBytes = 128;   // per clock and compute unit
constexpr double kL1Bytes = 64;     // per clock and compute unit
constexpr double kLineBytes = 128;  // of the caches
constexpr double kUnitsOfXcd = 38;  // on gfx942, except where a part is sold with fewer
constexpr double kMi300xUnits = 304;
constexpr double kMi250Units = 104;  // one of the two dies

// Assumptions. No figure here was measured.
constexpr double kLatency = 0.8;        // us from a load to its data, under load
constexpr double kTileLatency = 0.5;    // the same in tiles, whose rows others load too
constexpr double kLaunch = 3.0;         // us from a kernel's launch to its first instruction
constexpr double kGatherLanes = 4;      // lanes per clock of a load whose lanes are in many lines
constexpr double kSwapClocks = 2;       // of shared memory, for a word that 64 lanes exchange
constexpr double kBarrierClocks = 160;  // write, barrier and first read of a shared stage
constexpr double kPhaseClocks = 160;    // lost per 64 products at a phased tile's four barriers
constexpr double kOverlapShare = 0.85;  // where workgroups and waves overlap without phases
constexpr double kTileClocks = 2000;    // a workgroup's start and end, and per 16 outputs:
constexpr double kClocksPer16 = 1;
constexpr double kMemoryShare = 0.92;     // of the memory's rate that streaming reaches
constexpr double kLostShare = 0.1;        // of what is loaded again: no longer in any cache
constexpr double kVectorShare = 0.8;      // of the vector rate, simt-64x64; simt-16x64 half of it
constexpr double kFp32MatrixShare = 1.6;  // of the vector rate too: mfma-fp32 has twice it

/// The unit of the counts below: the clocks or bytes that one workgroup needs for 64 products of
/// each of its outputs.
constexpr double kStep = 64;

struct Demand {
  double matrix = 0;  ///< clocks of the compute unit's 4 SIMDs together
  double lds = 0;     ///< clocks of shared memory
  double l1 = 0;      ///< clocks of loading
  double bytes = 0;   ///< loaded
  double alone = 0;   ///< clocks that one workgroup takes if nothing else is in its way
  double latency = kLatency;
  double flying = 1;  ///< steps of 64 products that it has in flight
};

/// Clocks in which L1 serves `lines` rows of 64 products.
double load_clocks(Major major, double rows) {
  const double bytes = rows * kStep * 2;
  if (major == Major::any) return rows * kStep / kGatherLanes;  // element by element
  // A stage shorter than a line asks for each line more than once.
  const double again = major == Major::k ? std::max(1.0, kLineBytes / (gfx9::kStage * 2)) : 1.0;
  return bytes * again / kL1Bytes;
}

Demand tile_demand(const Candidate& c, const Shape& s, const Machine& at) {
  const double row = kStep * 2;
  Demand d;
  d.matrix = s.m * s.n * kStep / (at.macs * kSimds);
  // Every row is written once and read by the waves beside it.
  d.lds = (s.m + s.n + s.waves_n * s.m + s.waves_m * s.n) * row / at.lds_bytes;
  d.l1 = load_clocks(c.loads.a, s.m) + load_clocks(c.loads.b, s.n);
  d.bytes = (s.m + s.n) * row;
  if (s.phased) {
    d.matrix += kPhaseClocks;
    d.alone = std::max(d.matrix, d.lds);
  } else {
    d.alone = d.matrix + d.lds + kBarrierClocks * kStep / gfx9::kHalf;
  }
  d.flying = gfx9::kHalf / kStep;
  d.latency = kTileLatency;
  return d;
}

Demand stream_demand(const Candidate& c, const Shape& s, const Machine& at) {
  const bool wide = c.variant != Variant::stream;
  const double row = kStep * 2;
  const double waves = s.threads / 64;
  const bool slow = c.loads.b == Major::any;
  // A weight's 16 columns are 16 lines, and so are the 16 rows of A where they are not shared.
  const double gathers = slow ? 16 : gfx9::kStreamSteps;  // per wave, operand and step
  const double gather_clocks = 64 / kGatherLanes;
  Demand d;
  // In the kernel for leaves every wave of `stream` has 16 x 16 outputs of its own leaf: four steps
  // at a time, and each is counted here as one of four parallel ones.
  d.matrix = s.m * s.n * kStep / (at.macs * kSimds);
  if (wide) {
    const double of_wave = s.n / waves;  // columns
    const double blocks = s.n / gfx9::kStreamBlock;
    // Two loads of 16 bytes for four of 8, and of each chunk a lane passes two words on.
    const bool chunks = of_wave > gfx9::kStreamBlock;
    const double loads = chunks ? gfx9::kStreamChunks : gathers;
    d.lds = (1 + waves) * s.m * row / at.lds_bytes;
    if (chunks) d.lds += blocks * loads * 2 * kSwapClocks;
    d.l1 = blocks * loads * gather_clocks + s.m * row / at.l1_bytes;
    d.bytes = (s.m + s.n) * row;
    d.alone = s.m * of_wave * kStep / at.macs + kBarrierClocks;
  } else {
    const double wave_matrix = s.m * gfx9::kStreamBlock * kStep / at.macs;
    d.l1 = 2 * gathers * gather_clocks;
    d.bytes = (s.m + s.n) * row;
    d.alone = (wave_matrix + (slow ? d.l1 : 0)) / waves;
  }
  d.flying = slow ? 1 : (s.depth - 1) * (wide ? 1 : waves);
  return d;
}

Demand simt_demand(const Candidate& c, const Shape& s, const Machine& at) {
  Demand d;
  // All shares are of the whole, so the overlap is not counted again.
  const double share = (c.variant == Variant::fp32_128 ? kFp32MatrixShare
                        : c.variant == Variant::simt64 ? kVectorShare
                                                       : kVectorShare / 2) /
                       kOverlapShare;
  d.matrix = s.m * s.n * kStep / at.vector_macs / share;
  d.bytes = (s.m + s.n) * kStep * 4;
  d.alone = d.matrix;
  d.flying = 4;
  return d;
}

Demand demand_of(const Candidate& c, const Shape& s, const Machine& at) {
  if (is_ieee(c.variant)) return simt_demand(c, s, at);
  return is_stream(c.variant) ? stream_demand(c, s, at) : tile_demand(c, s, at);
}

}  // namespace

int units_used(const LaunchOptions& options) {
  const int units = std::max(1, options.units);
  return options.max_units > 0 ? std::min(units, options.max_units) : units;
}

int xcds_of(const LaunchOptions& options) {
  if (options.xcds > 0) return options.xcds;
  const auto of_xcd = static_cast<int>(kUnitsOfXcd);
  if (options.chip != Chip::gfx942 || options.units % of_xcd != 0) return 1;
  return std::max(1, options.units / of_xcd);
}

Machine machine_of(const LaunchOptions& options) {
  Machine at{};
  at.units = units_used(options);
  at.lds_bytes = kLdsBytes;
  at.l1_bytes = kL1Bytes;
  const double share = std::max(1, options.units);
  if (options.chip == Chip::gfx90a) {
    at.clock = 1700;
    at.macs = 128;
    at.vector_macs = 64;
    at.l2_bytes = 4096;
    at.memory_bytes = 1.6e6 * std::min(1.0, share / kMi250Units);
  } else {
    at.clock = 2100;
    at.macs = 256;
    at.vector_macs = 64;
    at.l2_bytes = 2048 * xcds_of(options);
    at.memory_bytes = 5.3e6 * std::min(1.0, share / kMi300xUnits);
  }
  return at;
}

bool Cost::operator<(const Cost& other) const {
  const auto effort = [](const Cost& c) { return c.matrix + c.lds + c.l1 + c.latency + c.l2; };
  return total != other.total ? total < other.total : effort(*this) < effort(other);
}

std::string_view Cost::limit() const {
  const double longest = std::max({matrix, lds, l1, latency, l2, memory});
  if (longest == memory) return "memory";
  if (longest == matrix) return "matrix";
  if (longest == lds) return "LDS";
  if (longest == l1) return "L1";
  return longest == l2 ? "L2" : "latency";
}

Cost cost_of(const Candidate& c, const GemmArguments& g, const LaunchOptions& options,
             std::int64_t products) {
  const Machine at = machine_of(options);
  const Shape s = shape_of(c.variant, g.reduction.kind != ReductionKind::chain);
  const Demand d = demand_of(c, s, at);
  const auto m = static_cast<double>(g.m);
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  const double steps = std::max(1.0, k / kStep) / c.parts;
  const auto count = static_cast<double>(products);
  const double groups = std::ceil(m / s.m) * std::ceil(n / s.n) * c.parts * count;
  const double rounds = std::ceil(groups / (at.units * s.per_unit));  // one after the other
  const double ends = kTileClocks + kClocksPer16 * s.m * s.n / 16;

  Cost cost;
  cost.launch = kLaunch;
  cost.busiest = std::ceil(groups / at.units);
  const auto of_unit = [&](double clocks) {
    return (cost.busiest * clocks * steps + rounds * ends) / at.clock;
  };
  const double overlap = s.phased ? 1.0 : kOverlapShare;
  cost.matrix = of_unit(d.matrix / overlap);
  cost.lds = of_unit(d.lds / overlap);
  cost.l1 = of_unit(d.l1);
  const double turn = std::max(d.alone, d.latency * at.clock / d.flying);
  cost.latency = rounds * (steps * turn + ends) / at.clock;
  cost.l2 = groups * steps * d.bytes / at.l2_bytes / at.clock;
  const double output = g.output == DType::fp32 ? 4 : 2;
  const double operands = (m + n) * k * (is_ieee(c.variant) ? 4 : 2) * count;
  const double again = std::max(0.0, groups * steps * d.bytes - operands);
  cost.memory =
      (operands + kLostShare * again + m * n * output * count) / (at.memory_bytes * kMemoryShare);
  if (c.parts > 1) {
    // Every root is written and read once more.
    cost.combine = kLaunch + 2 * c.parts * m * n * 4 / (at.memory_bytes * kMemoryShare);
  }
  cost.total = cost.launch + cost.combine +
               std::max({cost.matrix, cost.lds, cost.l1, cost.latency, cost.l2, cost.memory});
  return cost;
}

}  // namespace detgemm::hip
