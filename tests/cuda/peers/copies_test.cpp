// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <numeric>

#include "backends/cuda/runtime.hpp"
#include "tests/cuda/peers/fakes.hpp"

// Copies of lines on CUDA, which refuses pitches below the width and above 2^31 - 1.

namespace detgemm::test {
namespace {

using cuda::Cuda;

struct Copy {
  const char* what;
  std::size_t to_pitch, from_pitch, width, lines;
};

TEST(CudaCopies, EveryMatrixThatAViewAllows) {
  constexpr std::size_t kFar = std::size_t{1} << 31;
  // Lines of the last ones are further apart than memory is long, so there is one alone.
  for (const Copy& copy : {Copy{"a stored transpose of one token", 2, 2, 32, 1},
                           {"one line, no pitch", 0, 0, 32, 1},
                           {"packed", 8, 8, 8, 5},
                           {"gaps", 16, 8, 4, 5},
                           {"a column", 16, 2, 2, 9},
                           {"one line of a far pitch", kFar, kFar, 32, 1},
                           {"no lines", 8, 8, 8, 0}}) {
    std::vector<std::uint8_t> from(256), to(256, 0xee), expected(256, 0xee);
    std::iota(from.begin(), from.end(), std::uint8_t{0});
    for (std::size_t i = 0; i < copy.lines; ++i) {
      for (std::size_t x = 0; x < copy.width; ++x) {
        expected[i * copy.to_pitch + x] = from[i * copy.from_pitch + x];
      }
    }
    EXPECT_EQ(Cuda::copy_2d(to.data(), copy.to_pitch, from.data(), copy.from_pitch, copy.width,
                            copy.lines, nullptr),
              cudaSuccess)
        << copy.what;
    EXPECT_EQ(to, expected) << copy.what;
  }
}

/// A column of a matrix whose rows are 2 GiB apart: the addresses are there, the memory is not.
TEST(CudaCopies, FarLinesAreCopiedOneByOne) {
  fake_cuda().plain_copies = 0;
  fake_cuda().lost_writes = true;
  std::uint8_t from[8] = {}, to[8] = {};
  EXPECT_EQ(Cuda::copy_2d(to, 8, from, std::size_t{1} << 31, 8, 3, nullptr), cudaSuccess);
  EXPECT_EQ(fake_cuda().plain_copies, 3);
  fake_cuda().lost_writes = false;
}

}  // namespace
}  // namespace detgemm::test
