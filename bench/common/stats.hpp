// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

namespace detgemm::bench {

struct Stats {
  double median = 0, p10 = 0, p90 = 0;
  int samples = 0;

  /// (p90 - p10) / median; 0 without samples.
  double noise() const { return median > 0 ? (p90 - p10) / median : 0; }
};
Stats summarise(std::vector<double> values);

/// The baseline's time over the own one, repetition by repetition: what drifts during a case hits
/// both.
struct Comparison {
  double ratio = 0;          ///< median of the paired ratios; above 1 detgemm is faster
  double low = 0, high = 0;  ///< interval of that median, 95 % where there are enough samples
  std::string verdict;       ///< faster, slower, equal, inconclusive
};

/// An arm whose samples spread more than this, or a ratio known no better, decides nothing.
inline constexpr double kNoisy = 0.10;

Comparison compare_paired(const std::vector<double>& own, const std::vector<double>& baseline);

}  // namespace detgemm::bench
