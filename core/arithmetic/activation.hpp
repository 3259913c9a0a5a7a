// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0
//
// Activation functions in a pinned evaluation order: binary32 add, multiply, fma, correctly rounded
// division, comparisons and bit operations, in one written order; no libm, no double. Every a*b+c
// is an explicit fma_rn, and no product feeds a sum except by a power of two, exact where the sum
// can see it: contraction cannot change a bit. Needed: round to nearest even, subnormals kept (no
// -ftz, no FTZ/DAZ), no -ffast-math.
//
// Special values, one rule, the correctly signed limit: NaN -> 0x7fffffff, +inf -> +inf; silu, gelu
// and gelu_tanh have the sign of x everywhere (-0 -> -0, -inf -> -0, the tail underflows to -0);
// exp(-inf) = +0; relu(x) = x > 0 ? x : +0, so relu(-0) = +0. Subnormal results are kept.
//
// Max error where the true result is normal, over all 2^32 inputs: exp 0.877, silu 2.531,
// gelu 3.486 and gelu_tanh 2.643 ulp.
//
// Approach: exp by Cody-Waite reduction (W. J. Cody, W. Waite, "Software Manual for the Elementary
// Functions", 1980, ch. 6); the scaled erfc by a polynomial in (a - K)/(a + K) (M. M. Shepherd,
// J. G. Laframboise, "Chebyshev approximation of (1+2x)exp(x^2)erfc x", Math. Comp. 36 (1981),
// 249-253); product errors by fma (T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product",
// SIAM J. Sci. Comput. 26 (2005)). The coefficients are our own: relative minimax by Lawson's
// weighted least squares on Chebyshev nodes, rounded to float one at a time, refitting the rest.

#pragma once

#include <cstdint>

#include "core/arithmetic/host_device.hpp"

