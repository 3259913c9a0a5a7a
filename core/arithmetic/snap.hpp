// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/host_device.hpp"

namespace detgemm::arithmetic {

// The rule of `snap` (core/contract/CONTRACT.md, section 3.5), one definition for host and devices,
// in integers alone. A leaf of one row of op(A), or of one column of op(B), has a grid 2^t: the
// finest one on which the squares of its numbers, in units of the grid, add up to at most 2^24.
// Every number is rounded to the grid and is then still a bf16 number.
//
//   t = kSnapLeast .. kSnapMost        for one leaf of n numbers a_0 .. a_(n-1):
//   first = snap_first_grid(max of snap_exponent(a_i))
//   t = the first of first, first + 1, ... with sum of snap_square(a_i, t) <= kSnapLimit
//   a_i becomes snapped(a_i, t); with no such t, kSnapNone, every a_i becomes NaN
//
// A parallel kernel computes the maximum and the sums in any order: both are exact.

inline constexpr int kSnapLeast = -62;    ///< products are multiples of 2^-124
inline constexpr int kSnapMost = 51;      ///< sums of a leaf are at most 2^126
inline constexpr int kSnapNone = 52;      ///< the "grid" of a leaf that has none
inline constexpr int kSnapZero = -1000;   ///< the exponent of what takes no part in the search
inline constexpr int kSnapMultiple = 64;  ///< leaves are multiples of this many products
inline constexpr std::uint64_t kSnapLimit = std::uint64_t{1} << 24;

/// The exponent e of a finite bf16 number 2^e <= |a| < 2^(e+1), or kSnapZero for zeros, Inf, NaN.
/// A subnormal one counts as 2^-126, which is below every grid's half.
DETGEMM_HD int snap_exponent(std::uint16_t bits) {
  const int field = (bits >> 7) & 0xff;
  if (field == 0xff || (bits & 0x7fffU) == 0) return kSnapZero;
  return (field == 0 ? 1 : field) - 127;
}

/// No finer grid than this can be the leaf's: there its largest number alone is at least 2^13 units
/// of it, whose square is beyond the limit.
DETGEMM_HD int snap_first_grid(int max_exponent) {
  return max_exponent - 12 > kSnapLeast ? max_exponent - 12 : kSnapLeast;
}

/// |a| in units of 2^t, rounded to nearest even; 0 for Inf and NaN. Precondition: t is at least
/// snap_first_grid of an exponent that is not below a's. The result is then at most 2^13.
DETGEMM_HD std::uint32_t snap_units(std::uint16_t bits, int t) {
  const std::uint32_t field = (bits >> 7) & 0xffU;
  if (field == 0xffU) return 0;
  const std::uint32_t significand = (bits & 0x7fU) | (field != 0 ? 0x80U : 0U);
  // |a| = significand * 2^(exponent - 7)
  const int drop = t + 7 + 127 - static_cast<int>(field != 0 ? field : 1U);
  if (drop <= 0) return significand << (drop > -6 ? -drop : 5);
  if (drop > 8) return 0;  // less than half a unit: 255 / 512
  const std::uint32_t half = 1U << (drop - 1);
  return (significand + half - 1U + ((significand >> drop) & 1U)) >> drop;
}

/// Its square, what a leaf's sum is made of. At most 2^26, so 2^31 of them fit 64 bits.
DETGEMM_HD std::uint64_t snap_square(std::uint16_t bits, int t) {
  const std::uint64_t units = snap_units(bits, t);
  return units * units;
}

/// `bits` rounded to the grid 2^t of its leaf: a bf16 number, +0 for zeros. Inf stays, NaN becomes
/// 7fff, and with t = kSnapNone everything does.
DETGEMM_HD std::uint16_t snapped(std::uint16_t bits, int t) {
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (t >= kSnapNone || magnitude > 0x7f80U) return 0x7fff;
  if (magnitude == 0x7f80U) return bits;
  const std::uint32_t units = snap_units(bits, t);
  if (units == 0) return 0;
  // The leading bit's place gives the exponent; at most 8 bits are left below and with it.
  const int top = bit_width(units) - 1;
  const std::uint32_t fraction = top >= 7 ? units >> (top - 7) : units << (7 - top);
  const std::uint32_t sign = bits & 0x8000U;
  return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(t + top + 127) << 7) |
                                    (fraction & 0x7fU));
}

