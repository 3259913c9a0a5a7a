// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/formats.hpp"
#include "core/arithmetic/snap.hpp"

namespace detgemm::arithmetic {

// The rule of `snap3` (core/contract/CONTRACT.md, section 3.6), one definition for host and
// devices. A number is split into two bf16 numbers, each on the grid of its leaf, and a leaf of the
// product becomes three leaves of the reduction, each of them a leaf of `snap`:
//
//     a = first + second + what is dropped        first  = snapped(near(a))
//                                                 second = snapped(near(a - first))
//
//     leaf 3i      first  * first                 bare: first, with +0 for NaN and Inf, which the
//     leaf 3i + 1  bare   * second                      first of the three sums has met already
//     leaf 3i + 2  second * bare

inline constexpr int kSnap3Sums = 3;  ///< leaves of the reduction per leaf of K

/// The bf16 number nearest to an fp32 number, ties to even; finite numbers stay finite.
DETGEMM_HD std::uint16_t snap3_near(float value) {
  const std::uint16_t bits = to_bf16(value);
  const bool overflowed = (bits & 0x7fffU) == 0x7f80U && (bits_of(value) & 0x7fffffffU) < kInfBits;
  return overflowed ? static_cast<std::uint16_t>(bits - 1U) : bits;
}

/// +0 in place of NaN and Inf.
DETGEMM_HD std::uint16_t snap3_bare(std::uint16_t bits) {
  return (bits & 0x7fffU) >= 0x7f80U ? std::uint16_t{0} : bits;
}

/// What the first part leaves of a number, as a bf16 number; +0 where the first part is NaN or Inf.
/// The difference is exact: it is a multiple of the number's last bit, and no larger than the
/// number.
DETGEMM_HD std::uint16_t snap3_rest(float value, std::uint16_t first) {
  if ((first & 0x7fffU) >= 0x7f80U) return 0;
  return snap3_near(add_rn(value, -to_float<DType::bf16>(first)));
}

/// The grids of both parts of a leaf; `first` may be kSnapNone, `second` never is.
struct Snap3Grids {
  int first, second;
};

/// Both parts of a number on the grids of its leaf.
struct Snap3Parts {
  std::uint16_t first, bare, second;
};
DETGEMM_HD Snap3Parts snap3_parts(float value, Snap3Grids grids) {
  const std::uint16_t first = snapped(snap3_near(value), grids.first);
  return {first, snap3_bare(first), snapped(snap3_rest(value, first), grids.second)};
}

/// The grids of a leaf: `load(i)` gives number i of `count` in fp32.
template <class Load>
DETGEMM_HD Snap3Grids snap3_grids(std::int64_t count, Load&& load) {
  Snap3Grids grids{};
  grids.first = snap_grid(count, [&](std::int64_t i) { return snap3_near(load(i)); });
  grids.second = snap_grid(count, [&](std::int64_t i) {
    const float value = load(i);
    return snap3_rest(value, snapped(snap3_near(value), grids.first));
  });
  return grids;
}

/// One leaf: `store(i, parts)` gets the parts of number i, for i = 0 .. count - 1.
template <class Load, class Store>
DETGEMM_HD void snap3_leaf(std::int64_t count, Load&& load, Store&& store) {
  const Snap3Grids grids = snap3_grids(count, load);
  for (std::int64_t i = 0; i < count; ++i) store(i, snap3_parts(load(i), grids));
}

/// What an operand has in one of a leaf's three sums: the row of op(A) or the column of op(B).
DETGEMM_HD std::uint16_t snap3_operand(const Snap3Parts& parts, bool of_a, int sum) {
  if (sum == 0) return parts.first;
  return (sum == 1) == of_a ? parts.bare : parts.second;
}
/// The grid that this is on.
DETGEMM_HD int snap3_grid(Snap3Grids grids, bool of_a, int sum) {
  return sum == 0 || (sum == 1) == of_a ? grids.first : grids.second;
}

/// One of a leaf's three sums by its definition: a(i) and b(i) give the operands in fp32, whose
/// grids are known.
template <class LoadA, class LoadB>
DETGEMM_HD float snap3_sum(int sum, std::int64_t count, Snap3Grids ga, Snap3Grids gb, LoadA&& a,
                           LoadB&& b) {
  return snapped_sum(
      count, snap3_grid(ga, true, sum), snap3_grid(gb, false, sum),
      [&](std::int64_t i) { return snap3_operand(snap3_parts(a(i), ga), true, sum); },
      [&](std::int64_t i) { return snap3_operand(snap3_parts(b(i), gb), false, sum); });
}

}  // namespace detgemm::arithmetic
