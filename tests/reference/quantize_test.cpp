// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The reference's quantiser, on all threads, against the same rule in a plain loop: shapes around a
// block, both dimensions of K, strides, both types of scales.

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/backend.hpp"
#include "detgemm/reference.hpp"

namespace detgemm {
namespace {

struct Made {
  std::vector<std::uint8_t> q;
  std::vector<float> wide;
};

Made quantized(const Backend& backend, const QuantizeSpec& spec, ScaleType type, std::int64_t rows,
               std::int64_t cols) {
  std::vector<std::uint16_t> from;
  std::uint32_t word = 3;
  for (std::int64_t i = 0; i < rows * (cols + 3); ++i) {
    word = word * 1664525U + 1013904223U;
    from.push_back(static_cast<std::uint16_t>(word >> 16));
  }
  const bool along = spec.k == KDimension::cols;
  const std::int64_t blocks = ((along ? rows : cols) + spec.per - 1) / spec.per;
  const std::int64_t leaves = ((along ? cols : rows) + spec.leaf_k - 1) / spec.leaf_k;
  Made made;
  made.q.assign(static_cast<std::size_t>(rows * (cols + 5)), 0x55);
  made.wide.assign(static_cast<std::size_t>((blocks + 1) * leaves), -1.0F);
  const ScalesOut scales{made.wide.data(), type, blocks, leaves, 1, blocks + 1};
  const Status status =
      quantize(backend, {}, spec,
               row_major(static_cast<const void*>(from.data()), rows, cols, DType::bf16, cols + 3),
               row_major(made.q.data(), rows, cols, DType::e4m3, cols + 5), scales);
  EXPECT_TRUE(status) << status.message();
  return made;
}

TEST(ReferenceQuantize, IsThePlainLoop) {
  for (const KDimension k : {KDimension::cols, KDimension::rows}) {
    for (const std::int64_t per : {1, 128}) {
      for (const std::int64_t leaf : {32, 128}) {
        for (const auto& [rows, cols] :
             {std::pair{1, 1}, std::pair{3, 127}, std::pair{129, 260}, std::pair{257, 33}}) {
          const ScaleType type = (rows + leaf) % 2 == 0 ? ScaleType::e8m0 : ScaleType::fp32;
          const QuantizeSpec spec{leaf, per, k};
          const Made expected = quantized(skeleton_backend(), spec, type, rows, cols);
          const Made got = quantized(reference_backend(), spec, type, rows, cols);
          EXPECT_EQ(expected.q, got.q);
          for (std::size_t i = 0; i < got.wide.size(); ++i) {
            EXPECT_EQ(std::bit_cast<std::uint32_t>(expected.wide[i]),
                      std::bit_cast<std::uint32_t>(got.wide[i]));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace detgemm