/// The grid of a leaf, one number after the other: `load(i)` gives number i of `count`.
template <class Load>
DETGEMM_HD int snap_grid(std::int64_t count, Load&& load) {
  int most = kSnapZero;
  for (std::int64_t i = 0; i < count; ++i) {
    const int exponent = snap_exponent(load(i));
    if (exponent > most) most = exponent;
  }
  for (int t = snap_first_grid(most); t <= kSnapMost; ++t) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += snap_square(load(i), t);
    if (sum <= kSnapLimit) return t;
  }
  return kSnapNone;
}

/// One leaf: `store(i, bits)` gets number i snapped, for i = 0 .. count - 1.
template <class Load, class Store>
DETGEMM_HD void snap_leaf(std::int64_t count, Load&& load, Store&& store) {
  const int t = snap_grid(count, load);
  for (std::int64_t i = 0; i < count; ++i) store(i, snapped(load(i), t));
}

/// The sum of the products of one leaf on the grids 2^ta and 2^tb, of integers in units of both.
/// a(i) and b(i) give the snapped operands, for i = 0 .. count - 1.
template <class LoadA, class LoadB>
DETGEMM_HD float snapped_sum(std::int64_t count, int ta, int tb, LoadA&& a, LoadB&& b) {
  std::int64_t sum = 0;  // |sum| <= 2^24
  bool nan = false;
  bool infinite[2] = {false, false};  // +Inf, -Inf
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t x = a(i);
    const std::uint16_t y = b(i);
    const std::uint32_t high = x & 0x7fffU;
    const std::uint32_t wide = y & 0x7fffU;
    const bool negative = ((x ^ y) & 0x8000U) != 0;
    if (high >= 0x7f80U || wide >= 0x7f80U) {
      nan |= high > 0x7f80U || wide > 0x7f80U || high == 0 || wide == 0;
      infinite[negative] = true;
      continue;
    }
    const std::int64_t product = static_cast<std::int64_t>(snap_units(x, ta)) * snap_units(y, tb);
    sum += negative ? -product : product;
  }
  if (nan || (infinite[0] && infinite[1])) return float_of(kNaNBits);
  if (infinite[0] || infinite[1]) return float_of(kInfBits | (infinite[1] ? 0x80000000U : 0U));
  // The power of two is an fp32 number from 2^-124 to 2^103, so the product is exact.
  return mul_rn(static_cast<float>(sum), float_of(static_cast<std::uint32_t>(ta + tb + 127) << 23));
}

/// The same by its definition: a(i) and b(i) give the operands, not snapped yet.
template <class LoadA, class LoadB>
DETGEMM_HD float snap_sum(std::int64_t count, LoadA&& a, LoadB&& b) {
  const int ta = snap_grid(count, a);
  const int tb = snap_grid(count, b);
  return snapped_sum(
      count, ta, tb, [&](std::int64_t i) { return snapped(a(i), ta); },
      [&](std::int64_t i) { return snapped(b(i), tb); });
}

/// Whether two bf16 words hold the same value: zeros of both signs are one, and so are all NaN.
/// What is snapped already has, in every word, the value that snapping would give it.
DETGEMM_HD bool same_bf16_value(std::uint16_t x, std::uint16_t y) {
  if (x == y || ((x | y) & 0x7fffU) == 0) return true;
  return (x & 0x7fffU) > 0x7f80U && (y & 0x7fffU) > 0x7f80U;
}

}  // namespace detgemm::arithmetic
