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
  bool is_ours = false;
  std::string contract, digest;  ///< of detgemm
  std::string detail;            ///< kernel or algorithm
  int calls = 0;                 ///< in a replay
  Stats us;                      ///< a call
  std::vector<double> samples;
  std::size_t workspace_bytes = 0;
  /// Row 0 of this batch has the bits it has alone; nothing where there is no such question.
  std::optional<bool> batch_invariant;
  double share_of_limit = 0;  ///< limit_us over the median; 0: no ceiling was measured
};

struct Versus {
  std::string arm, baseline;
  Comparison comparison;
};

struct CaseResult {
  Case what;
  double limit_us = 0;  ///< the larger of bytes over the read ceiling and FLOPs over the MMA one
  std::string limited_by;
  bool settled = true;  ///< the warm-up ended because clocks had settled
  std::vector<ArmResult> arms;
  std::vector<Versus> comparisons;  ///< each of detgemm with each baseline
  std::vector<std::string> notes;   ///< arms that could not run, and why
  Conditions conditions;
};

struct Overheads {
  std::vector<std::pair<std::string, double>> us{};  ///< host microseconds of an operation
  std::vector<std::pair<std::string, double>> bytes{};
};

struct RunResult {
  std::string date, commit, command, version;
  std::string backend;
  bool quick = false;
  std::vector<std::pair<std::string, std::string>> machine;
  std::vector<Baseline> baselines;
  Ceilings ceilings;
  Overheads overheads;
  std::vector<CaseResult> results;
  int not_measured = 0;  ///< cases left when the budget was spent
  int failed = 0;        ///< cases that ended in an error
};

/// The one document of every backend, "schema": 1. Each throws where the file cannot be written.
std::string to_json(const RunResult& run);
std::string to_csv(const RunResult& run);
std::string to_markdown(const RunResult& run);

/// The command that measures one case again.
std::string repro(const RunResult& run, const Case& c);

}  // namespace detgemm::bench
