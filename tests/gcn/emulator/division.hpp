// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>

#include "core/arithmetic/host_device.hpp"

/// The three helpers of AMD's fp32 division sequence, after the pseudo code of AMD's instruction
/// set manuals. With them and fma the compiler's sequence rounds correctly; a test says so.
namespace detgemm::gcn {

inline int exponent_field(float x) { return static_cast<int>(arithmetic::bits_of(x) >> 23 & 255); }
inline bool is_subnormal(float x) { return x != 0 && exponent_field(x) == 0; }

/// v_div_scale_f32(which, denominator, numerator): `which` is one of the two, scaled so that no
/// step of the sequence leaves the normal range. `undo` tells v_div_fmas to scale the quotient.
inline float scaled_for_division(float which, float denominator, float numerator, bool& undo) {
  undo = false;
  const bool same_as_denominator = which == denominator;
  const bool same_as_numerator = which == numerator;
  if (denominator == 0 || numerator == 0) return arithmetic::float_of(0x7fc00000);
  if (exponent_field(numerator) - exponent_field(denominator) >= 96) {
    undo = true;
    return same_as_denominator ? std::ldexp(which, 64) : which;
  }
  if (is_subnormal(denominator)) return std::ldexp(which, 64);
  // The manuals also ask whether 1 / denominator is a subnormal double, which of fp32 it never is.
  const bool small_quotient =
      is_subnormal(static_cast<float>(static_cast<double>(numerator) / denominator));
  if (small_quotient) {
    undo = true;
    return same_as_numerator ? std::ldexp(which, 64) : which;
  }
  if (exponent_field(numerator) <= 23) return std::ldexp(which, 64);
  return which;
}

/// v_div_fmas_f32: fma, with the scale undone where asked for.
inline float fma_undoing_scale(float a, float b, float c, bool undo) {
  if (!undo) return std::fma(a, b, c);
  // Rounded to double and then to fp32, subnormal or not: as one rounding, but within 2^-29 units
  // of a tie, where the sequence's residual does not come.
  const int scale = exponent_field(c) > 127 ? 64 : -64;
  const double exact = std::fma(static_cast<double>(a), static_cast<double>(b), c);
  return static_cast<float>(std::ldexp(exact, scale));
}

/// v_div_fixup_f32(quotient, denominator, numerator): the special cases.
inline float fixed_quotient(float quotient, float denominator, float numerator) {
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const auto with_sign = [&](float x) { return negative ? -std::fabs(x) : std::fabs(x); };
  const float nan = arithmetic::float_of(0x7fc00000);
  const bool infinite = std::isinf(numerator);
  if (numerator != numerator || denominator != denominator) return nan;
  if (numerator == 0 && denominator == 0) return nan;
  if (infinite && std::isinf(denominator)) return nan;
  if (denominator == 0 || infinite) return with_sign(INFINITY);
  if (std::isinf(denominator) || numerator == 0) return with_sign(0.0F);
  if (exponent_field(numerator) - exponent_field(denominator) < -150) return with_sign(0.0F);
  // The sequence meets Inf - Inf where the quotient leaves the range. The manuals name the
  // denominator here, which can have no such exponent in this place; the quotient is what they
  // mean.
  if (exponent_field(quotient) == 255) return with_sign(INFINITY);
  return with_sign(quotient);
}

}  // namespace detgemm::gcn
