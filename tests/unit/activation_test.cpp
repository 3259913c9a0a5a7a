// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0
//
// Planted faults that this file was seen to catch, one at a time. By the digest alone: exp_scaled
// without `rest`. By the ulp bound too: gelu's last coefficient one ulp off, gelu without
// square_error, gelu_tanh without w_error, times_sigmoid with s2 before the division. By the
// special values: gelu as relu(x) - z (+0 for -0 and -inf), silu(-inf) = +0. By the NaN test: no
// canonical NaN.

#include "core/arithmetic/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>

namespace detgemm::arithmetic {
namespace {

using Wide = long double;

const Wide kSqrtHalf = std::sqrt(Wide{0.5L});
const Wide kTwoSqrtTwoOverPi = 2 * std::sqrt(2 / std::acos(Wide{-1}));

Wide times_sigmoid_reference(Wide x, Wide v) {
  const Wide e = std::exp(-std::fabs(v));
  return v >= 0 ? x / (1 + e) : x * e / (1 + e);
}

struct Activation {
  const char* name;
  float (*pinned)(float);
  Wide (*reference)(Wide);
  double max_ulp;        // over the inputs whose true result is normal
  std::uint64_t digest;  // golden
};

const Activation kActivations[] = {
    {"exp_pinned", [](float x) { return exp_pinned(x); }, [](Wide x) { return std::exp(x); }, 1.0,
     0x191d04d64cdba897ull},
    {"relu", [](float x) { return relu(x); }, [](Wide x) { return x > 0 ? x : Wide{0}; }, 0.0,
     0x45546068d68a5913ull},
    {"silu", [](float x) { return silu(x); }, [](Wide x) { return times_sigmoid_reference(x, x); },
     2.7, 0xed2100e8cea3e132ull},
    {"gelu", [](float x) { return gelu(x); },
     [](Wide x) { return x * std::erfc(-x * kSqrtHalf) / 2; }, 3.7, 0x076c32bcbefde3f8ull},
    {"gelu_tanh", [](float x) { return gelu_tanh(x); },
     [](Wide x) {
       return times_sigmoid_reference(x, kTwoSqrtTwoOverPi * (x + 0.044715L * x * x * x));
     },
     2.7, 0x695031a8d2e5e5c7ull},
};

void PrintTo(const Activation& each, std::ostream* out) { *out << each.name; }

class ActivationTest : public testing::TestWithParam<Activation> {};

INSTANTIATE_TEST_SUITE_P(All, ActivationTest, testing::ValuesIn(kActivations),
                         [](const auto& each) { return std::string(each.param.name); });

// FNV-1a 64 over the result bits, least significant byte first, of every 997th bit pattern from 0:
// 4.3 million inputs, among them NaN, infinities and subnormals.
TEST_P(ActivationTest, GoldenDigest) {
  std::uint64_t digest = 0xcbf29ce484222325ull;
  for (std::uint64_t bits = 0; bits <= 0xffffffffull; bits += 997) {
    const std::uint32_t y = bits_of(GetParam().pinned(float_of(static_cast<std::uint32_t>(bits))));
    for (int shift = 0; shift < 32; shift += 8) {
      digest = (digest ^ ((y >> shift) & 0xffu)) * 0x100000001b3ull;
    }
  }
  EXPECT_EQ(digest, GetParam().digest) << std::hex << "0x" << digest;
}

// 2^20 bit patterns spread over all of [0, 2^32), then 2^20 values spread over [-120, 120].
TEST_P(ActivationTest, StaysWithinItsUlpBound) {
  constexpr std::uint32_t kSamples = 1u << 20;
  constexpr float kLargest = std::numeric_limits<float>::max();
  double worst = 0;
  float worst_at = 0;
  for (std::uint32_t k = 0; k < 2 * kSamples; ++k) {
    const float x = k < kSamples ? float_of(k * 4096u + k % 4096u)
                                 : (static_cast<float>(k - kSamples) - 524288.0f) / 4369.0f;
    if (!std::isfinite(x)) continue;
    const Wide truth = GetParam().reference(x);
    const float y = GetParam().pinned(x);
    if (std::fabs(truth) < std::numeric_limits<float>::min()) {
      // A subnormal (or zero) result: absolute error in units of the smallest subnormal.
      EXPECT_LE(std::fabs(y - truth), GetParam().max_ulp * 0x1p-149L) << std::hexfloat << x;
      continue;
    }
    if (std::fabs(truth) > kLargest) {
      EXPECT_GE(y, kLargest) << std::hexfloat << x;
      continue;
    }
    const Wide ulp = std::ldexp(Wide{1}, std::ilogb(truth) - 23);
    const double error = static_cast<double>(std::fabs(y - truth) / ulp);
    if (!(error <= worst)) worst = error, worst_at = x;
  }
  EXPECT_LE(worst, GetParam().max_ulp) << "at " << std::hexfloat << worst_at;
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST_P(ActivationTest, EveryNanGivesTheCanonicalNan) {
  for (const std::uint32_t nan :
       {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffc00000u, 0xffffffffu}) {
    EXPECT_EQ(bits_of(GetParam().pinned(float_of(nan))), 0x7fffffffu) << std::hex << nan;
  }
}

TEST(ActivationSpecialValues, AreTheSignedLimits) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const struct {
    float x, exp, relu, rest;  // rest: silu, gelu and gelu_tanh alike
  } rows[] = {
      {0.0f, 1.0f, 0.0f, 0.0f},
      {-0.0f, 1.0f, 0.0f, -0.0f},
      {kInf, kInf, kInf, kInf},
      {-kInf, 0.0f, 0.0f, -0.0f},
      {-0x1.fffffep+127f, 0.0f, 0.0f, -0.0f},
      {0x1.fffffep+127f, kInf, 0x1.fffffep+127f, 0x1.fffffep+127f},
      {0x1p-148f, 1.0f, 0x1p-148f, 0x1p-149f},
      {-0x1p-148f, 1.0f, 0.0f, -0x1p-149f},
      {-200.0f, 0.0f, 0.0f, -0.0f},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(bits_of(exp_pinned(row.x)), bits_of(row.exp)) << row.x;
    EXPECT_EQ(bits_of(relu(row.x)), bits_of(row.relu)) << row.x;
    EXPECT_EQ(bits_of(silu(row.x)), bits_of(row.rest)) << row.x;
    EXPECT_EQ(bits_of(gelu(row.x)), bits_of(row.rest)) << row.x;
    EXPECT_EQ(bits_of(gelu_tanh(row.x)), bits_of(row.rest)) << row.x;
  }
}

}  // namespace
}  // namespace detgemm::arithmetic
