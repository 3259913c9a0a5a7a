// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The epilogue's rules one by one (CONTRACT.md section 5), each by a case that another reading of
// the rule gives other bits for.

#include "core/contract/epilogue.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace detgemm {
namespace {

using arithmetic::bits_of;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kUlp = 0x1p-23F;
constexpr std::uint32_t kCanonical = 0x7fffffffU;

struct Row {
  const char* rule;
  Epilogue epilogue;
  float acc, c, bias;
  std::uint32_t wanted;
};

constexpr Activation none = Activation::none;
constexpr Activation relu = Activation::relu;

const Row kRows[] = {
    {"alpha = 0 is no short cut: 0 * Inf is NaN", {0, 0, false, none}, kInf, 0, 0, kCanonical},
    {"alpha = 0: 0 * -1 is -0", {0, 0, false, none}, -1, 0, 0, 0x80000000U},
    {"alpha = -0: -0 * 1 is -0", {-0.0F, 0, false, none}, 1, 0, 0, 0x80000000U},
    {"alpha = 0: NaN stays", {0, 0, false, none}, kNaN, 0, 0, kCanonical},
    {"alpha = 1 keeps -0", {1, 0, false, none}, -0.0F, 0, 0, 0x80000000U},
    {"beta = 0: C is not read", {1, 0, false, none}, 1, kNaN, 0, 0x3f800000U},
    {"beta = -0: C is not read", {1, -0.0F, false, none}, -0.0F, kInf, 0, 0x80000000U},
    {"no bias: it is not read", {1, 0, false, none}, 1, 0, kNaN, 0x3f800000U},
    {"a bias of +0 is added to -0", {1, 0, true, none}, -0.0F, 0, 0.0F, 0},
    {"beta * C of -0 is added to -0", {1, 1, false, none}, -0.0F, -0.0F, 0, 0x80000000U},
    {"subnormal products are kept", {0x1p-20F, 0, false, none}, 0x1p-129F, 0, 0, 1},
    // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: rounded before 2^-24 more is added, or not.
    {"alpha * acc is rounded by itself",
     {1 + 0x1p-12F, 0, true, none},
     1 + 0x1p-12F,
     0,
     0x1p-24F,
     0x3f801000U},
    {"beta * C is rounded by itself",
     {1, 1 + 0x1p-12F, false, none},
     0x1p-24F,
     1 + 0x1p-12F,
     0,
     0x3f801000U},
    // (1 + 2^-24) + 2^-24 is 1, 1 + (2^-24 + 2^-24) is not.
    {"C is added before the bias", {1, 1, true, none}, 1, 0x1p-24F, 0x1p-24F, 0x3f800000U},
    {"the bias is added last", {1, 1, true, none}, 0x1p-24F, 0x1p-24F, 1, 0x3f800001U},
    {"Inf minus Inf is NaN", {1, 1, false, none}, kInf, -kInf, 0, kCanonical},
    {"a NaN of the bias is canonical", {1, 0, true, none}, 1, 0, -kNaN, kCanonical},
    {"relu comes after the bias", {1, 0, true, relu}, -1, 0, 3, 0x40000000U},
    {"relu of -0 is +0", {1, 0, false, relu}, -0.0F, 0, 0, 0},
    {"relu of -Inf is +0", {1, 0, false, relu}, -kInf, 0, 0, 0},
    {"relu of NaN is NaN", {1, 0, false, relu}, kNaN, 0, 0, kCanonical},
    {"relu of a small number", {1, 0, false, relu}, 0x1p-149F, 0, 0, 1},
    {"silu of 1", {1, 0, false, Activation::silu}, 1, 0, 0, 0x3f3b26a8U},
    {"gelu of 1", {1, 0, false, Activation::gelu}, 1, 0, 0, 0x3f57625eU},
    {"gelu_tanh of 1", {1, 0, false, Activation::gelu_tanh}, 1, 0, 0, 0x3f57585cU},
};

TEST(Epilogue, EveryRuleHasItsBits) {
  for (const Row& row : kRows) {
    const float got = apply_epilogue(row.epilogue, row.acc, row.c, row.bias);
    EXPECT_EQ(row.wanted, bits_of(got)) << row.rule << ": " << std::hex << bits_of(got);
  }
}

TEST(Epilogue, OnlyRoundsMeansAllFour) {
  EXPECT_TRUE(only_rounds({1, 0, false, none}));
  EXPECT_TRUE(only_rounds({1, -0.0F, false, none}));
  EXPECT_FALSE(only_rounds({1 + kUlp, 0, false, none}));
  EXPECT_FALSE(only_rounds({0, 0, false, none}));
  EXPECT_FALSE(only_rounds({1, 1, false, none}));
  EXPECT_FALSE(only_rounds({1, 0, true, none}));
  EXPECT_FALSE(only_rounds({1, 0, false, relu}));
}

TEST(Epilogue, OutputsAreRoundedToNearestEvenInTheirType) {
  const struct {
    float value;
    std::uint16_t bf16, fp16;
  } rows[] = {
      {1 + 0x1p-8F, 0x3f80, 0x3c04},             // a tie for bf16, exact for fp16
      {1 + 0x1p-8F + 0x1p-20F, 0x3f81, 0x3c04},  // just above it
      {1 + 0x3p-8F, 0x3f82, 0x3c0c},             // a tie that goes up
      {1 + 0x1p-11F, 0x3f80, 0x3c00},            // a tie for fp16
      {1 + 0x3p-11F, 0x3f80, 0x3c02},            //
      {65519.996F, 0x4780, 0x7bff},              // below the middle of 65504 and 65536
      {65520.0F, 0x4780, 0x7c00},                // that middle overflows fp16
      {-65520.0F, 0xc780, 0xfc00},               //
      {0x1.fep+127F, 0x7f7f, 0x7c00},            // the largest bf16
      {0x1.fefffep+127F, 0x7f7f, 0x7c00},        // just below the middle to 2^128
      {0x1.ffp+127F, 0x7f80, 0x7c00},            // that middle overflows bf16
      {0x1p-24F, 0x3380, 0x0001},                // the least subnormal of fp16
      {0x1p-25F, 0x3300, 0x0000},                // a tie with zero
      {0x1.000002p-25F, 0x3300, 0x0001},         //
      {-0x1p-25F, 0xb300, 0x8000},               // zeros keep their sign
      {0x1.ffcp-15F, 0x3880, 0x0400},            // a tie between the largest subnormal and 2^-14
      {0x1p-133F, 0x0001, 0x0000},               // the least subnormal of bf16
      {0x1p-134F, 0x0000, 0x0000},               // a tie with zero
      {0x1.8p-134F, 0x0001, 0x0000},             //
      {-kInf, 0xff80, 0xfc00},                   //
      {arithmetic::float_of(kCanonical), 0x7fff, 0x7fff},
  };
  for (const auto& row : rows) {
    std::uint16_t got[3] = {0x5a5a, 0x5a5a, 0x5a5a};
    store_rounded(got, 1, DType::bf16, row.value);
    EXPECT_EQ(row.bf16, got[1]) << std::hexfloat << row.value << std::hex << " bf16 " << got[1];
    store_rounded(got, 1, DType::fp16, row.value);
    EXPECT_EQ(row.fp16, got[1]) << std::hexfloat << row.value << std::hex << " fp16 " << got[1];
    EXPECT_TRUE(got[0] == 0x5a5a && got[2] == 0x5a5a);
    float whole[3] = {0, 0, 0};
    store_rounded(whole, 1, DType::fp32, row.value);
    EXPECT_EQ(bits_of(row.value), bits_of(whole[1]));
    EXPECT_EQ(bits_of(row.value), bits_of(load_as_float(whole, 1, DType::fp32)));
  }
}

TEST(Epilogue, SixteenBitElementsAreReadExactly) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const std::uint16_t array[2] = {0x3c00, static_cast<std::uint16_t>(bits)};
    const float wide = load_as_float(array, 1, DType::bf16);
    if (wide == wide) {
      EXPECT_EQ(bits << 16, bits_of(wide));
    }
    const float half = load_as_float(array, 1, DType::fp16);
    if (half != half) continue;
    std::uint16_t back = 0;
    store_rounded(&back, 0, DType::fp16, half);
    EXPECT_EQ(bits, back);
  }
}

}  // namespace
}  // namespace detgemm