namespace detgemm::arithmetic {

namespace activation_detail {

// e^(h + l) = (1 + y) * s1 * s2, y in [-0.3, 0.42], s1 and s2 powers of two. A caller that goes on
// multiplying by c takes fma(c, y, c): one rounding for the product and the 1 + y.
struct ScaledExp {
  float y, s1, s2;
};

// A select by mask: with ?: g++ sinks the arithmetic into a branch, and loops stay scalar.
DETGEMM_HD float select(bool condition, float yes, float no) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return float_of((bits_of(yes) & mask) | (bits_of(no) & ~mask));
}

DETGEMM_HD float canonical_nan_or(float x, float y) {
  return select(x == x, y, float_of(0x7fffffffu));
}

DETGEMM_HD float abs_below(float x, float limit) {   // min(|x|, limit); limit for NaN
  const std::uint32_t a = bits_of(x) & 0x7fffffffu;  // the bits order as the values do
  return float_of(a < bits_of(limit) ? a : bits_of(limit));
}

// Correctly rounded quotients. CUDA's own division branches for operands near the ends of the
// range, and a branch keeps a thread from working on several elements at once. Here no step
// underflows or overflows, so its other path is all that is needed: an approximate reciprocal,
// corrected by fma. With kDivides they divide everywhere; a test compares the two over all 2^32
// inputs of the activations.
template <bool kDivides>
DETGEMM_HD float reciprocal(float d) {  // 4 <= d <= 18.5
  if (kDivides) return div_rn(1.0f, d);
#ifdef __CUDA_ARCH__
  const float r = __fdividef(1.0f, d);
  return fma_rn(r, fma_rn(-d, r, 1.0f), r);
#else
  return div_rn(1.0f, d);
#endif
}
// 1 <= d <= 2; d is 2 for |x| < 2^-100 and 1 for |x| > 2^100.
template <bool kDivides>
DETGEMM_HD float quotient(float x, float d) {
  if (kDivides) return div_rn(x, d);
#ifdef __CUDA_ARCH__
  const float guess = __fdividef(1.0f, d);
  const float r = fma_rn(guess, fma_rn(-d, guess, 1.0f), guess);
  const float near = mul_rn(x, r);
  const float q = fma_rn(r, fma_rn(-d, near, x), near);
  const float size = float_of(bits_of(x) & 0x7fffffffu);
  return select(size < 0x1p-100f, mul_rn(x, 0.5f), select(size > 0x1p+100f, x, q));
#else
  return div_rn(x, d);
#endif
}

// For -113 <= h <= 89, |l| <= 2^-16. n = round(h log2 e), r = h + l - n ln 2, |r| <= 0.3469.
DETGEMM_HD ScaledExp exp_scaled(float h, float l) {
  // 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
  const float shifted = fma_rn(h, 0x1.715476p+0f /* log2 e */, 0x1.8p+23f);
  const float n = add_rn(shifted, -0x1.8p+23f);
  const std::int32_t i = static_cast<std::int32_t>(bits_of(shifted) - 0x4b400000u);
  // ln 2 = hi (15 bits, so n * hi and the difference are exact) + lo (24 bits), good to 2^-44.
  const float hi = fma_rn(n, -0x1.62e4p-1f, h);
  const float lo = fma_rn(n, -0x1.7f7d1cp-20f, l);
  const float r = add_rn(hi, lo);
  const float rest = add_rn(add_rn(hi, -r), lo);  // what rounding r lost
  // e^r = 1 + r + r^2 p(r) on |r| <= 0.3473: degree 4, relative error of e^r 3.2e-9 (2^-28.2).
  float p = 0x1.6a4154p-10f;
  p = fma_rn(p, r, 0x1.1239c8p-7f);
  p = fma_rn(p, r, 0x1.5558bcp-5f);
  p = fma_rn(p, r, 0x1.555492p-3f);
  p = fma_rn(p, r, 0x1.fffffcp-2f);
  const float tail = fma_rn(mul_rn(r, r), p, rest);
  // 2^i = 2^(i/2) * 2^(i - i/2), both normal: a subnormal product is rounded once, by s2.
  const std::int32_t half = i >> 1;
  const float s1 = float_of(static_cast<std::uint32_t>(half + 127) << 23);
  const float s2 = float_of(static_cast<std::uint32_t>(i - half + 127) << 23);
  return {add_rn(r, tail), s1, s2};
}

DETGEMM_HD float unscaled(const ScaledExp& e) {
  return mul_rn(mul_rn(add_rn(1.0f, e.y), e.s1), e.s2);
}

// x / (1 + e^(h + l)) for x >= 0 and -a e^(h + l) / (1 + e^(h + l)) for x < 0, where h + l <= 0 is
// -|v| of x * sigmoid(v) and a is |x| clamped where the product has underflowed.
template <bool kDivides>
DETGEMM_HD float times_sigmoid(float x, float a, float h, float l) {
  const ScaledExp e = exp_scaled(h, l);
  const float denominator = add_rn(1.0f, unscaled(e));
  const float below = mul_rn(fma_rn(-a, e.y, -a), e.s1);  // s2 last: it may round to a subnormal
  const bool negative = (bits_of(x) >> 31) != 0;
  const float share = quotient<kDivides>(select(negative, below, x), denominator);
  return canonical_nan_or(x, mul_rn(share, select(negative, e.s2, 1.0f)));
}

}  // namespace activation_detail

DETGEMM_HD float exp_pinned(float x) {
  // e^-104 < 2^-150 rounds to 0, e^89 > 2^128 to +inf: clamping there changes no result.
  const float low = x > -104.0f ? x : -104.0f;
  const auto e = activation_detail::exp_scaled(low < 89.0f ? low : 89.0f, 0.0f);
  return activation_detail::canonical_nan_or(x, activation_detail::unscaled(e));
}

DETGEMM_HD float relu(float x) {
  return activation_detail::canonical_nan_or(x, x > 0.0f ? x : 0.0f);
}

template <bool kDivides = false>
DETGEMM_HD float silu(float x) {
  const float a = activation_detail::abs_below(x, 112.0f);  // 112 e^-112 < 2^-150
  return activation_detail::times_sigmoid<kDivides>(x, a, -a, 0.0f);
}

