// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Compiled three times: GCN_WIDE names the set and GCN_WIDTH its 32-bit lanes. The arithmetic is
// core/arithmetic/cdna_step.hpp's, in another form; tests compare the two.

#include "tests/gcn/emulator/wide.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace detgemm::gcn {

namespace {

constexpr int W = GCN_WIDTH;
using VI __attribute__((vector_size(4 * GCN_WIDTH))) = std::int32_t;
using VU __attribute__((vector_size(4 * GCN_WIDTH))) = std::uint32_t;
using VF __attribute__((vector_size(4 * GCN_WIDTH))) = float;
using HI __attribute__((vector_size(2 * GCN_WIDTH))) = std::int32_t;  // half the lanes
using HF __attribute__((vector_size(2 * GCN_WIDTH))) = float;
using HD __attribute__((vector_size(4 * GCN_WIDTH))) = double;
using HL __attribute__((vector_size(4 * GCN_WIDTH))) = std::int64_t;

#define GCN_INLINE inline __attribute__((always_inline))

template <class V, class P>
GCN_INLINE V load(const P* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
GCN_INLINE VI splat(std::int32_t x) { return x - VI{}; }
GCN_INLINE VI larger(VI a, VI b) { return a > b ? a : b; }
GCN_INLINE VI smaller(VI a, VI b) { return a < b ? a : b; }
/// 2^e for a normal exponent.
GCN_INLINE VF power(VI e) { return reinterpret_cast<VF>((e + 127) << 23); }

/// (acc_part * 2^8 + dot * dot_scale) * scale * 2^-32, the sum floored to 31 bits below its leading
/// one, or below 2^-126, on the way to fp32. All is exact in double up to the floor: 38 bits.
template <bool kRare>
GCN_INLINE HF combined(HI acc_part, HI dot, HF dot_scale, HF scale) {
  const HD sum = __builtin_convertvector(acc_part, HD) * 256.0 +
                 __builtin_convertvector(dot, HD) * __builtin_convertvector(dot_scale, HD);
  // A double's sign and magnitude: toward minus infinity is up in magnitude for negative sums.
  constexpr std::int64_t dropped = (std::int64_t{1} << (52 - 31)) - 1;
  HL bits = reinterpret_cast<HL>(sum);
  bits = (bits + (reinterpret_cast<HL>(sum < 0.0) & dropped)) & ~dropped;
  const HD unit = __builtin_convertvector(scale, HD) * 0x1p-32;
  HD value = reinterpret_cast<HD>(bits) * unit;
  if (kRare) {
    const HD exact = sum * unit;
    const HL small = (exact < 0x1p-126) & (exact > -0x1p-126);
    for (int l = 0; l < W / 2; ++l)
      value[l] = small[l] != 0 ? std::floor(exact[l] * 0x1p157) * 0x1p-157 : value[l];
  }
  return __builtin_convertvector(value, HF);
}

/// 8 elements of W columns, or their products with a row's: 12 or 24 fraction bits.
struct Eight {
  VI exponent[8], magnitude[8], sign[8];
};

GCN_INLINE Eight columns_of(const Cdna3Operand& b, int k, int j, int n) {
  Eight e;
#pragma GCC unroll 8
  for (int q = 0; q < 8; ++q) {
    e.exponent[q] = load<VI>(&b.exponent[(k + q) * n + j]);
    e.magnitude[q] = load<VI>(&b.magnitude[(k + q) * n + j]);
    e.sign[q] = load<VI>(&b.sign[(k + q) * n + j]);
  }
  return e;
}

/// The result of a step with Inf, NaN or products of 2^128 or more; otherwise `result`.
GCN_INLINE VI with_specials(const Eight& p, VI acc, VI result) {
  VI nan = (acc & 0x7fffffff) > 0x7f800000;
  const VI acc_inf = (acc & 0x7fffffff) == 0x7f800000;
  VI minus = acc_inf & (acc >> 31);
  VI plus = acc_inf & ~(acc >> 31);
  for (int i = 0; i < 8; ++i) {
    const VI invalid = (p.exponent[i] >= Cdna3Operand::kMinNan) |
                       (p.exponent[i] == Cdna3Operand::kInf + Cdna3Operand::kZero);
    const VI large =
        (p.exponent[i] >= 128) | ((p.exponent[i] == 127) & (p.magnitude[i] >= 1 << 25));
    nan |= invalid;
    minus |= large & p.sign[i];
    plus |= large & ~p.sign[i];
  }
  nan |= plus & minus;
  result = plus != 0 ? splat(0x7f800000) : result;
  result = minus != 0 ? splat(static_cast<std::int32_t>(0xff800000)) : result;
  return nan != 0 ? splat(0x7fffffff) : result;
}

/// cdna_step.hpp's cdna3_step for W columns. Without kRare, `rare` tells whether some column may
/// have a special value or a subnormal result; the caller then repeats the call with kRare.
template <bool kRare>
GCN_INLINE VF cdna3_lanes(const Cdna3Operand& a, int at, int n, const Eight& b, VF acc,
                          bool& rare) {
  Eight p;
  VI dot_top = splat(-100000);
#pragma GCC unroll 8
  for (int q = 0; q < 8; ++q) {
    p.exponent[q] = b.exponent[q] + a.exponent[at + q * n];
    dot_top = larger(dot_top, p.exponent[q]);
  }
  VI dot{};  // in units of 2^(dot_top - 24)
#pragma GCC unroll 8
  for (int q = 0; q < 8; ++q) {
    const VU behind = reinterpret_cast<VU>(smaller(dot_top - p.exponent[q], splat(31)));
    p.magnitude[q] = b.magnitude[q] * a.magnitude[at + q * n];
    const VI kept =
        reinterpret_cast<VI>(reinterpret_cast<VU>(p.magnitude[q]) >> behind);  // truncates
    p.sign[q] = b.sign[q] ^ a.sign[at + q * n];
    dot += (kept ^ p.sign[q]) - p.sign[q];
  }
  const VI bits = reinterpret_cast<VI>(acc);
  const VI field = (bits >> 23) & 255;
  const VI significand = (bits & 0x7fffff) | (field != 0 ? splat(0x800000) : VI{});
  const VI acc_exponent = larger(field, splat(1)) - 127;
  const VI negative = bits >> 31;
  const VI doubled = ((significand << 1) ^ negative) - negative;
  // Exponents of special values would leave the range of a scale; those columns are replaced.
  const VI top = smaller(larger(dot_top, acc_exponent), splat(127));
  const VI acc_part = doubled >> smaller(top - acc_exponent, splat(31));  // floors
  const VI dot_behind = larger(top - dot_top, VI{});
  const VI dot_part = dot >> smaller(larger(dot_behind - 8, VI{}), splat(31));
  const VF dot_scale = power(larger(8 - dot_behind, VI{}));
  const VF scale = power(top);

  HI acc_half[2], dot_half[2];
  HF dot_scale_half[2], scale_half[2], out[2];
  std::memcpy(acc_half, &acc_part, sizeof acc_part);
  std::memcpy(dot_half, &dot_part, sizeof dot_part);
  std::memcpy(dot_scale_half, &dot_scale, sizeof dot_scale);
  std::memcpy(scale_half, &scale, sizeof scale);
  for (int h = 0; h < 2; ++h) {
    out[h] = combined<kRare>(acc_half[h], dot_half[h], dot_scale_half[h], scale_half[h]);
  }
  VF result;
  std::memcpy(&result, out, sizeof result);
  // A negative sum may round to zero, which is +0.
  if (kRare)
    return reinterpret_cast<VF>(with_specials(p, bits, reinterpret_cast<VI>(result + 0.0F)));
  const VI doubt = (dot_top >= 126) | (field == 255) | ((top < -94) & (result != 0.0F));
  std::int64_t any = 0;
  for (int l = 0; l < W / 2; ++l) any |= reinterpret_cast<HL>(doubt)[l];
  rare = any != 0;
  return result;
}

void cdna3(const Cdna3Operand& a, const Cdna3Operand& b, int k, int n, float* const* rows) {
  for (int j = 0; j < n; j += W) {
    const Eight columns = columns_of(b, k, j, n);
    for (int i = 0; i < n; ++i) {
      bool rare = false;
      const VF old = load<VF>(rows[i] + j);
      VF next = cdna3_lanes<false>(a, k * n + i, n, columns, old, rare);
      if (__builtin_expect(rare, 0)) next = cdna3_lanes<true>(a, k * n + i, n, columns, old, rare);
      std::memcpy(rows[i] + j, &next, sizeof next);
    }
  }
}

/// Subnormals to a zero of their sign.
GCN_INLINE VF flushed(VF v) {
  const VI bits = reinterpret_cast<VI>(v);
  const VI small = (bits & 0x7f800000) == 0;
  return reinterpret_cast<VF>(small != 0 ? bits & static_cast<std::int32_t>(0x80000000) : bits);
}

void cdna2(const Cdna2Operand& a, const Cdna2Operand& b, int k, int n, float* const* rows) {
  for (int j = 0; j < n; j += W) {
    VF columns[4];
    for (int q = 0; q < 4; ++q) columns[q] = load<VF>(&b.value[(k + q) * n + j]);
    for (int i = 0; i < n; ++i) {
      VF p[4];
      for (int q = 0; q < 4; ++q) p[q] = flushed(columns[q] * a.value[(k + q) * n + i]);
      const VF dot = flushed(flushed(p[0] + p[1]) + flushed(p[2] + p[3]));
      const VF start = flushed(load<VF>(rows[i] + j)) + 0.0F;
      const VF sum = flushed(start + dot) + 0.0F;
      const VF next = sum == sum ? sum : reinterpret_cast<VF>(splat(0x7fffffff));
      std::memcpy(rows[i] + j, &next, sizeof next);
    }
  }
}

/// Calls f(element bits, index in out) for every lane, one element of four at a time.
template <class F>
GCN_INLINE void each(const std::uint32_t* const* words, int rows, F f) {
  for (int e = 0; e < 4; ++e) {
    const std::uint32_t* w = words[e / 2];
    const int shift = 16 * (e & 1);
    for (int group = 0; group < 64 / rows; ++group) {
      const int base = (4 * group + e) * rows;
#pragma GCC ivdep
      for (int row = 0; row < rows; ++row) {
        f(static_cast<std::int32_t>(w[group * rows + row] >> shift & 0xffff), base + row);
      }
    }
  }
}

template <int FRACTION, int TOP, int BIAS>
GCN_INLINE void decode3_as(const std::uint32_t* const* words, int rows, Cdna3Operand& out) {
  each(words, rows, [&](std::int32_t x, int at) {
    const std::int32_t fraction = x & ((1 << FRACTION) - 1);
    const std::int32_t field = x >> FRACTION & TOP;
    const std::int32_t significand = fraction | (field != 0 ? 1 << FRACTION : 0);
    std::int32_t exponent = (field != 0 ? field : 1) - BIAS;
    exponent = significand == 0 ? Cdna3Operand::kZero : exponent;
    const std::int32_t special = fraction == 0 ? Cdna3Operand::kInf : Cdna3Operand::kNan;
    out.exponent[at] = field == TOP ? special : exponent;
    out.magnitude[at] = significand << (12 - FRACTION);
    out.sign[at] = -(x >> 15);
  });
}

void decode3(const std::uint32_t* const* words, int rows, bool half, Cdna3Operand& out) {
  half ? decode3_as<10, 31, 15>(words, rows, out) : decode3_as<7, 255, 127>(words, rows, out);
}

template <int FRACTION, int TOP, int BIAS>
GCN_INLINE void decode2_as(const std::uint32_t* const* words, int rows, Cdna2Operand& out) {
  each(words, rows, [&](std::int32_t x, int at) {
    const std::int32_t field = x >> FRACTION & TOP;
    const std::int32_t wide_field = field == TOP ? 255 : field + 127 - BIAS;
    const std::int32_t magnitude = (x & ((1 << FRACTION) - 1)) << (23 - FRACTION) | wide_field
                                                                                        << 23;
    const std::uint32_t sign = static_cast<std::uint32_t>(x >> 15) << 31;
    const std::uint32_t bits = field == 0 ? 0 : static_cast<std::uint32_t>(magnitude) | sign;
    std::memcpy(&out.value[at], &bits, sizeof bits);
  });
}

void decode2(const std::uint32_t* const* words, int rows, bool half, Cdna2Operand& out) {
  half ? decode2_as<10, 31, 15>(words, rows, out) : decode2_as<7, 255, 127>(words, rows, out);
}

void fma(std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b,
         const std::uint32_t* c) {
  const auto at = [](std::uint32_t x) { return std::bit_cast<float>(x); };
#pragma GCC ivdep
  for (int l = 0; l < 64; ++l)
    out[l] = std::bit_cast<std::uint32_t>(__builtin_fmaf(at(a[l]), at(b[l]), at(c[l])));
}

}  // namespace

extern const Wide GCN_WIDE;
const Wide GCN_WIDE = {GCN_NAME, fma, decode3, decode2, cdna3, cdna2};

}  // namespace detgemm::gcn
