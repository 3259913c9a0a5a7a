// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/formats.hpp"

namespace detgemm::arithmetic {

/// AMD matrix cores after their published models, not run on AMD hardware.
/// Source: MMA-Sim (arXiv 2511.10909); AMD's note on input and output flushing for gfx90a.
/// Both return +0 for every zero result and the canonical NaN: the sign of a zero accumulator
/// never reaches a nonzero result, so a kernel gets there by adding +0 once at the end.

/// value * 2^shift toward minus infinity (|value| < 2^40, result < 2^63).
DETGEMM_HD std::int64_t shifted_floor(std::int64_t value, int shift) {
  if (shift >= 0) return value << shift;
  return value >> (shift > -63 ? -shift : 63);
}

/// sum * 2^lsb_exponent to nearest even fp32, subnormals kept, overflow to Inf; zero gives +0.
DETGEMM_HD float round_nearest_even(std::int64_t sum, int lsb_exponent) {
  if (sum == 0) return 0.0F;
  const std::uint32_t sign = sum < 0 ? 0x80000000U : 0U;
  const std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int exponent = bit_width(magnitude) - 1 + lsb_exponent;  // of the leading bit
  if (exponent >= 128) return float_of(sign | kInfBits);
  const int last = exponent >= -126 ? exponent - 23 : -149;  // weight of the last fp32 bit
  const int drop = last - lsb_exponent;
  std::uint64_t units = 0;
  if (drop <= 0) {
    units = magnitude << -drop;
  } else if (drop < 63) {
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    units = (magnitude + half - 1 + ((magnitude >> drop) & 1U)) >> drop;
  }
  if (units == 0) return 0.0F;
  // Rounding up to the next binade, or into Inf, carries through the exponent field.
  const std::uint32_t field = exponent >= -126 ? static_cast<std::uint32_t>(exponent + 126) : 0U;
  return float_of(sign | ((field << 23) + static_cast<std::uint32_t>(units)));
}

/// CDNA3 (gfx942), 8 products: the dot product is formed first, without the accumulator.
///
///   p_0 ... p_7      exact; aligned to their own largest exponent Ep, truncated to 24 bits
///    +--+--+    acc  E = max(Ep, exponent of acc); both floored: dot to 32 bits, acc to 24
///       dot  +   |   exact sum, normalised, floored to 31 fraction bits
///          \-----+-> acc', nearest even
template <DType T>
DETGEMM_HD float cdna3_step(const Storage<T>* a, const Storage<T>* b, float acc) {
  constexpr int product_fraction = 2 * Format<T>::fraction_bits;
  const Unpacked c = unpack<DType::fp32>(bits_of(acc));
  bool nan = c.nan;
  bool plus_inf = c.inf && !c.negative;
  bool minus_inf = c.inf && c.negative;
  bool any = false;
  int dot_exponent = 0;
  for (int i = 0; i < 8; ++i) {
    const Unpacked x = unpack<T>(a[i]);
    const Unpacked y = unpack<T>(b[i]);
    nan = nan || x.nan || y.nan || (x.inf && y.zero()) || (x.zero() && y.inf);
    const int exponent = x.exponent + y.exponent;
    // A finite product of 2^128 or more is an Inf: the significands' product is below 2^2.
    const std::uint32_t product = x.significand * y.significand;
    const bool too_large =
        !x.zero() && !y.zero() && bit_width(product) - 1 - product_fraction + exponent >= 128;
    if (x.inf || y.inf || too_large) {
      (x.negative != y.negative ? minus_inf : plus_inf) = true;
    } else if (product != 0 && (!any || exponent > dot_exponent)) {
      any = true;
      dot_exponent = exponent;
    }
  }
  if (nan || (plus_inf && minus_inf)) return float_of(kNaNBits);
  if (plus_inf) return float_of(kInfBits);
  if (minus_inf) return float_of(kInfBits | 0x80000000U);

  std::int64_t dot = 0;  // in units of 2^(dot_exponent - 24)
  for (int i = 0; i < 8; ++i) {
    const Unpacked x = unpack<T>(a[i]);
    const Unpacked y = unpack<T>(b[i]);
    const std::int64_t product = static_cast<std::int64_t>(x.significand) * y.significand;
    if (product == 0) continue;
    const int shift = 24 - product_fraction + x.exponent + y.exponent - dot_exponent;
    const std::int64_t term = shifted_floor(product, shift);
    dot += x.negative != y.negative ? -term : term;
  }
  const int top = any && dot_exponent > c.exponent ? dot_exponent : c.exponent;
  const std::int64_t signed_c = c.negative ? -static_cast<std::int64_t>(c.significand)
                                           : static_cast<std::int64_t>(c.significand);
  const std::int64_t dot_part = any ? shifted_floor(dot, 8 + dot_exponent - top) : 0;
  const std::int64_t acc_part = shifted_floor(signed_c, 1 + c.exponent - top) * 256;
  std::int64_t sum = dot_part + acc_part;  // in units of 2^(top - 32)
  if (sum == 0) return 0.0F;
  const int width = bit_width(static_cast<std::uint64_t>(sum < 0 ? -sum : sum));
  const int exponent = width - 1 + top - 32;
  const int drop = (exponent > -126 ? exponent : -126) - 31 - (top - 32);
  if (drop > 0) sum = shifted_floor(sum, -drop) * (drop < 63 ? std::int64_t{1} << drop : 0);
  return round_nearest_even(sum, top - 32);
}

/// Subnormal to zero, keeping the sign.
DETGEMM_HD float flushed(float value) {
  const std::uint32_t bits = bits_of(value);
  return (bits & kInfBits) == 0 ? float_of(bits & 0x80000000U) : value;
}

/// CDNA2 (gfx90a, the bf16 `_1k` and fp16 instructions), 4 products in fp32 with flush to zero of
/// operands, accumulator and every result:
///
///   acc' = acc + ((p0 + p1) + (p2 + p3))
template <DType T>
DETGEMM_HD float cdna2_step(const Storage<T>* a, const Storage<T>* b, float acc) {
  float p[4];
  for (int i = 0; i < 4; ++i) {
    const Unpacked x = unpack<T>(a[i]);
    const Unpacked y = unpack<T>(b[i]);
    constexpr std::uint32_t hidden = 1U << Format<T>::fraction_bits;
    const bool x_small = !x.inf && !x.nan && x.significand < hidden;  // zero or subnormal
    const bool y_small = !y.inf && !y.nan && y.significand < hidden;
    p[i] = flushed(mul_rn(x_small ? 0.0F : to_float<T>(a[i]), y_small ? 0.0F : to_float<T>(b[i])));
  }
  const float low = flushed(add_rn(p[0], p[1]));
  const float high = flushed(add_rn(p[2], p[3]));
  const float start = add_rn(flushed(acc), 0.0F);
  return canonical(add_rn(flushed(add_rn(start, flushed(add_rn(low, high)))), 0.0F));
}

}  // namespace detgemm::arithmetic
