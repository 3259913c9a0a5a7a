// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Part of an instruction set's source, after lanes.hpp and decode.hpp.

namespace detgemm::reference::DETGEMM_ISA {

/// value * 2^(F - (top - exponent)), truncated toward zero: a term aligned to the largest
/// exponent. The scale is built as an exponent field; far below the last bit it only has to be
/// small enough. |value| < 4, so the product with a power of two is exact or truncates to zero.
template <int F>
DETGEMM_INLINE VI aligned(VF value, VI exponent_minus_top) {
  const VI field = max(exponent_minus_top + (127 + F), splat(64));
  return truncated(value * as_float(field << 23));
}

/// terms * 2^(top - F), truncated toward zero to `kept` bits, for half the lanes:
/// `terms` is an exact sum in double.
template <int F, int kept>
DETGEMM_INLINE HF rounded_half(HD terms, HI top) {
  const HL field = __builtin_convertvector(top, HL) + (1023 - F);
  HD exact = terms * as_double(field << 52);
  // Clearing low bits of the significand truncates to `kept` bits.
  exact = as_double(as_long(exact) & ~((std::int64_t{1} << (53 - kept)) - 1));
  HF result = __builtin_convertvector(exact, HF);
  // Only subnormal results can still have been rounded by the conversion: step back where it
  // went away from zero. 2^128 and more stays Inf.
  constexpr std::int64_t magnitude = 0x7fffffffffffffff;
  const HL back = as_long(__builtin_convertvector(result, HD)) & magnitude;
  const HL want = as_long(exact) & magnitude;
  constexpr std::int64_t two_128 = std::int64_t{1023 + 128} << 52;
  const HL away = (back > want) & (want < two_128);
  return reinterpret_cast<HF>(reinterpret_cast<HI>(result) + __builtin_convertvector(away, HI));
}

/// kLanes outputs: one fused step, the lane form of arithmetic::tensor_step.
/// `a`, `a_exponent`: L decoded elements of one row. `b`, `b_exponent`: L rows of lanes, `pitch`
/// elements apart. `special`: an element of either is Inf or NaN.
template <int L, int F, int kept, int min_exponent>
DETGEMM_INLINE VF tensor_step_lanes(const float* a, const std::int32_t* a_exponent, const float* b,
                                    const std::int32_t* b_exponent, int pitch, bool special,
                                    VF acc) {
  const VI bits = as_int(acc);
  const VI field = (bits >> 23) & 255;
  const VI fraction = bits & 0x7fffff;
  // The accumulator's significand in (-2, 2): normal ones get exponent field 127, subnormal
  // ones are scaled by 2^126, exactly.
  const VF normal = as_float((bits & splat(static_cast<std::int32_t>(0x807fffff))) | 0x3f800000);
  const VF value = field != 0 ? normal : acc * 0x1p126F;
  const VI exponent = max(field, splat(1)) - 127;
  const VI zero = (field | fraction) == 0;
  VI top = max(zero ? splat(kZeroExponent) : exponent, splat(min_exponent));
#pragma GCC unroll 32
  for (int i = 0; i < L; ++i) top = max(top, load(b_exponent + i * pitch) + a_exponent[i]);

  VI products{};
#pragma GCC unroll 32
  for (int i = 0; i < L; ++i) {
    const VI below = (load(b_exponent + i * pitch) + a_exponent[i]) - top;
    products = wrapping_add(products, aligned<F>(load(b + i * pitch) * a[i], below));
  }
  const VI addend = aligned<F>(value, exponent - top);
  // 16 products of 27 bits and the accumulator do not fit 32 bits together; double is exact.
  const HD low_sum =
      __builtin_convertvector(low(products), HD) + __builtin_convertvector(low(addend), HD);
  const HD high_sum =
      __builtin_convertvector(high(products), HD) + __builtin_convertvector(high(addend), HD);
  VF result =
      join(rounded_half<F, kept>(low_sum, low(top)), rounded_half<F, kept>(high_sum, high(top))) +
      0.0F;  // -0 becomes +0

  // Inf and NaN follow IEEE rules, and no finite stand-in can overflow: |a * b| < 4.
  VF proxy = acc;
  if (special) {
    for (int i = 0; i < L; ++i) proxy = proxy + load(b + i * pitch) * a[i];
  }
  const VI proxy_bits = as_int(proxy);
  const VI not_finite = ((proxy_bits >> 23) & 255) == 255;
  const VI is_nan = (proxy_bits & 0x7fffff) != 0;
  const VI replacement =
      is_nan ? splat(static_cast<std::int32_t>(arithmetic::kNaNBits)) : proxy_bits;
  result = as_float(not_finite ? replacement : as_int(result));
  return result;
}

}  // namespace detgemm::reference::DETGEMM_ISA
