// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/formats.hpp"
#include "core/contract/quantize.hpp"

/// Test data as a pure function of (key, line, k), so that a device writes it where it lies and a
/// host can write the same again.
namespace detgemm::test {

/// What the numbers try to provoke.
enum class Data : std::int32_t {
  normal,     ///< as in models
  wide,       ///< exponents far apart: most products are truncated away
  windows,    ///< any finite bits; each line has its own window of exponents, subnormals to Inf
  subnormal,  ///< subnormal inputs against large ones, or sums that fall below fp32's range
  cancel,     ///< every product has its exact negative somewhere along K: the result is rounding
  overflow,   ///< sums that reach Inf, and Inf - Inf
  specials,   ///< Inf, NaN, zeros of both signs, extremes, in a quarter of the lines
};
inline constexpr int kDataKinds = 7;

/// How one array is drawn.
struct Draw {
  Data data = Data::normal;
  DType type = DType::bf16;
  std::uint64_t key = 0;
  std::int32_t shift = -1;       ///< cancel: partners are 2^shift apart along k
  bool negates_partner = false;  ///< cancel: this is the operand whose sign differs
};

/// The finaliser of SplitMix64: every bit of the result depends on every bit of x.
DETGEMM_HD std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// What memory holds of a contract's inputs.
constexpr DType stored(DType input) { return input == DType::tf32 ? DType::fp32 : input; }

/// Field widths of a storage type at run time.
struct Fields {
  int exponent_bits, fraction_bits;
  DETGEMM_HD explicit Fields(DType type)
      : exponent_bits(type == DType::e4m3 ? 4 : (type == DType::fp16 ? 5 : 8)),
        fraction_bits(type == DType::e4m3   ? 3
                      : type == DType::bf16 ? 7
                                            : (type == DType::fp16 ? 10 : 23)) {}
  DETGEMM_HD std::uint32_t top() const { return (1U << exponent_bits) - 1; }
  DETGEMM_HD std::uint32_t bias() const { return top() >> 1; }
  DETGEMM_HD std::uint32_t pack(bool negative, std::uint32_t field, std::uint64_t fraction) const {
    const auto low = static_cast<std::uint32_t>(fraction) & ((1U << fraction_bits) - 1);
    return (negative ? 1U << (exponent_bits + fraction_bits) : 0U) | (field << fraction_bits) | low;
  }
};

DETGEMM_HD std::uint32_t rounded(DType type, float value) {
  if (type == DType::bf16) return arithmetic::to_bf16(value);
  if (type == DType::fp16) return arithmetic::to_fp16(value);
  if (type == DType::e4m3) return e4m3_of(value);
  return arithmetic::bits_of(value);
}

/// Four uniform numbers added: near enough to normal, of deviation 1.
DETGEMM_HD float normal(std::uint64_t r) {
  const auto part = [r](int at) { return static_cast<int>((r >> at) & 0xffffU); };
  const int sum = part(0) + part(16) + part(32) + part(48) - 2 * 65535;
  return arithmetic::mul_rn(static_cast<float>(sum), 1.0F / 37837.0F);
}

/// A number whose exponent field is uniform in [low, low + width), kept finite.
DETGEMM_HD std::uint32_t in_window(const Fields& f, std::uint64_t r, int low, int width) {
  int field = low + static_cast<int>((r >> 40) % static_cast<unsigned>(width));
  const int last = static_cast<int>(f.top()) - 1;
  field = field < 0 ? 0 : (field > last ? last : field);
  return f.pack((r & 1U) != 0, static_cast<std::uint32_t>(field), r >> 8);
}

DETGEMM_HD std::uint32_t special(const Fields& f, std::uint64_t r) {
  const bool negative = ((r >> 8) & 1U) != 0;
  switch (r % 8) {
    case 0:
      return f.pack(negative, f.top(), 0);  // Inf; 256 of e4m3, which has none
    case 1:
      return f.pack(negative, f.top(), (r >> 16) | (f.exponent_bits == 4 ? 7U : 1U));  // any NaN
    case 2:
      return f.pack(negative, f.top() - 1, ~0ULL);  // largest
    case 3:
      return f.pack(negative, 0, 1);  // smallest
    case 4:
      return f.pack(negative, 1, 0);  // smallest normal
    default:
      return f.pack(negative, 0, 0);  // zero
  }
}

/// The bits of element k of one line: a row of op(A), a column of op(B), a row of C, the bias.
DETGEMM_HD std::uint32_t draw_element(const Draw& d, std::int64_t line, std::int64_t k) {
  const Fields f(d.type);
  const int bias = static_cast<int>(f.bias());
  const int top = static_cast<int>(f.top());
  const std::uint64_t of_line = mix(d.key ^ mix(static_cast<std::uint64_t>(line)));
  const std::uint64_t r = mix(of_line + static_cast<std::uint64_t>(k));
  switch (d.data) {
    case Data::normal:
      return rounded(d.type, normal(r));
    case Data::wide:
      return in_window(f, r, bias - (top > 31 ? 30 : 14), top > 31 ? 60 : 28);
    case Data::windows:
      return in_window(f, r, static_cast<int>(of_line % f.top()) - 2, 1 << (of_line >> 32) % 6);
    case Data::subnormal: {
      const bool small = (of_line & 1U) != 0;
      const int low = bias / 2 + static_cast<int>((of_line >> 8) % 3) * bias / 3;
      return in_window(f, r, small ? 0 : low, small ? 3 : 8);
    }
    case Data::cancel: {
      const std::int64_t low = (std::int64_t{1} << d.shift) - 1;
      const std::int64_t pair = ((k >> (d.shift + 1)) << d.shift) | (k & low);
      const bool second = ((k >> d.shift) & 1) != 0;
      const std::uint64_t shared = mix(of_line + static_cast<std::uint64_t>(pair));
      const std::uint32_t bits = in_window(f, shared, bias - 6, 12);
      const std::uint32_t sign = 1U << (f.exponent_bits + f.fraction_bits);
      return second && d.negates_partner ? bits ^ sign : bits;
    }
    case Data::overflow:
      return d.negates_partner ? in_window(f, r, bias - 2, 4) : in_window(f, r, top - 6, 6);
    case Data::specials:
      if ((of_line & 3U) == 0 && (r >> 59) == 0) return special(f, mix(r));
      return (r >> 61) == 1 ? f.pack((r & 1U) != 0, 0, 0) : rounded(d.type, normal(r));
  }
  return 0;
}

}  // namespace detgemm::test
