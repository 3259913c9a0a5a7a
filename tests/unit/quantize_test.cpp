// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The quantiser: its rule against a search through all of e4m3, digests that pin it, rows alone and
// in a batch, and every refusal.

#include "core/contract/quantize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "core/arithmetic/step.hpp"
#include "core/contract/epilogue.hpp"
#include "detgemm/backend.hpp"
#include "detgemm/digest.hpp"
#include "tests/support/finds.hpp"

namespace detgemm {
namespace {

double value_of(int byte) {
  const int field = byte >> 3 & 15;
  const int fraction = byte & 7;
  const double magnitude =
      field == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, field - 7 - 3);
  return (byte & 0x80) != 0 ? -magnitude : magnitude;
}

/// The nearest of the 254 numbers, the even one of two; beyond 448 the largest.
int nearest(float v) {
  if (!std::isfinite(v)) return 0x7f;
  const int sign = std::signbit(v) ? 0x80 : 0;
  const double magnitude = std::fabs(static_cast<double>(v));
  int best = 0;
  for (int byte = 1; byte < 0x7f; ++byte) {
    const double now = std::fabs(value_of(byte) - magnitude);
    const double before = std::fabs(value_of(best) - magnitude);
    if (now < before || (now == before && byte % 2 == 0)) best = byte;
  }
  return best | sign;
}

TEST(Quantize, E4m3IsTheNearestOfItsNumbers) {
  std::uint32_t word = 1;
  for (int i = 0; i < 20000; ++i) {
    word = word * 1664525U + 1013904223U;
    const float v = std::bit_cast<float>((word & 0x807fffffU) | (105U + word % 40U) << 23);
    ASSERT_EQ(e4m3_of(v), nearest(v)) << v;
  }
  for (int byte = 0; byte < 0x7f; ++byte) {  // the numbers, what lies between two, and beside that
    const auto here = static_cast<float>(value_of(byte));
    ASSERT_EQ(e4m3_of(here), byte);
    ASSERT_EQ(e4m3_of(-here), byte | 0x80);
    if (byte == 0x7e) continue;
    const auto between = static_cast<float>((value_of(byte) + value_of(byte + 1)) / 2);
    for (float v : {between, std::nextafter(between, 0.0F), std::nextafter(between, 1e9F)}) {
      ASSERT_EQ(e4m3_of(v), nearest(v)) << v;
    }
  }
  EXPECT_EQ(e4m3_of(464.0F), 0x7e);
  EXPECT_EQ(e4m3_of(-3e38F), 0xfe);
  EXPECT_EQ(e4m3_of(-0.0F), 0x80);
  EXPECT_EQ(e4m3_of(-std::numeric_limits<float>::infinity()), 0x7f);
  EXPECT_EQ(e4m3_of(std::nanf("")), 0x7f);
}

TEST(Quantize, TheScaleIsTheRuleOfTheHeader) {
  const auto scale = [](float amax, ScaleType type) {
    return scale_of_block(std::bit_cast<std::uint32_t>(amax), type);
  };
  EXPECT_EQ(scale(448.0F, ScaleType::fp32), 1.0F);
  EXPECT_EQ(scale(448.0F, ScaleType::e8m0), 1.0F);
  EXPECT_EQ(scale(1.0F, ScaleType::fp32), 1.0F / 448.0F);
  EXPECT_EQ(scale(1.0F, ScaleType::e8m0), 0x1p-8F);
  EXPECT_EQ(scale(449.0F, ScaleType::e8m0), 2.0F);
  EXPECT_EQ(scale(0.0F, ScaleType::fp32), 1e-4F / 448.0F);
  EXPECT_EQ(scale(0.0F, ScaleType::e8m0), 0x1p-22F);
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(scale(largest, ScaleType::fp32), largest / 448.0F);
  EXPECT_EQ(scale(largest, ScaleType::e8m0), 0x1p+120F);
}

/// A matrix of fp32 with NaN, Inf, zeros of both signs, tiny and huge numbers; quantised.
struct Quantized {
  std::int64_t rows, cols;
  QuantizeSpec spec;
  std::vector<float> from;
  std::vector<std::uint8_t> to;
  std::vector<float> wide;
  std::vector<std::uint8_t> narrow;
  ScalesOut scales;

