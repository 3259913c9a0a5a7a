// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/digest.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

namespace detgemm {
namespace {

std::uint64_t of(std::string_view text) { return digest_bytes(text.data(), text.size()); }

TEST(DigestBytes, IsPublishedFnv1a) {
  EXPECT_EQ(of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(of("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(of("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(digest_bytes("bar", 3, of("foo")), of("foobar"));
}

/// 3 x 5 numbers 0..14 of any type, stored with the given strides among bytes of noise.
std::uint64_t stored(std::int64_t row_stride, std::int64_t col_stride, std::size_t offset,
                     std::uint16_t noise) {
  std::vector<std::uint16_t> memory(400, noise);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      memory[offset + static_cast<std::size_t>(i * row_stride + j * col_stride)] =
          static_cast<std::uint16_t>(i * 5 + j);
    }
  }
  return digest_matrix({memory.data() + offset, 3, 5, row_stride, col_stride, DType::bf16}).value();
}

TEST(DigestMatrix, StridesAddressAndPaddingDoNotEnter) {
  const std::uint64_t packed = stored(5, 1, 0, 0);
  EXPECT_EQ(packed, 0xd998065a40da4f23U);  // golden: FNV-1a of the documented byte sequence
  EXPECT_EQ(stored(5, 1, 7, 0xffff), packed);
  EXPECT_EQ(stored(64, 1, 0, 0xffff), packed);
  EXPECT_EQ(stored(1, 3, 0, 0xabcd), packed);
  EXPECT_EQ(stored(1, 40, 3, 0xabcd), packed);
}

TEST(DigestMatrix, TypeShapeAndElementsEnter) {
  std::vector<std::uint16_t> memory(16);
  std::iota(memory.begin(), memory.end(), std::uint16_t{1});
  const auto digest = [&](std::int64_t rows, std::int64_t cols, DType type) {
    return digest_matrix({memory.data(), rows, cols, cols, 1, type}).value();
  };
  const std::uint64_t base = digest(4, 4, DType::bf16);
  EXPECT_NE(digest(2, 8, DType::bf16), base);
  EXPECT_NE(digest(8, 2, DType::bf16), base);
  EXPECT_NE(digest(4, 4, DType::fp16), base);
  memory[15] ^= 1;
  EXPECT_NE(digest(4, 4, DType::bf16), base);
}

TEST(DigestMatrix, EmptyOnesEndAtOnceHoweverLong) {
  const auto tall = digest_matrix({nullptr, INT64_MAX, 0, 0, 1, DType::fp32});
  const auto wide = digest_matrix({nullptr, 0, INT64_MAX, 0, 1, DType::fp32});
  ASSERT_TRUE(tall && wide);
  EXPECT_NE(*tall, *wide);
}

TEST(DigestMatrix, RefusesABadView) {
  EXPECT_EQ(digest_matrix({nullptr, 2, 2, 2, 1, DType::bf16}).status().message(),
            "matrix.data is null: the view has 2 x 2 elements");
}

}  // namespace
}  // namespace detgemm
