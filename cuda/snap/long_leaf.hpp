// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/snap/leaf.hpp"
#include "cuda/snap/memory.hpp"
#include "cuda/snap/snap.hpp"

/// A leaf of any length, read once for its largest number and once per grid that is tried, with
/// 64-bit sums: core/arithmetic/snap.hpp as it stands, but for the rounding. One vector is shared
/// by the lanes of a `Team`: a warp along k, or one thread across k, whose neighbours have the
/// neighbouring vectors.
namespace detgemm::cuda::snap {

/// The square of a finite number on the grid of `rounder`, 0 for Inf and NaN.
DETGEMM_HD std::uint64_t long_square(std::uint16_t bits, std::uint32_t rounder) {
  if ((bits & 0x7fffU) >= 0x7f80U) return 0;
  const int of = units(low_value(bits), rounder);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(of) * of);
}

/// The grid of what `load(i)` gives, i < count, read once for its largest number and once per grid
/// that is tried.
template <class Team, class Load>
DETGEMM_HD int long_grid(std::int64_t count, Team& team, const Load& load) {
  const std::uint32_t largest = team.max(count, [&](std::int64_t i) {
    const std::uint32_t magnitude = load(i) & 0x7fffU;
    return magnitude < 0x7f80U ? magnitude : 0U;
  });
  int t =
      arithmetic::snap_first_grid(arithmetic::snap_exponent(static_cast<std::uint16_t>(largest)));
  DETGEMM_NO_UNROLL
  for (; t <= arithmetic::kSnapMost; ++t) {
    const std::uint32_t at = rounder_of(t);
    const std::uint64_t sum =
        team.sum(count, [&](std::int64_t i) { return long_square(load(i), at); });
    if (sum <= arithmetic::kSnapLimit) return t;
  }
  return arithmetic::kSnapNone;
}

template <class Team>
DETGEMM_HD void snap_long_leaf(const Operand& o, std::int64_t vector, std::int64_t leaf,
                               Team& team) {
  const std::int64_t begin = leaf * o.leaf;
  const std::int64_t count = o.k - begin < o.leaf ? o.k - begin : o.leaf;
  const std::uint16_t* from = o.from + vector * o.from_vector + begin * o.from_k;
  std::uint16_t* to = o.to + vector * o.to_vector + begin * o.to_k;
  const int t = long_grid(count, team, [&](std::int64_t i) { return from[i * o.from_k]; });
  team.each(count, [&](std::int64_t i) { to[i * o.to_k] = one_on_grid(from[i * o.from_k], t); });
}

}  // namespace detgemm::cuda::snap