  Quantized(std::int64_t m, std::int64_t k, QuantizeSpec given, ScaleType type)
      : rows(m), cols(k), spec(given) {
    for (std::int64_t i = 0; i < m * k; ++i) from.push_back(element(i));
    to.assign(from.size(), 0x55);
    const bool along = spec.k == KDimension::cols;
    scales.type = type;
    scales.blocks = ((along ? m : k) + spec.per - 1) / spec.per;
    scales.leaves = ((along ? k : m) + spec.leaf_k - 1) / spec.leaf_k;
    scales.stride = scales.leaves;
    wide.assign(static_cast<std::size_t>(scales.blocks * scales.leaves), -1.0F);
    narrow.assign(wide.size(), 77);
    scales.data = type == ScaleType::fp32 ? static_cast<void*>(wide.data()) : narrow.data();
  }
  static float element(std::int64_t i) {
    const auto word = static_cast<std::uint32_t>(i + 1) * 2654435761U;
    if (word % 97 == 0) return std::nanf("");
    if (word % 101 == 0) return std::numeric_limits<float>::infinity();
    if (word % 13 == 0) return word % 2 == 0 ? 0.0F : -0.0F;
    return std::bit_cast<float>((word & 0x807fffffU) | (112U + word % 30U) << 23);
  }
  Status run(const Backend& backend = skeleton_backend()) {
    return quantize(backend, {}, spec,
                    row_major(static_cast<const void*>(from.data()), rows, cols, DType::fp32),
                    row_major(to.data(), rows, cols, DType::e4m3), scales);
  }
  std::string digest() const {
    const std::uint64_t q = digest_bytes(to.data(), to.size());
    return hex(digest_bytes(scales.data, narrow.size() * size_of(scales.type), q));
  }
};

TEST(Quantize, DigestsArePinned) {
  const auto digest = [](std::int64_t leaf, std::int64_t per, KDimension k, ScaleType type) {
    Quantized q(200, 300, {leaf, per, k}, type);
    EXPECT_TRUE(q.run());
    return q.digest();
  };
  EXPECT_EQ(digest(128, 1, KDimension::cols, ScaleType::fp32), "91ae66b915296b5e");
  EXPECT_EQ(digest(128, 1, KDimension::cols, ScaleType::e8m0), "b980c8114b891358");
  EXPECT_EQ(digest(128, 128, KDimension::cols, ScaleType::fp32), "6b22b8035bedbe91");
  EXPECT_EQ(digest(32, 128, KDimension::rows, ScaleType::e8m0), "0dd46aa11eac57f3");
}

TEST(Quantize, RowsAreAloneWhatTheyAreInABatch) {
  Quantized all(150, 300, {128, 1, KDimension::cols}, ScaleType::fp32);
  ASSERT_TRUE(all.run());
  for (std::int64_t row : {0, 1, 77, 149}) {
    Quantized one(1, 300, all.spec, ScaleType::fp32);
    std::copy_n(all.from.begin() + row * 300, 300, one.from.begin());
    ASSERT_TRUE(one.run());
    EXPECT_TRUE(std::equal(one.to.begin(), one.to.end(), all.to.begin() + row * 300)) << row;
    EXPECT_TRUE(std::equal(one.wide.begin(), one.wide.end(), all.wide.begin() + row * 3)) << row;
  }
}

TEST(Quantize, NumbersFollowTheRuleOneByOne) {
  Quantized q(130, 70, {64, 128, KDimension::cols}, ScaleType::fp32);
  ASSERT_TRUE(q.run());
  for (std::int64_t block = 0; block < 2; ++block) {
    for (std::int64_t leaf = 0; leaf < 2; ++leaf) {
      float amax = 0.0F;
      const auto each = [&](auto&& body) {
        for (std::int64_t i = block * 128; i < std::min<std::int64_t>(130, block * 128 + 128);
             ++i) {
          for (std::int64_t k = leaf * 64; k < std::min<std::int64_t>(70, leaf * 64 + 64); ++k) {
            body(static_cast<std::size_t>(i * 70 + k));
          }
        }
      };
      each([&](std::size_t at) {
        if (std::isfinite(q.from[at])) amax = std::max(amax, std::fabs(q.from[at]));
      });
      const float s = std::max(amax, 1e-4F) / 448.0F;
      const float inverse = 1.0F / s;
      EXPECT_EQ(q.wide[static_cast<std::size_t>(block * 2 + leaf)], s);
      each([&](std::size_t at) { ASSERT_EQ(q.to[at], nearest(q.from[at] * inverse)) << at; });
    }
  }
}

TEST(Quantize, NarrowInputsAreTheirFp32Values) {
  std::vector<std::uint16_t> narrow;
  std::vector<float> wide;
  for (std::int64_t i = 0; i < 256; ++i) {
    const auto bits = static_cast<std::uint16_t>(0x3c00 + i * 37);
    narrow.push_back(bits);
    wide.push_back(std::bit_cast<float>(std::uint32_t{bits} << 16));
  }
  std::vector<std::uint8_t> x(256), y(256);
  float sx[2] = {}, sy[2] = {};
  const QuantizeSpec spec;
  ASSERT_TRUE(quantize(skeleton_backend(), {}, spec,
                       row_major(static_cast<const void*>(narrow.data()), 1, 256, DType::bf16),
                       row_major(x.data(), 1, 256, DType::e4m3),
                       {sx, ScaleType::fp32, 1, 2, 2, 1}));
  ASSERT_TRUE(quantize(skeleton_backend(), {}, spec,
                       row_major(static_cast<const void*>(wide.data()), 1, 256, DType::fp32),
                       row_major(y.data(), 1, 256, DType::e4m3),
                       {sy, ScaleType::fp32, 1, 2, 2, 1}));
  EXPECT_EQ(x, y);
  EXPECT_EQ(sx[0], sy[0]);
  EXPECT_EQ(sx[1], sy[1]);
}

struct Row {
  const char* sentence;
  void (*spoil)(Quantized&);
};

TEST(Quantize, RefusesWithASentence) {
  const Row rows[] = {
      {"leaf_k is 0: it must be from 1 to 2\\^31", [](Quantized& q) { q.spec.leaf_k = 0; }},
      {"per is 2: a scale is that of 1 or 128 lines", [](Quantized& q) { q.spec.per = 2; }},
      {"k is 5: it must be cols \\(0\\) or rows \\(1\\)",
       [](Quantized& q) { q.spec.k = static_cast<KDimension>(5); }},
      {"scales has 4 x 2 scales: it must have 4 x 3", [](Quantized& q) { q.scales.leaves = 2; }},
      {"scales.type is unknown \\(9\\)",
       [](Quantized& q) { q.scales.type = static_cast<ScaleType>(9); }},
      {"scales.data is null: there are 4 x 3", [](Quantized& q) { q.scales.data = nullptr; }},
      {"scales has 4 x 3 scales with strides \\(2, 1\\): no two scales may overlap",
       [](Quantized& q) { q.scales.stride = 2; }},
      {"scales has 4 x 3 scales with strides \\(3, 0\\): no two scales may overlap",
       [](Quantized& q) { q.scales.leaf_stride = 0; }},
      {"to overlaps scales: they must not share memory",
       [](Quantized& q) { q.scales.data = q.to.data(); }},
      {"from overlaps scales: they must not share memory",
       [](Quantized& q) { q.scales.data = q.from.data(); }},
      {"from.cols is -1", [](Quantized& q) { q.cols = -1; }},
  };
  for (const Row& row : rows) {
    Quantized q(4, 70, {32, 1, KDimension::cols}, ScaleType::fp32);
    const auto before = q.to;
    row.spoil(q);
    const Status status = q.run();
    ASSERT_FALSE(status) << row.sentence;
    EXPECT_TRUE(test::finds(status.message(), row.sentence))
        << "said:   " << status.message() << "\nwanted: " << row.sentence;
    EXPECT_EQ(q.to, before);
  }
}

}  // namespace
}  // namespace detgemm
