// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The floating-point mode of a program changes no bit of the products that the stand-in computes
// for it, and the program keeps its mode: PyTorch's set_flush_denormal, fesetround, -ffast-math.

#include <cmath>

#include "tests/dropin/column_major.hpp"
#include "tests/support/floating_point_mode.hpp"

namespace detgemm::dropin_test {
namespace {

// A subnormal alpha is a number: to a comparison in a mode that flushes operands it is 0, and a
// BLAS then reads neither A nor B. The others make subnormal results.
constexpr float kAlphas[] = {1.0F, 0x1.8p-127F, 0x1.4p-140F, 0x1p-126F, -0.7F};
constexpr float kBetas[] = {0.0F, 0.75F, 0x1.8p-130F};

Problem problem(int number) {
  Problem p;
  p.m = 3 + number % 7;
  p.n = 2 + number % 5;
  p.k = 20 + 13 * (number % 6);
  p.op_a = number % 2, p.op_b = number / 2 % 2;
  p.alpha = kAlphas[number % 5];
  p.beta = kBetas[number % 3];
  const bool wide = number % 4 == 0;
  p.input = wide ? DType::fp32 : number % 2 == 0 ? DType::fp16 : DType::bf16;
  p.output = DType::fp32;
  p.contract = wide                     ? "ieee_fma/fp32/chain"
               : p.input == DType::fp16 ? "hopper/fp16/chain"
                                        : "hopper/bf16/chain";
  pad(p, number % 3);
  return p;
}

int call(const Blas& blas, const Problem& p, const Array& a, const Array& b, Array& c) {
  return cublasGemmEx(blas, p.op_a, p.op_b, static_cast<int>(p.m), static_cast<int>(p.n),
                      static_cast<int>(p.k), &p.alpha, a.data(), code_of(p.input),
                      static_cast<int>(p.lda), b.data(), code_of(p.input), static_cast<int>(p.ldb),
                      &p.beta, c.data(), code_of(p.output), static_cast<int>(p.ldc),
                      FAKE_COMPUTE_32F, -1);
}

TEST(Modes, ChangeNoBitOfAProduct) {
  configure(kReference);
  const Blas blas;
  for (const test::Mode& mode : test::kModes) {
    for (int number = 0; number < 30; ++number) {
      const Problem p = problem(number);
      const auto seed = static_cast<std::uint64_t>(number) * 8 + 1;  // finite numbers
      const Array a(p.input, p.lda * p.a_columns(), seed);
      const Array b(p.input, p.ldb * p.b_columns(), seed + 2);
      const Array before(p.output, p.ldc * p.n, seed + 4);
      const Array want = expected(p, a, b, before);
      Array c = before;
      test::set_mode(mode);
      const std::uint64_t mine = test::mode_of_thread();
      const int status = call(blas, p, a, b, c);
      const std::uint64_t still = test::mode_of_thread();
      test::set_default_mode();
      ASSERT_EQ(status, 0) << mode.name << ", problem " << number;
      EXPECT_TRUE(c == want) << mode.name << ", problem " << number << ", alpha " << p.alpha
                             << ", beta " << p.beta << ", " << p.contract;
      EXPECT_EQ(mine, still) << mode.name << ", problem " << number;
    }
  }
  EXPECT_EQ(fake_calls("cublasGemmEx"), 0) << "computed by the fake";
}

/// The control: some of these results are subnormal, and C is not what decides them.
TEST(Modes, TheProblemsHaveSubnormalResults) {
  configure(kReference);
  int subnormal = 0, betas = 0;
  for (int number = 0; number < 30; ++number) {
    const Problem p = problem(number);
    const auto seed = static_cast<std::uint64_t>(number) * 8 + 1;
    const Array a(p.input, p.lda * p.a_columns(), seed);
    const Array b(p.input, p.ldb * p.b_columns(), seed + 2);
    const Array want = expected(p, a, b, Array(p.output, p.ldc * p.n, seed + 4));
    for (std::int64_t i = 0; i < p.m; ++i) {
      const std::uint32_t exponent = want.at(i) >> 23 & 0xffU;
      subnormal += exponent == 0 && (want.at(i) & 0x7fffffU) != 0 ? 1 : 0;
    }
    betas += p.beta != 0.0F ? 1 : 0;
  }
  EXPECT_GT(subnormal, 10);
  EXPECT_GT(betas, 10);
}

}  // namespace
}  // namespace detgemm::dropin_test
