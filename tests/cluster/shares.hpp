// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "detgemm/cluster.hpp"

namespace detgemm::cluster {

/// Shares with cuts at random leaves; some ranks may have none.
inline Shares random_shares(const GemmSpec& spec, int ranks, std::mt19937_64& random) {
  const std::int64_t leaves = spec.contract.leaves(spec.k);
  std::vector<std::int64_t> cuts{0, leaves};
  for (int r = 1; r < ranks; ++r) {
    cuts.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(leaves + 1)));
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<KRange> ranges;
  for (int r = 0; r < ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    ranges.push_back(*k_of(spec.contract, spec.k, {cuts[i], cuts[i + 1]}));
  }
  return *Shares::of(spec.contract, spec.k, ranges);
}

/// All leaves but a few on the last rank.
inline Shares lopsided(const GemmSpec& spec, int ranks) {
  const std::int64_t leaves = spec.contract.leaves(spec.k);
  std::vector<KRange> ranges;
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t begin = std::min<std::int64_t>(r, leaves);
    const std::int64_t end = r + 1 == ranks ? leaves : std::min<std::int64_t>(r + 1, leaves);
    ranges.push_back(*k_of(spec.contract, spec.k, {begin, end}));
  }
  return *Shares::of(spec.contract, spec.k, ranges);
}

}  // namespace detgemm::cluster
