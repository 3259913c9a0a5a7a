// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/common/stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace detgemm::bench {
namespace {

/// The rank r such that, with chance 95 % or more, the median of what was sampled lies between the
/// r-th smallest and the r-th largest of n samples (binomial, p = 1/2); 0 where even the extremes
/// give less, and then they have to do.
std::size_t rank_of_interval(std::size_t n) {
  double below = 0;  // P(fewer than r + 1 samples fall below the median)
  double term = std::pow(0.5, static_cast<double>(n));
  std::size_t rank = 0;
  for (std::size_t r = 0; r < n / 2; ++r) {
    below += term;
    if (below > 0.025) break;
    rank = r;
    term = term * static_cast<double>(n - r) / static_cast<double>(r + 1);
  }
  return rank;
}

}  // namespace

Stats summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const double median = n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
  return {median, values[n / 10], values[n - 1 - n / 10], static_cast<int>(n)};
}

Comparison compare_paired(const std::vector<double>& own, const std::vector<double>& baseline) {
  const std::size_t n = std::min(own.size(), baseline.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < n; ++i) {
    if (own[i] > 0 && baseline[i] > 0) ratios.push_back(baseline[i] / own[i]);
  }
  Comparison c;
  c.verdict = "inconclusive";
  if (ratios.empty()) return c;
  std::sort(ratios.begin(), ratios.end());
  const std::size_t rank = rank_of_interval(ratios.size());
  c.ratio = summarise(ratios).median;
  c.low = ratios[rank];
  c.high = ratios[ratios.size() - 1 - rank];
  // Two samples or fewer say nothing of how far apart the next ones would be.
  if (ratios.size() < 3 || (c.high - c.low) / c.ratio > kNoisy) return c;
  c.verdict = c.low > 1 ? "faster" : c.high < 1 ? "slower" : "equal";
  return c;
}

}  // namespace detgemm::bench
