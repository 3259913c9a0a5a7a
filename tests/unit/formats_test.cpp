// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Conversions against an independent route: every narrow value as a double by its textbook
// formula, rounding by comparing exact distances to the two neighbours.

#include "core/arithmetic/formats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace detgemm::arithmetic {
namespace {

/// (-1)^s * 2^(e - bias) * (1 + f / 2^F), or subnormal 2^(1 - bias) * f / 2^F; Inf and NaN too.
double textbook(std::uint32_t raw, int exponent_bits, int fraction_bits, bool ocp_e4m3) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t fraction = raw % (1U << fraction_bits);
  const std::uint32_t field = (raw >> fraction_bits) % (1U << exponent_bits);
  const double sign = (raw >> (fraction_bits + exponent_bits)) != 0 ? -1.0 : 1.0;
  const bool top = field == (1U << exponent_bits) - 1;
  if (ocp_e4m3 ? (top && fraction == 7) : (top && fraction != 0)) return std::nan("");
  if (top && !ocp_e4m3) return sign * INFINITY;
  const double part = std::ldexp(static_cast<double>(fraction), -fraction_bits);
  if (field == 0) return sign * std::ldexp(part, 1 - bias);
  return sign * std::ldexp(1.0 + part, static_cast<int>(field) - bias);
}

template <DType T>
void check_all_values(std::uint32_t count, int exponent_bits, int fraction_bits) {
  for (std::uint32_t raw = 0; raw < count; ++raw) {
    const double expected = textbook(raw, exponent_bits, fraction_bits, T == DType::e4m3);
    const float got = to_float<T>(static_cast<Storage<T>>(raw));
    if (std::isnan(expected)) {
      ASSERT_EQ(bits_of(got), kNaNBits) << raw;
    } else {
      ASSERT_EQ(static_cast<double>(got), expected) << raw;
      ASSERT_EQ(std::signbit(got), std::signbit(expected)) << raw;  // of zeros
    }
  }
}

TEST(BitWidth, CountsTheBitsOfEveryWidth) {
  EXPECT_EQ(bit_width(0), 0);
  for (int bits = 1; bits <= 64; ++bits) {
    const std::uint64_t low = std::uint64_t{1} << (bits - 1);
    EXPECT_EQ(bit_width(low), bits);
    EXPECT_EQ(bit_width(low | (low - 1)), bits);
  }
}

TEST(ToFloat, EveryE4M3) { check_all_values<DType::e4m3>(256, 4, 3); }
TEST(ToFloat, EveryE5M2) { check_all_values<DType::e5m2>(256, 5, 2); }
TEST(ToFloat, EveryFp16) { check_all_values<DType::fp16>(65536, 5, 10); }
TEST(ToFloat, EveryBf16) { check_all_values<DType::bf16>(65536, 8, 7); }

TEST(ToFloat, Tf32DropsThirteenBits) {
  std::mt19937 random(7);
  for (int i = 0; i < 4000000; ++i) {
    const std::uint32_t raw = random();
    const std::uint32_t kept = raw & ~0x1fffU;
    const std::uint32_t expected = (kept & 0x7fffffffU) > kInfBits ? kNaNBits : kept;
    ASSERT_EQ(bits_of(to_float<DType::tf32>(raw)), expected) << std::hex << raw;
  }
}

/// The non-negative values of a 16-bit format, ascending, with the next power of two in Inf's
/// place: what rounding sees there.
std::vector<double> ladder(int exponent_bits, int fraction_bits) {
  const std::uint32_t inf = ((1U << exponent_bits) - 1) << fraction_bits;
  std::vector<double> values;
  for (std::uint32_t raw = 0; raw < inf; ++raw) {
    values.push_back(textbook(raw, exponent_bits, fraction_bits, false));
  }
  values.push_back(std::ldexp(1.0, 1 << (exponent_bits - 1)));
  return values;
}

/// The index of the nearest value, ties to the even index; doubles hold all of it exactly.
std::uint32_t nearest(const std::vector<double>& values, double x) {
  if (x >= values.back()) return static_cast<std::uint32_t>(values.size() - 1);
  const auto above = std::upper_bound(values.begin(), values.end(), x);
  const auto high = static_cast<std::uint32_t>(above - values.begin());
  const double down = x - values[high - 1];
  const double up = values[high] - x;
  if (down != up) return down < up ? high - 1 : high;
  return high % 2 == 0 ? high : high - 1;
}

template <class Convert>
void check_rounding(const std::vector<double>& values, std::uint32_t bits, Convert&& convert) {
  const float x = float_of(bits);
  if (std::isnan(x)) {
    ASSERT_EQ(convert(x), 0x7fff) << std::hex << bits;
    return;
  }
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  ASSERT_EQ(convert(x), sign | nearest(values, std::fabs(static_cast<double>(x))))
      << std::hex << bits;
}

/// Every value of the format and every midpoint between neighbours, each with the floats three
/// steps to either side: rounding is monotone, so nothing can hide between them. Then the
/// extremes and a random sweep of all patterns.
template <class Convert>
void check_conversion(int exponent_bits, int fraction_bits, Convert&& convert) {
  const std::vector<double> values = ladder(exponent_bits, fraction_bits);
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    for (double center : {values[i], (values[i] + values[i + 1]) / 2}) {
      const std::uint32_t at = bits_of(static_cast<float>(center));
      for (std::uint32_t step = 0; step < 7; ++step) {
        const std::uint32_t bits = at + step < 3 ? 0 : at + step - 3;
        check_rounding(values, bits, convert);
        check_rounding(values, bits | 0x80000000U, convert);
      }
    }
  }
  for (std::uint32_t bits : {0x7f7fffffU, 0x7f800000U, 0x7f800001U, 0x7fc00000U, 0x7fffffffU,
                             0xff7fffffU, 0xff800000U, 0xffc00001U, 0x00000001U, 0x807fffffU}) {
    check_rounding(values, bits, convert);
  }
  std::mt19937 random(11);
  for (int i = 0; i < 3000000; ++i) {
    check_rounding(values, static_cast<std::uint32_t>(random()), convert);
  }
}

TEST(FromFloat, ToFp16) {
  check_conversion(5, 10, [](float x) { return to_fp16(x); });
}
TEST(FromFloat, ToBf16) {
  check_conversion(8, 7, [](float x) { return to_bf16(x); });
}

}  // namespace
}  // namespace detgemm::arithmetic
