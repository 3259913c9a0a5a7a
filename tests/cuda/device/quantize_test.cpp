// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The quantiser on the device against the rule, block by block on the host: every type and layout,
// tails, odd addresses, random bit patterns with NaN, Inf and subnormals.

#include "detgemm/quantize.hpp"

#include <cstring>
#include <random>

#include "core/contract/quantize.hpp"
#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Case {
  DType type;
  KDimension k;
  ScaleType scales;
  std::int64_t lines, length, leaf, per, pad;
  int offset;
  bool col_major, scales_by_leaf;
};

void put(const Array& array, const Bytes& bytes) {
  EXPECT_EQ(cudaMemcpy(array.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
            cudaSuccess);
  // From memory that is not pinned the copy may return before it has arrived.
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/// Compares one case; the number of numbers. What nobody may write is compared with them.
long compare(const Case& c, std::uint64_t seed, const OwnStream& stream, bool plant = false) {
  std::mt19937_64 random(seed);
  const bool along = c.k == KDimension::cols;
  const std::int64_t rows = along ? c.lines : c.length, cols = along ? c.length : c.lines;
  const std::int64_t ld = (c.col_major ? rows : cols) + c.pad;
  const auto count = static_cast<std::size_t>((c.col_major ? cols : rows) * ld + 64);
  const std::size_t size = size_of(c.type);
  Bytes from(count * size), to(count, 0x55);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = random();
    if (i / 700 % 3 != 0 && size == 4) bits = (bits & 0x807fffffU) | (110U + bits % 24U) << 23;
    if (i / 700 % 3 != 0 && size == 2) bits = (bits & 0x80ffU) | 0x3f00U;
    std::memcpy(from.data() + i * size, &bits, size);
  }
  const std::int64_t blocks = (c.lines + c.per - 1) / c.per;
  const std::int64_t leaves = (c.length + c.leaf - 1) / c.leaf;
  Bytes scales(static_cast<std::size_t>(blocks * leaves + 3) * 4, 0x55);
  const Array on_from(from.size()), on_to(to.size()), on_scales(scales.size());
  put(on_from, from);
  put(on_to, to);
  put(on_scales, scales);
  const QuantizeSpec spec{c.leaf, c.per, c.k};
  const auto view = [&](void* data, DType type) {
    void* first =
        static_cast<std::uint8_t*>(data) + static_cast<std::size_t>(c.offset) * size_of(type);
    return c.col_major ? col_major(first, rows, cols, type, ld)
                       : row_major(first, rows, cols, type, ld);
  };
  const auto out = [&](void* data) {
    return c.scales_by_leaf ? ScalesOut{data, c.scales, blocks, leaves, 1, blocks}
                            : ScalesOut{data, c.scales, blocks, leaves, leaves, 1};
  };
  const Status status = quantize(cuda_backend(), stream, spec, view(on_from.data(), c.type),
                                 view(on_to.data(), DType::e4m3), out(on_scales.data()));
  EXPECT_OK(status);
  stream.wait();
  const QuantizeArguments q =
      flatten(spec, view(from.data(), c.type), view(to.data(), DType::e4m3), out(scales.data()));
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) quantize_block(q, block, leaf);
  }
  if (plant) to[static_cast<std::size_t>(c.offset)] ^= 1;
  const bool same = on_to.bytes() == to && on_scales.bytes() == scales;
  EXPECT_EQ(same, !plant) << "type " << static_cast<int>(c.type) << " lines " << c.lines << " K "
                          << c.length << " leaf " << c.leaf << " per " << c.per << " k "
                          << static_cast<int>(c.k) << " by columns " << c.col_major;
  return static_cast<long>(rows * cols);
}

TEST(Quantize, TheDeviceHasTheRulesBits) {
  const OwnStream stream;
  long compared = 0;
  std::uint64_t seed = 1;
  for (const DType type : {DType::bf16, DType::fp16, DType::fp32}) {
    for (const ScaleType scales : {ScaleType::fp32, ScaleType::e8m0}) {
      for (const KDimension k : {KDimension::cols, KDimension::rows}) {
        for (int i = 0; i < 16; ++i) {
          const bool by_columns = (i & 1) != 0, odd = (i & 2) != 0, by_leaf = (i & 4) != 0;
          for (const std::int64_t leaf : {32, 128, 100, 4096}) {
            const std::int64_t length = i < 8 ? 1024 : 1000 + i;
            const std::int64_t lines = i == 0 && leaf == 128 ? 2000 : 37 + i;
            compared += compare({type, k, scales, lines, length, leaf, 1, odd ? 3 : 0, odd ? 5 : 0,
                                 by_columns, by_leaf},
                                ++seed, stream);
          }
          compared += compare({type, k, scales, 300, 517 + i, 128, 128, odd ? 1 : 4, odd ? 1 : 0,
                               by_columns, by_leaf},
                              ++seed, stream);
        }
      }
    }
  }
  EXPECT_GE(compared, 50'000'000);
}

/// The comparison sees one number that is another.
TEST(Quantize, ADifferenceIsSeen) {
  const OwnStream stream;
  compare({DType::fp32, KDimension::cols, ScaleType::fp32, 4, 256, 128, 1, 0, 0, false, false}, 3,
          stream, true);
}

}  // namespace
}  // namespace detgemm::test