// gelu(x) = x - z for x >= 0, -z for x < 0; z = a q(a), a = |x|,
// q(a) = erfc(a / sqrt 2) / 2 = e^(-a^2 / 2) g(a). z < 2^-150 from a = 14.5 on.
template <bool kDivides = false>
DETGEMM_HD float gelu(float x) {
  const float a = activation_detail::abs_below(x, 14.5f);
  const float square = mul_rn(a, a);
  const float square_error = fma_rn(a, a, -square);  // a^2 = square + square_error
  // g(a) = p(t) / (a + 4), t = (a - 4) / (a + 4) = 1 - 8 / (a + 4), on 0 <= a <= 14.5:
  // degree 9, relative error 8.6e-9 unrounded, 1.8e-8 (2^-25.7) with these float coefficients.
  // Rounding a + 4 alone would cost 3 ulp near a = 0, so the reciprocal is r (1 + f): t takes r f
  // as its second part, and g's factor 1 + f goes into the exponential's argument.
  const float d = add_rn(a, 4.0f);
  const float d_error = add_rn(a, -add_rn(d, -4.0f));  // both exact
  const float r = activation_detail::reciprocal<kDivides>(d);
  const float f = fma_rn(-r, d_error, fma_rn(-r, d, 1.0f));
  const float t = fma_rn(-8.0f, mul_rn(r, f), fma_rn(-8.0f, r, 1.0f));
  const auto e =
      activation_detail::exp_scaled(mul_rn(-0.5f, square), fma_rn(-0.5f, square_error, f));
  float p = -0x1.007b52p-13f;
  p = fma_rn(p, t, 0x1.9be5c8p-13f);
  p = fma_rn(p, t, 0x1.9b4b3ep-10f);
  p = fma_rn(p, t, -0x1.ce2908p-9f);
  p = fma_rn(p, t, -0x1.ed5570p-8f);
  p = fma_rn(p, t, 0x1.eedbc2p-5f);
  p = fma_rn(p, t, -0x1.7dffa8p-3f);
  p = fma_rn(p, t, 0x1.8c6d84p-2f);
  p = fma_rn(p, t, -0x1.373e3ap-1f);
  p = fma_rn(p, t, 0x1.82b4bcp-1f);
  const float ga = mul_rn(mul_rn(p, r), mul_rn(a, e.s1));
  const float z = mul_rn(fma_rn(ga, e.y, ga), e.s2);
  const bool negative = (bits_of(x) >> 31) != 0;
  const float y = activation_detail::select(negative, -z, add_rn(x, -z));
  return activation_detail::canonical_nan_or(x, y);
}

// 0.5 (1 + tanh u) = sigmoid(2u), 2u = x (A + B x^2), A = 2 sqrt(2 / pi), B = 0.044715 A. In the
// tail an absolute error of 2u is a relative one of the result, so 2u is a pair, to about 2^-45.
template <bool kDivides = false>
DETGEMM_HD float gelu_tanh(float x) {
  const float a = activation_detail::abs_below(x, 11.0f);  // 11 e^-112 < 2^-150
  const float square = mul_rn(a, a);
  const float square_error = fma_rn(a, a, -square);
  // A = 0x1.98845p+0 + 0x1.9ea1b2p-23 (to 2^-48), B = 0x1.2444f2p-4 + 0x1.49b16ap-29 (to 2^-54).
  // A's head has 21 bits: it is a multiple of every ulp of w, so w - head is exact.
  const float w = fma_rn(0x1.2444f2p-4f, square, 0x1.98845p+0f);
  float w_error = fma_rn(0x1.2444f2p-4f, square, -add_rn(w, -0x1.98845p+0f));
  w_error = fma_rn(0x1.2444f2p-4f, square_error, w_error);
  w_error = fma_rn(0x1.49b16ap-29f, square, w_error);
  w_error = add_rn(w_error, 0x1.9ea1b2p-23f);
  const float v = mul_rn(a, w);
  const float v_error = fma_rn(a, w_error, fma_rn(a, w, -v));
  return activation_detail::times_sigmoid<kDivides>(x, a, -v, -v_error);
}

}  // namespace detgemm::arithmetic
