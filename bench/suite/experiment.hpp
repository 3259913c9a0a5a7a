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
  bool bits = true;     ///< ask every arm for the batch property
  int repetitions = 0;  ///< 0: the protocol's own
  double shrink = 1;    ///< of repetitions, to keep a budget
  /// Which arms of a case run; by CASE/ARM.
  std::function<bool(const std::string&)> wanted = [](const std::string&) { return true; };
};

/// Names of the arms a case has here, detgemm first.
std::vector<std::string> arms_of(const Case& c, const std::vector<Baseline>& baselines,
                                 const Settings& settings);

/// Samples an arm of the case will have.
int repetitions_of(const BenchDevice& device, const Case& c, const Settings& settings);

/// Seconds, for planning.
double estimate_s(const BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
                  const Settings& settings);

/// The one experiment of every device: warms up, times all arms in turn, asks for the batch
/// property, compares.
CaseResult run_case(BenchDevice& device, const Case& c, const std::vector<Baseline>& baselines,
                    const Buffers& buffers, const Ceilings& ceilings, const Settings& settings);

}  // namespace detgemm::bench
