// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "hip/launch.hpp"

/// How long a kernel is expected to take: the model by which the chooser chooses. It counts what a
/// kernel asks of a compute unit, of the L2 and of memory, and sets it against published figures
/// and assumptions, all of which are in cost.cpp. Nothing in it was measured: not run on AMD
/// hardware.
namespace detgemm::hip {

/// How a kernel reads A and B.
struct Loads {
  gfx9::Major a = gfx9::Major::k;
  gfx9::Major b = gfx9::Major::k;
};

/// The chip's published figures, scaled to its compute units.
struct Machine {
  double units;
  double clock;         ///< per microsecond
  double macs;          ///< bf16 or fp16 products per clock and SIMD, of 4 per compute unit
  double vector_macs;   ///< fp32 fma per clock and compute unit
  double lds_bytes;     ///< per clock and compute unit
  double l1_bytes;      ///< per clock and compute unit
  double l2_bytes;      ///< per clock, all dies together
  double memory_bytes;  ///< per microsecond
};
Machine machine_of(const LaunchOptions& options);

/// A predicted time, in microseconds, and what it consists of: `launch`, the longest of the others
/// down to `memory`, and `combine`.
struct Cost {
  double total = 0;
  double launch = 0;   ///< the start of a kernel
  double matrix = 0;   ///< matrix (or vector) instructions of the busiest compute unit
  double lds = 0;      ///< shared memory of the busiest compute unit
  double l1 = 0;       ///< loads of the busiest compute unit
  double latency = 0;  ///< rounds of workgroups, each waiting for its own stages
  double l2 = 0;       ///< what all workgroups load
  double memory = 0;   ///< every operand once, and a share of what is loaded again
  double combine = 0;  ///< joining the parts, where K is spread
  double busiest = 0;  ///< workgroups of the busiest compute unit

  /// Shorter, or as long with less of everything that hides behind the longest part.
  bool operator<(const Cost& other) const;
  /// The name of the longest of matrix .. memory.
  std::string_view limit() const;
};

/// A kernel that could run: a family, how it loads, and into how many parts it spreads K.
struct Candidate {
  Variant variant = Variant::tile64;
  Loads loads;
  int parts = 1;
};

/// The predicted time of a problem, or of so many of them in one launch. For one candidate it never
/// falls when m, n or k grow.
Cost cost_of(const Candidate& candidate, const GemmArguments& g, const LaunchOptions& options,
             std::int64_t products = 1);

/// Compute units that may be used.
int units_used(const LaunchOptions& options);

/// Dies that workgroups go to in turn: what the runtime said, or else a guess.
int xcds_of(const LaunchOptions& options);

}  // namespace detgemm::hip
