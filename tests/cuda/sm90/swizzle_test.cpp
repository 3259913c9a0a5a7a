// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/tile/swizzle.hpp"

#include <gtest/gtest.h>

#include <set>

// TMA's swizzles as address arithmetic, against the form in which the epilogue computes them.

namespace detgemm::test {
namespace {

/// The rule as the instruction set states it: with 16-byte units, the swizzle of 128, 64 or 32
/// bytes XORs bits 4.. of an address with its bits 7.., 3, 2 or 1 of them.
std::uint32_t by_rule(int row_bytes, std::uint32_t address) {
  const std::uint32_t bits = row_bytes == 128  ? 7U
                             : row_bytes == 64 ? 3U
                             : row_bytes == 32 ? 1U
                                               : 0U;
  return address ^ ((address >> 7 & bits) << 4);
}

/// Chunk `chunk` of row `row`, as the kernels compute it.
std::uint32_t chunk_address(int row_bytes, int row, int chunk) {
  using cuda::sm90::swizzled;
  switch (row_bytes) {
    case 128:
      return swizzled<128>(0, row, chunk);
    case 64:
      return swizzled<64>(0, row, chunk);
    case 32:
      return swizzled<32>(0, row, chunk);
    default:
      return swizzled<16>(0, row, chunk);
  }
}

TEST(Sm90Swizzle, IsTheRuleOfEveryWidth) {
  for (const int bytes : {16, 32, 64, 128}) {
    for (int row = 0; row < 256; ++row) {
      for (int chunk = 0; chunk < bytes / 16; ++chunk) {
        const auto plain = static_cast<std::uint32_t>(row * bytes + chunk * 16);
        ASSERT_EQ(chunk_address(bytes, row, chunk), by_rule(bytes, plain))
            << bytes << " bytes, row " << row << ", chunk " << chunk;
      }
    }
  }
}

TEST(Sm90Swizzle, IsABijectionOfABox) {
  for (const int bytes : {16, 32, 64, 128}) {
    for (const int rows : {8, 32, 64}) {
      std::set<std::uint32_t> seen;
      for (int row = 0; row < rows; ++row) {
        for (int chunk = 0; chunk < bytes / 16; ++chunk) {
          const std::uint32_t at = chunk_address(bytes, row, chunk);
          ASSERT_LT(at, static_cast<std::uint32_t>(rows * bytes));
          ASSERT_EQ(at % 16, 0U);
          ASSERT_EQ(at / 128, static_cast<std::uint32_t>(row * bytes + chunk * 16) / 128);
          seen.insert(at);
        }
      }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(rows * bytes / 16));
    }
  }
}

/// What swizzles are for: stmatrix writes one chunk of 8 consecutive rows at once, and no two of
/// them meet in a bank.
TEST(Sm90Swizzle, EightRowsMeetNoBankTwice) {
  for (int chunk = 0; chunk < 8; ++chunk) {
    for (const int bytes : {16, 32, 64, 128}) {
      if (chunk >= bytes / 16) continue;
      std::set<std::uint32_t> banks;
      for (int row = 0; row < 8; ++row) banks.insert(chunk_address(bytes, row, chunk) % 128 / 16);
      EXPECT_EQ(banks.size(), 8U) << bytes << " bytes, chunk " << chunk;
    }
  }
}

}  // namespace
}  // namespace detgemm::test
