// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Part of an instruction set's source, after tensor_lanes.hpp.

namespace detgemm::reference::DETGEMM_ISA {

/// floor(x) for |x| < 2^51: adding and taking away 1.5 * 2^52 rounds to nearest.
DETGEMM_INLINE HD floored(HD x) {
  const HD nearest = (x + 0x1.8p52) - 0x1.8p52;
  return nearest > x ? nearest - 1.0 : nearest;
}

/// 2^e as a double, for |e| < 1000.
DETGEMM_INLINE HD power_of_two(HL e) { return as_double((e + 1023) << 52); }

/// One half of cdna3_step_lanes: `dot` in units of 2^(dot_top - 24), all exact in double.
DETGEMM_INLINE HF cdna3_half(HD dot, HI dot_top, HD acc, HI acc_top, HI top) {
  const HL t = __builtin_convertvector(top, HL);
  const HL behind = __builtin_convertvector(dot_top, HL) - t;
  constexpr std::int64_t far = -200;  // floor gives 0 or -1 from far below
  const HL shift = behind > far ? behind : far - HL{};
  const HL acc_behind = __builtin_convertvector(acc_top, HL) - t;
  const HL acc_shift = acc_behind > far ? acc_behind : far - HL{};
  // Units of 2^(top - 32) for the dot, 2^(top - 24) for the accumulator.
  const HD sum =
      floored(dot * power_of_two(shift + 8)) + floored(acc * power_of_two(acc_shift + 24)) * 256.0;
  // Floor to 31 fraction bits below the leading one, which never lies below 2^-126.
  const HL leading = ((as_long(sum) >> 52) & 2047) - 1023;  // relative to 2^(top - 32)
  const HL min_normal = -126 - (t - 32);
  const HL normal = leading > min_normal ? leading : min_normal;
  const HL drop = normal - 31 > 0 ? normal - 31 : HL{};
  const HL capped = drop < 900 ? drop : 900 - HL{};
  const HD kept = floored(sum * power_of_two(-capped)) * power_of_two(capped);
  return __builtin_convertvector(kept * power_of_two(t - 32), HF);
}

/// kLanes outputs of arithmetic::cdna3_step for finite operands whose products stay below 2^128.
DETGEMM_INLINE VF cdna3_step_lanes(const float* a, const std::int32_t* a_exponent, const float* b,
                                   const std::int32_t* b_exponent, int pitch, VF acc) {
  constexpr int L = 8;
  const VI bits = as_int(acc);
  const VI field = (bits >> 23) & 255;
  const VF normal = as_float((bits & splat(static_cast<std::int32_t>(0x807fffff))) | 0x3f800000);
  const VF value = field != 0 ? normal : acc * 0x1p126F;
  const VI exponent = max(field, splat(1)) - 127;
  VI dot_top = splat(kZeroExponent);
#pragma GCC unroll 8
  for (int i = 0; i < L; ++i) dot_top = max(dot_top, load(b_exponent + i * pitch) + a_exponent[i]);
  VI dot{};
#pragma GCC unroll 8
  for (int i = 0; i < L; ++i) {
    const VI below = (load(b_exponent + i * pitch) + a_exponent[i]) - dot_top;
    dot = wrapping_add(dot, aligned<24>(load(b + i * pitch) * a[i], below));
  }
  const VI top = max(dot_top, exponent);
  const VF significand = value;
  HF low_value;
  HF high_value;
  std::memcpy(&low_value, &significand, sizeof low_value);
  std::memcpy(&high_value, reinterpret_cast<const char*>(&significand) + sizeof low_value,
              sizeof high_value);
  VF result = join(cdna3_half(__builtin_convertvector(low(dot), HD), low(dot_top),
                              __builtin_convertvector(low_value, HD), low(exponent), low(top)),
                   cdna3_half(__builtin_convertvector(high(dot), HD), high(dot_top),
                              __builtin_convertvector(high_value, HD), high(exponent), high(top)));
  result = result + 0.0F;
  const VI not_finite = field == 255;
  const VI is_nan = (bits & 0x7fffff) != 0;
  const VI replacement = is_nan ? splat(static_cast<std::int32_t>(arithmetic::kNaNBits)) : bits;
  return as_float(not_finite ? replacement : as_int(result));
}

DETGEMM_INLINE VF flushed_lanes(VF v) {
  const VI bits = as_int(v);
  const VI small = (bits & 0x7f800000) == 0;
  return as_float(small ? bits & splat(static_cast<std::int32_t>(0x80000000)) : bits);
}

/// kLanes outputs of arithmetic::cdna2_step; `a` and `b` hold fp32 values, flushed.
DETGEMM_INLINE VF cdna2_step_lanes(const float* a, const float* b, int pitch, VF acc) {
  VF p[4];
  for (int i = 0; i < 4; ++i) p[i] = flushed_lanes(load(b + i * pitch) * a[i]);
  const VF low_pair = flushed_lanes(p[0] + p[1]);
  const VF high_pair = flushed_lanes(p[2] + p[3]);
  const VF start = flushed_lanes(acc) + 0.0F;
  const VF sum = flushed_lanes(start + flushed_lanes(low_pair + high_pair)) + 0.0F;
  return sum == sum ? sum : as_float(splat(static_cast<std::int32_t>(arithmetic::kNaNBits)));
}

}  // namespace detgemm::reference::DETGEMM_ISA
