// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// kernels/operations.hip, compiled and emulated, compared with the same in plain C++.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/arithmetic/formats.hpp"
#include "tests/gcn/kernel_file.hpp"

namespace detgemm::gcn {
namespace {

float as_float(u32 bits) { return arithmetic::float_of(bits); }

class Operations : public ::testing::TestWithParam<const char*> {
 protected:
  /// Runs a kernel of (in, out) with 128 threads per workgroup.
  std::vector<u32> run_kernel(const std::string& name, const std::vector<u32>& in,
                              std::size_t results, u32 groups = 1) {
    const std::string file = std::string(GCN_KERNELS) + "/operations." + GetParam() + ".s";
    const Kernel kernel(kernel_of(read_text(file), name));
    std::vector<u32> out(results, 0xdeadbeef);
    MemoryMap memory;
    memory.add(in.data(), in.size() * 4);
    memory.add(out.data(), out.size() * 4);
    const u32* from = in.data();
    u32* to = out.data();
    const void* values[] = {&from, &to};
    Launch launch;
    launch.grid = {groups, 1, 1};
    launch.block = {128, 1, 1};
    launch.dynamic_lds = 512;
    launch.arguments = pack_arguments(kernel.text, values, launch);
    run(kernel, launch, memory);
    return out;
  }
  static std::vector<u32> random_words(std::size_t count) {
    std::mt19937 random(11);
    std::vector<u32> words(count);
    for (u32& w : words) w = random();
    return words;
  }
};

TEST_P(Operations, DynamicLds) {
  const auto in = random_words(128);
  const auto out = run_kernel("reverse", in, 128);
  for (std::size_t t = 0; t < 128; ++t) EXPECT_EQ(out[t], in[127 - t]);
}

TEST_P(Operations, WavesWriteHalvesOfAWord) {
  const auto in = random_words(128);
  const auto out = run_kernel("halves", in, 64);
  for (std::size_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], (in[t] & 0xffff) | in[64 + t] << 16);
}

TEST_P(Operations, LanesAndBranches) {
  const auto in = random_words(128);
  const auto out = run_kernel("lanes", in, 256);
  for (std::size_t t = 0; t < 128; ++t) {
    const std::size_t wave = t & 64;
    const u32 x = in[t];
    EXPECT_EQ(out[t], in[wave + 9] + in[wave]);
    EXPECT_EQ(out[128 + t], t % 3 == 0 ? x * 3 : t % 3 == 1 ? x ^ 0x55 : x >> 3);
  }
}

TEST_P(Operations, DivisionIsCorrectlyRounded) {
  constexpr u32 groups = 400;
  auto in = random_words(groups * 256);
  // Half of the pairs have exponents close to each other; the rest are any bits, and some of their
  // quotients are subnormal.
  for (std::size_t i = 0; i < in.size(); i += 4) {
    for (std::size_t j = i; j < i + 2; ++j) in[j] = (in[j] & 0x80ffffff) | 0x3f000000;
  }
  const auto out = run_kernel("arithmetic", in, groups * 640, groups);
  for (std::size_t t = 0; t < in.size() / 2; ++t) {
    const u32 a = in[2 * t];
    const u32 b = in[2 * t + 1];
    const float quotient = as_float(a) / as_float(b);
    if (quotient == quotient) {
      ASSERT_EQ(out[5 * t], arithmetic::bits_of(quotient))
          << std::hexfloat << as_float(a) << " / " << as_float(b);
    } else {
      ASSERT_TRUE(arithmetic::is_nan(out[5 * t]));
    }
    ASSERT_EQ(out[5 * t + 1], a / (b | 1));
    ASSERT_EQ(out[5 * t + 2], static_cast<u32>(static_cast<u64>(a) * b >> 29));
    const float sum = std::fma(as_float(a), as_float(b), as_float(a));
    if (sum == sum) {
      ASSERT_EQ(out[5 * t + 3], arithmetic::bits_of(sum));
    }
    const u16 half = arithmetic::to_fp16(as_float(a));
    if ((half & 0x7fff) <= 0x7c00) {
      ASSERT_EQ(out[5 * t + 4], half);
    }
  }
}

TEST_P(Operations, LoadsToLds) {
  const auto in = random_words(128);
  const auto out = run_kernel("past_registers", in, 256);
  for (std::size_t t = 0; t < 128; ++t) {
    EXPECT_EQ(out[t], in[t]);
    if (std::string(GetParam()) == "gfx942") {
      EXPECT_EQ(out[128 + t], in[t ^ 64]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Operations, ::testing::Values("gfx942", "gfx90a"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace detgemm::gcn
