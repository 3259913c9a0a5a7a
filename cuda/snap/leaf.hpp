// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/snap.hpp"

/// The rule of core/arithmetic/snap.hpp in few instructions, for words of two bf16 numbers.
///
/// Adding 1.5 * 2^(23 + t) to a number rounds it to a multiple of 2^t, to nearest even: there the
/// numbers of fp32 are 2^t apart. The bits of the sum count the multiples, and subtracting again
/// gives the rounded number, +0 for zeros.
///
///     bits    0x4b400000 + x  in the exponent of 2^(23 + t)      x = RNE(a / 2^t), |x| < 2^22
///
/// A test on the host compares every function here with the rule over all patterns
/// (tests/cuda/snap/leaf_test.cpp).
namespace detgemm::cuda::snap {

/// Leaves of up to this many numbers are snapped from registers, with 32-bit sums.
inline constexpr int kShortLeaf = 1024;

/// Without signs.
DETGEMM_HD std::uint32_t magnitudes(std::uint32_t word) { return word & 0x7fff7fffU; }

/// The larger one of the lower halves, and that of the upper halves.
DETGEMM_HD std::uint32_t larger(std::uint32_t x, std::uint32_t y) {
#if defined(__CUDA_ARCH__)
  return __vmaxu2(x, y);
#else
  const std::uint32_t low = (x & 0xffffU) > (y & 0xffffU) ? x & 0xffffU : y & 0xffffU;
  const std::uint32_t high = x >> 16 > y >> 16 ? x >> 16 : y >> 16;
  return low | high << 16;
#endif
}
/// The larger half.
DETGEMM_HD std::uint32_t larger_half(std::uint32_t word) {
  return (word & 0xffffU) > word >> 16 ? word & 0xffffU : word >> 16;
}

/// The bits 15 and 31, where a half is Inf or NaN.
DETGEMM_HD std::uint32_t special_halves(std::uint32_t word) {
  return (magnitudes(word) + 0x00800080U) & 0x80008000U;
}
/// The word with +0 in place of Inf and NaN.
DETGEMM_HD std::uint32_t finite_part(std::uint32_t word) {
  const std::uint32_t flags = special_halves(word);
  return word & ~((flags >> 15) * 0xffffU);
}

DETGEMM_HD float low_value(std::uint32_t word) { return arithmetic::float_of(word << 16); }
DETGEMM_HD float high_value(std::uint32_t word) { return arithmetic::float_of(word & 0xffff0000U); }

/// The bits of 1.5 * 2^(23 + t). Precondition: -149 <= t <= 104.
DETGEMM_HD std::uint32_t rounder_of(int t) {
  return static_cast<std::uint32_t>(150 + t) << 23 | 0x00400000U;
}

/// A finite number in units of the rounder's grid, rounded. Precondition: below 2^22 of them.
DETGEMM_HD int units(float value, std::uint32_t rounder) {
  const float sum = arithmetic::add_rn(value, arithmetic::float_of(rounder));
  return static_cast<int>(arithmetic::bits_of(sum) - rounder);
}
/// Squares of both halves, of at most 2^13 units each: the sum of two fits 32 bits.
DETGEMM_HD std::uint32_t squares(std::uint32_t word, std::uint32_t rounder) {
  const auto low = static_cast<std::uint32_t>(units(low_value(word), rounder));
  const auto high = static_cast<std::uint32_t>(units(high_value(word), rounder));
  return low * low + high * high;
}

DETGEMM_HD std::uint32_t rounded(float value, std::uint32_t rounder) {
  const float at = arithmetic::float_of(rounder);
  return arithmetic::bits_of(arithmetic::add_rn(arithmetic::add_rn(value, at), -at));
}
/// Both halves on the grid 2^t. Precondition: they are finite.
DETGEMM_HD std::uint32_t on_grid(std::uint32_t word, int t) {
  if (t >= arithmetic::kSnapNone) return 0x7fff7fffU;
  const std::uint32_t low = rounded(low_value(word), rounder_of(t));
  const std::uint32_t high = rounded(high_value(word), rounder_of(t));
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, 0x7632);
#else
  return low >> 16 | (high & 0xffff0000U);
#endif
}

// The search for the grid of a leaf of n <= kShortLeaf numbers takes two sums. In units of a grid,
// |x| is within sqrt(n) / 2 <= 16 of the norm that the numbers have before they are rounded, so one
// sum says where the norm reaches 2^12, to within a factor below two.
//
//   largest -> begins_at -> t0     the largest number is 2^8 .. 2^9 units, or t0 is the least grid
//   S(t0)   -> narrowed  -> t1     the grid is t1 or t1 + 1:
//   S(t1)   -> decided   -> t      t1 if S(t1) is at most 2^24
//
// Why: let s = sqrt(S(t0)) >= 2^8, and u = t1 - t0 >= -4. If t0 + u can be the grid, its own root
// is at most 4096, so s 2^-u <= 4096 + 16 + 16 2^-u <= 4096 * 1.0664, and S(t0) <= 1.1373 *
// 2^(24 + 2u). Hence 7/8 S(t0) <= 2^(24 + 2u), and t1 is the least grid for which this holds. There
// S(t1) <= (4096 sqrt(8/7) + 16 * 16 + 16)^2 < 2^25, and with one more the root is below 2340.

/// What begins_at says where no grid can be found. t0 itself may be beyond kSnapMost: t1 is less.
inline constexpr int kHopeless = 1000;

/// Where the search begins: t0, or kHopeless. `largest`: the magnitude of
/// the leaf's largest finite number, as a bf16 pattern.
DETGEMM_HD int begins_at(std::uint32_t largest) {
  const int exponent = static_cast<int>(largest >> 7) - 127;
  if (exponent - 12 > arithmetic::kSnapMost) return kHopeless;
  return exponent - 8 > arithmetic::kSnapLeast ? exponent - 8 : arithmetic::kSnapLeast;
}
/// t1. `sum`: S(t0), at most 2^18 * 1024.
DETGEMM_HD int narrowed(int t0, std::uint32_t sum) {
  const std::uint32_t less = sum - sum / 8;
  const int width = less == 0 ? 0 : arithmetic::bit_width(less - 1U);  // of log2, rounded up
  const int t1 = t0 + ((width - 23) >> 1);
  return t1 > arithmetic::kSnapLeast ? t1 : arithmetic::kSnapLeast;
}
/// The grid, or kSnapNone. `sum`: S(t1).
DETGEMM_HD int decided(int t1, std::uint32_t sum) {
  const int t = t1 + (sum > arithmetic::kSnapLimit ? 1 : 0);
  return t > arithmetic::kSnapMost ? arithmetic::kSnapNone : t;
}

}  // namespace detgemm::cuda::snap
