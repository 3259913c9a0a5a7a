// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/formats.hpp"

namespace detgemm::arithmetic {

/// The fused step of NVIDIA tensor cores: L products and the accumulator are aligned to the
/// largest exponent, truncated, added exactly and truncated once more.
///
///   p_0  p_1  ...  p_{L-1}  acc      exact products, not renormalised
///    |    |           |      |       shift to E = max exponent, truncate to F fraction bits
///    +----+-----+-----+------+       exact integer sum: order is irrelevant
///               |                    normalise, truncate to `kept` bits
///              acc'
///
/// Source: measured on an H200 for Hopper (docs/numerics.md); literature name T-FDPA
/// (MMA-Sim, arXiv 2511.10909; Khattak and Mikaitis, arXiv 2512.07004).
struct TensorUnit {
  int products;       ///< L: products fused in one step
  int fraction_bits;  ///< F: the sum's last bit weighs 2^(E - F)
  int kept_bits;      ///< significant bits of the result
  int min_exponent;   ///< E is never below this
};

inline constexpr TensorUnit kHopper16{16, 25, 24, -133};  // bf16, fp16
inline constexpr TensorUnit kHopperTf32{8, 25, 24, -133};
inline constexpr TensorUnit kHopperFp8{32, 13, 14, -133};
inline constexpr TensorUnit kBlackwellFp8{32, 25, 24,
                                          -133};  // tcgen05; mma.sync is another function
inline constexpr TensorUnit kAmpere16{8, 24, 24, -132};
inline constexpr TensorUnit kAmpereTf32{4, 24, 24, -132};

/// `magnitude` * 2^shift, truncated toward zero (magnitude < 2^25, result < 2^62).
DETGEMM_HD std::int64_t shifted(std::uint32_t magnitude, int shift, bool negative) {
  const std::uint64_t wide = magnitude;
  const std::uint64_t moved = shift >= 0 ? wide << shift : (shift > -64 ? wide >> -shift : 0);
  return negative ? -static_cast<std::int64_t>(moved) : static_cast<std::int64_t>(moved);
}

/// sum * 2^lsb_exponent, truncated toward zero to `kept_bits` significant bits and to fp32's
/// subnormal grid; 2^128 and more give Inf; zero gives +0. |sum| < 2^62.
DETGEMM_HD float round_toward_zero(std::int64_t sum, int lsb_exponent, int kept_bits) {
  if (sum == 0) return 0.0F;
  const std::uint32_t sign = sum < 0 ? 0x80000000U : 0U;
  std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int width = bit_width(magnitude);
  if (width > kept_bits) {
    magnitude = (magnitude >> (width - kept_bits)) << (width - kept_bits);
  }
  const int exponent = width - 1 + lsb_exponent;  // of the leading bit
  if (exponent >= 128) return float_of(sign | kInfBits);
  // The last fp32 bit weighs 2^(exponent - 23), or 2^-149 for subnormal results.
  const int last = exponent >= -126 ? exponent - 23 : -149;
  const int shift = lsb_exponent - last;
  const std::uint64_t units =
      shift >= 0 ? magnitude << shift : (shift > -64 ? magnitude >> -shift : 0);
  if (units == 0) return 0.0F;
  // For normal results units = 2^23 + fraction, and adding it to (field - 1) << 23 carries.
  const std::uint32_t field = exponent >= -126 ? static_cast<std::uint32_t>(exponent + 126) : 0U;
  return float_of(sign | ((field << 23) + static_cast<std::uint32_t>(units)));
}

/// One step: acc + sum of a[i] * b[i], i < unit.products.
template <DType T>
DETGEMM_HD float tensor_step(const TensorUnit& unit, const Storage<T>* a, const Storage<T>* b,
                             float acc) {
  constexpr int product_fraction = 2 * Format<T>::fraction_bits;
  const Unpacked c = unpack<DType::fp32>(bits_of(acc));
  int top = unit.min_exponent;
  bool nan = c.nan;
  bool plus_inf = c.inf && !c.negative;
  bool minus_inf = c.inf && c.negative;
  if (!c.zero() && c.exponent > top) top = c.exponent;
  for (int i = 0; i < unit.products; ++i) {
    const Unpacked x = unpack<T>(a[i]);
    const Unpacked y = unpack<T>(b[i]);
    nan = nan || x.nan || y.nan || (x.inf && y.zero()) || (x.zero() && y.inf);
    if (x.inf || y.inf) {
      (x.negative != y.negative ? minus_inf : plus_inf) = true;
    } else if (!x.zero() && !y.zero() && x.exponent + y.exponent > top) {
      top = x.exponent + y.exponent;
    }
  }
  if (nan || (plus_inf && minus_inf)) return float_of(kNaNBits);
  if (plus_inf) return float_of(kInfBits);
  if (minus_inf) return float_of(kInfBits | 0x80000000U);

  std::int64_t sum = shifted(c.significand, unit.fraction_bits - 23 + c.exponent - top, c.negative);
  for (int i = 0; i < unit.products; ++i) {
    const Unpacked x = unpack<T>(a[i]);
    const Unpacked y = unpack<T>(b[i]);
    if (x.zero() || y.zero()) continue;
    const int shift = unit.fraction_bits - product_fraction + x.exponent + y.exponent - top;
    sum += shifted(x.significand * y.significand, shift, x.negative != y.negative);
  }
  return round_toward_zero(sum, top - unit.fraction_bits, unit.kept_bits);
}

}  // namespace detgemm::arithmetic
