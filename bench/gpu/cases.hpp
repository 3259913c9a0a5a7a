// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/common/problem.hpp"
#include "bench/gpu/options.hpp"

namespace detgemm::bench {

struct Case {
  std::string group;
  Mode mode = Mode::stream;
  Problem problem;
  /// Ours is timed on this one too: the aligned shape of an odd one, bf16 for fp16.
  std::optional<Problem> neighbour{};
};

/// Every problem of the cases, for the pools.
std::vector<Problem> problems_of(const std::vector<Case>& cases);

/// The points the options ask for, in the order they run.
std::vector<Case> cases(const Options& options);

/// How often and how a mode is sampled.
struct Protocol {
  int repetitions = 0;
  double idle_ms = 0;    ///< before each sample
  double sample_us = 0;  ///< work in a graph, at least
  int least_calls = 0;   ///< calls in a graph, at least
  double soak_s = 0;     ///< load before a settled point
  double block_ms = 0;   ///< a settled sample
};
Protocol protocol(const Case& c, const Options& options);

/// Calls in a graph for a problem whose call takes `us`.
int calls_for(const Protocol& p, double us);

/// Seconds, for planning.
double estimate_s(const Case& c, const Options& options);

}  // namespace detgemm::bench
