// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/suite/result.hpp"

namespace detgemm::bench {

struct Settings {
  bool quick = false;
  bool batch_property = true;  ///< ask every arm for it
  bool check_bits = false;     ///< recompute a part of every D
  int repetitions = 0;         ///< 0: the protocol's own
  double shrink = 1;           ///< of repetitions, to keep a budget
  /// Which arms of a case run; by CASE/ARM.
  std::function<bool(const std::string&)> wanted = [](const std::string&) { return true; };
};

/// Names of the arms that a case has here, detgemm first.
std::vector<std::string> arms_of(const Case& c, const std::vector<Baseline>& baselines,
                                 const Settings& settings);

/// Whether a baseline belongs to a case.
bool is_timed(const Case& c, const Baseline& baseline);

/// The maximum number of calls in a replay.
inline constexpr int kMaxCalls = 256;

/// How the arms of a case are sampled: the device's protocol, the case's own limits, a budget.
Protocol protocol_of(const BenchDevice& device, const Case& c, const Settings& settings);

/// Seconds, for planning.
double estimate_s(const BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
                  const Settings& settings);

/// The one experiment of every device: asks for the batch property and, where that is wanted,
/// checks bits; warms up, times all arms in turn, compares.
CaseResult run_case(BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
                    const Buffers& buffers, const Ceilings& ceilings, const Settings& settings);

}  // namespace detgemm::bench
