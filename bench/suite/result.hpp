// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/suite/device.hpp"

namespace detgemm::bench {

struct ArmResult {
  std::string name;
  Role role = Role::baseline;
  std::string contract, digest, stable;  ///< of detgemm ...
  std::string variant;                   ///< ... and the kernel that was forced; empty: chosen
  std::string detail;                    ///< kernel or algorithm
  int calls = 0;                         ///< in a replay
  Stats us;                              ///< per call
  std::vector<double> samples;
  std::size_t workspace_bytes = 0;
  /// Row 0 of this batch has the bits it has alone; nothing where there is no such question.
  std::optional<bool> batch_invariant;
  std::optional<BitsCheck> bits;  ///< nothing where bits were not compared
  double sm_mhz = 0;              ///< median over the samples; 0: the device has no such clock
  double share_of_limit = 0;      ///< limit_us over the median; 0: no ceiling was measured
};

struct Versus {
  std::string arm, baseline;
  Comparison comparison;
};

struct CaseResult {
  Case what;
  double limit_us = 0;  ///< the larger of bytes over the read ceiling and FLOPs over the MMA one
  std::string limited_by;
  bool wrong_bits = false;  ///< an arm of detgemm did not compute its contract's bits
  bool arm_failed = false;  ///< an arm of detgemm that the backend computes ended in an error
  bool settled = true;      ///< the warm-up ended because clocks had settled
  std::vector<ArmResult> arms;
  std::vector<Versus> comparisons;  ///< each of detgemm with each baseline
  std::vector<std::string> notes;   ///< arms that could not run, and why
  Conditions conditions;
};

/// Where the time of an arm falls when M grows.
struct Fall {
  Case what;  ///< a case of the curve: all are the same but for M
  std::string arm;
  Role role = Role::detgemm;
  int points = 0;    ///< of the curve
  double ratio = 0;  ///< us over later_us; at most 1: it never falls
  std::int64_t m = 0, later_m = 0;
  double us = 0, later_us = 0;
  bool certain = false;  ///< p10 at m is above p90 at later_m
};

struct Overheads {
  std::vector<std::pair<std::string, double>> us{};  ///< host microseconds of an operation: median
  std::vector<std::pair<std::string, double>> us_p90{};
  std::vector<std::pair<std::string, double>> bytes{};
};

struct RunResult {
  std::string date, commit, command, version;
  std::string backend;
  bool quick = false;
  int ranks = 0;                      ///< that K is spread over; 0: it is not
  std::optional<std::uint64_t> seed;  ///< of what was drawn
  std::vector<std::pair<std::string, std::string>> machine;
  std::vector<Baseline> baselines;
  Ceilings ceilings;
  Overheads overheads;
  std::vector<CaseResult> results;
  std::vector<Fall> falls;
  int not_measured = 0;  ///< cases left when the budget was spent
  int failed = 0;        ///< cases in which detgemm ended in an error or had wrong bits
};

/// The one document of every backend, "schema": 2 (docs/benchmarks.md). Each throws where the file
/// cannot be written.
std::string to_json(const RunResult& run);
std::string to_csv(const RunResult& run);
std::string to_markdown(const RunResult& run);

/// The command that measures one case again.
std::string repro(const RunResult& run, const Case& c);

}  // namespace detgemm::bench
