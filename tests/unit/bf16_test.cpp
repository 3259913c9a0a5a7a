// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The public conversions between fp32 and bf16: the same bits as a contract's output, and
// constexpr.

#include "detgemm/bf16.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/arithmetic/formats.hpp"

namespace detgemm {
namespace {

constexpr float bits(std::uint32_t pattern) { return std::bit_cast<float>(pattern); }

static_assert(bf16_from_float(1.0F) == 0x3f80);
static_assert(bf16_from_float(-0.0F) == 0x8000);
static_assert(bf16_from_float(bits(0x3f808000)) == 0x3f80, "a tie goes to the even one");
static_assert(bf16_from_float(bits(0x3f818000)) == 0x3f82, "a tie goes to the even one");
static_assert(bf16_from_float(bits(0x3f808001)) == 0x3f81);
static_assert(bf16_from_float(bits(0x7f7fffff)) == 0x7f80, "beyond the range");
static_assert(bf16_from_float(bits(0x00000001)) == 0);
static_assert(bf16_from_float(bits(0x00008001)) == 1, "subnormals are kept");
static_assert(bf16_from_float(bits(0xff800000)) == 0xff80);
static_assert(bf16_from_float(bits(0x7f800001)) == 0x7fff, "NaN, not Inf");
static_assert(bf16_from_float(bits(0xffffffff)) == 0x7fff);
static_assert(float_from_bf16(0x3fc0) == 1.5F);

TEST(Bf16, EveryNumberGoesThereAndBack) {
  for (std::uint32_t b = 0; b <= 0xffff; ++b) {
    const float value = float_from_bf16(static_cast<std::uint16_t>(b));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(value), b << 16);
    if (std::isnan(value)) {
      EXPECT_EQ(bf16_from_float(value), 0x7fff) << b;
    } else {
      EXPECT_EQ(bf16_from_float(value), b);
    }
  }
}

TEST(Bf16, RoundsAsAContractDoes) {
  // Around every bf16 number, where rounding changes: its lower half, the tie and their neighbours.
  for (std::uint32_t high = 0; high <= 0xffff; ++high) {
    for (const std::uint32_t low : {0x0U, 0x1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const float value = bits(high << 16 | low);
      ASSERT_EQ(bf16_from_float(value), arithmetic::to_bf16(value)) << high << " " << low;
    }
  }
}

}  // namespace
}  // namespace detgemm
