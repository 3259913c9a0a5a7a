// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/format.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/arithmetic/formats.hpp"
#include "core/conformance/random.hpp"

// The harness reads formats with code of its own; here it meets the library's.

namespace detgemm::conformance {
namespace {

using arithmetic::to_float;

template <DType T>
void expect_same_values(std::uint32_t bits) {
  const double ours = decode(bits, T);
  const double theirs = to_float<T>(static_cast<arithmetic::Storage<T>>(bits));
  if (std::isnan(ours) || std::isnan(theirs)) {
    ASSERT_EQ(std::isnan(ours), std::isnan(theirs)) << name(T) << " " << bits;
    return;
  }
  ASSERT_EQ(ours, theirs) << name(T) << " " << bits;
  ASSERT_EQ(std::signbit(ours), std::signbit(theirs)) << name(T) << " " << bits;
}

TEST(Format, DecodesEveryNarrowPatternLikeTheLibrary) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    expect_same_values<DType::bf16>(bits);
    expect_same_values<DType::fp16>(bits);
    if (bits < 256) expect_same_values<DType::e4m3>(bits);
    if (bits < 256) expect_same_values<DType::e5m2>(bits);
  }
}

TEST(Format, DecodesAndRoundsRandomFp32LikeTheLibrary) {
  Random random(7);
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    expect_same_values<DType::fp32>(bits);
    expect_same_values<DType::tf32>(bits);
    const double value = decode(bits, DType::fp32);
    if (std::isnan(value)) continue;
    const float narrow = arithmetic::float_of(bits);
    ASSERT_EQ(encode(value, DType::bf16), arithmetic::to_bf16(narrow)) << bits;
    ASSERT_EQ(encode(value, DType::fp16), arithmetic::to_fp16(narrow)) << bits;
    ASSERT_EQ(encode(value, DType::fp32), bits);
  }
}

TEST(Format, EncodeInvertsDecode) {
  for (const DType type : {DType::bf16, DType::fp16, DType::e4m3, DType::e5m2}) {
    for (std::uint32_t bits = 0; bits < (size_of(type) == 1 ? 256U : 65536U); ++bits) {
      if (!std::isnan(decode(bits, type))) {
        ASSERT_EQ(encode(decode(bits, type), type), bits) << name(type);
      }
    }
  }
}

TEST(Format, EdgesOfE4m3) {
  EXPECT_EQ(decode(format_of(DType::e4m3).max(), DType::e4m3), 448.0);
  EXPECT_EQ(encode(1e9, DType::e4m3), 0x7eU);  // saturates: there is no Inf
  EXPECT_TRUE(std::isnan(decode(some_nan(DType::e4m3), DType::e4m3)));
}

TEST(Format, ZeroIsNoFiniteNonzeroNumberAndTheLeastOneIs) {
  for (const DType type : {DType::bf16, DType::fp16, DType::fp32}) {
    const std::uint32_t sign = type == DType::fp32 ? 0x80000000U : 0x8000U;
    const std::uint32_t inf = encode(INFINITY, type);
    for (const std::uint32_t s : {0U, sign}) {
      EXPECT_FALSE(is_finite_nonzero(s, type));
      EXPECT_TRUE(is_finite_nonzero(s + 1, type));
      EXPECT_TRUE(is_finite_nonzero(s + inf - 1, type));
      EXPECT_FALSE(is_finite_nonzero(s + inf, type));
    }
  }
}

}  // namespace
}  // namespace detgemm::conformance
