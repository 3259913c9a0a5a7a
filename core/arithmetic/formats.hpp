// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"
#include "detgemm/types.hpp"

namespace detgemm::arithmetic {

/// A number taken apart: (-1)^negative * significand * 2^(exponent - fraction_bits), where
/// fraction_bits belongs to the format. Subnormals have the format's minimal exponent and no
/// hidden bit; zeros have significand 0.
struct Unpacked {
  std::uint32_t significand;
  int exponent;
  bool negative;
  bool inf;
  bool nan;

  DETGEMM_HD bool zero() const { return significand == 0 && !inf && !nan; }
};

/// Sizes of the formats (OCP FP8, IEEE 754, bfloat16). tf32 is an fp32 container whose low 13
/// bits are dropped.
template <DType T>
struct Format;
template <>
struct Format<DType::bf16> {
  using Storage = std::uint16_t;
  static constexpr int exponent_bits = 8, fraction_bits = 7, dropped_bits = 0;
};
template <>
struct Format<DType::fp16> {
  using Storage = std::uint16_t;
  static constexpr int exponent_bits = 5, fraction_bits = 10, dropped_bits = 0;
};
template <>
struct Format<DType::fp32> {
  using Storage = std::uint32_t;
  static constexpr int exponent_bits = 8, fraction_bits = 23, dropped_bits = 0;
};
template <>
struct Format<DType::tf32> {
  using Storage = std::uint32_t;
  static constexpr int exponent_bits = 8, fraction_bits = 10, dropped_bits = 13;
};
template <>
struct Format<DType::e4m3> {
  using Storage = std::uint8_t;
  static constexpr int exponent_bits = 4, fraction_bits = 3, dropped_bits = 0;
};
template <>
struct Format<DType::e5m2> {
  using Storage = std::uint8_t;
  static constexpr int exponent_bits = 5, fraction_bits = 2, dropped_bits = 0;
};

template <DType T>
using Storage = typename Format<T>::Storage;

/// Takes a raw element apart.
template <DType T>
DETGEMM_HD Unpacked unpack(Storage<T> raw) {
  using F = Format<T>;
  constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
  constexpr std::uint32_t top = (1U << F::exponent_bits) - 1;
  const std::uint32_t bits = static_cast<std::uint32_t>(raw) >> F::dropped_bits;
  const std::uint32_t fraction = bits & ((1U << F::fraction_bits) - 1);
  const std::uint32_t field = (bits >> F::fraction_bits) & top;
  Unpacked u{};
  u.negative = ((bits >> (F::fraction_bits + F::exponent_bits)) & 1U) != 0;
  if (T == DType::e4m3) {  // no Inf; only S.1111.111 is NaN
    u.nan = field == top && fraction == (1U << F::fraction_bits) - 1;
  } else if (field == top) {
    // tf32 drops the payload's low bits too: what is left decides (measured on an H200).
    u.nan = fraction != 0;
    u.inf = fraction == 0;
  }
  u.significand = (u.nan || u.inf) ? 0 : fraction | (field != 0 ? 1U << F::fraction_bits : 0U);
  u.exponent = static_cast<int>(field != 0 ? field : 1U) - bias;
  return u;
}

/// The exact fp32 value of an element (NaN becomes canonical). tf32 drops its low bits.
template <DType T>
DETGEMM_HD float to_float(Storage<T> raw) {
  using F = Format<T>;
  if constexpr (T == DType::fp32) {
    return canonical(float_of(raw));
  } else if constexpr (T == DType::bf16) {
    return canonical(float_of(static_cast<std::uint32_t>(raw) << 16));
  } else {
    const Unpacked u = unpack<T>(raw);
    if (u.nan) return float_of(kNaNBits);
    if (u.inf) return float_of(kInfBits | (u.negative ? 0x80000000U : 0U));
    // significand * 2^(exponent - fraction_bits) is a normal fp32 number in every narrow format;
    // the power of two is built from its exponent field.
    const std::uint32_t sign = u.negative ? 0x80000000U : 0U;
    const int scale = u.exponent - F::fraction_bits;
    float value = static_cast<float>(u.significand);
    if (scale < -126) {  // tf32 only: two exact steps
      value = mul_rn(value, float_of(static_cast<std::uint32_t>(127 - 64) << 23));
      return float_of(
          bits_of(mul_rn(value, float_of(static_cast<std::uint32_t>(127 + scale + 64) << 23))) |
          sign);
    }
    value = mul_rn(value, float_of(static_cast<std::uint32_t>(127 + scale) << 23));
    return float_of(bits_of(value) | sign);
  }
}

/// fp32 to bf16, nearest even, overflow to Inf, subnormals kept, any NaN to 0x7fff.
DETGEMM_HD std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  if (is_nan(bits)) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// fp32 to fp16, nearest even, overflow to Inf, subnormals kept, any NaN to 0x7fff.
DETGEMM_HD std::uint16_t to_fp16(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > kInfBits) return 0x7fff;
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // >= 65520
  const int exponent = static_cast<int>(magnitude >> 23);
  // Bits to drop: 13 in the normal range, one more for each binade below 2^-14.
  const int drop = exponent >= 113 ? 13 : 126 - exponent;
  if (drop > 24) return static_cast<std::uint16_t>(sign);
  const std::uint32_t significand = (magnitude & 0x7fffffU) | (exponent != 0 ? 0x800000U : 0U);
  const std::uint32_t source = exponent >= 113 ? magnitude - 0x38000000U : significand;
  const std::uint32_t half = 1U << (drop - 1);
  const std::uint32_t odd = (source >> drop) & 1U;
  return static_cast<std::uint16_t>(sign | ((source + half - 1U + odd) >> drop));
}

}  // namespace detgemm::arithmetic
