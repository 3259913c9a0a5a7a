// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include "tests/dropin/column_major.hpp"

// alpha and beta that are no ordinary numbers.

namespace detgemm::dropin_test {
namespace {

struct Call {
  Blas blas;
  Problem p;
  std::int64_t pad_of_nothing = (pad(p, 0), 0);
  Array a{p.input, p.lda* p.a_columns(), 1};
  Array b{p.input, p.ldb* p.b_columns(), 2};
  Array c{p.output, p.ldc* p.n, 3};

  int run() {
    return cublasGemmEx(blas, p.op_a, p.op_b, 5, 3, 40, &p.alpha, a.data(), FAKE_16BF, 5, b.data(),
                        FAKE_16BF, 40, &p.beta, c.data(), FAKE_16BF, 5, FAKE_COMPUTE_32F, -1);
  }
};

TEST(Numbers, InfAndNaNArePassedOn) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  struct Case {
    float alpha, beta;
    const char* why;
  };
  for (const Case& each : {Case{kInf, 0, "alpha is Inf: contracts take finite numbers"},
                           Case{-kInf, 0, "alpha is -Inf: contracts take finite numbers"},
                           Case{std::nanf(""), 0, "alpha is NaN: contracts take finite numbers"},
                           Case{1, kInf, "beta is Inf: contracts take finite numbers"},
                           Case{1, std::nanf(""), "beta is NaN: contracts take finite numbers"}}) {
    configure(kReference);
    Call call;
    call.p.alpha = each.alpha;
    call.p.beta = each.beta;
    EXPECT_EQ(call.run(), 0);
    EXPECT_EQ(fake_calls("cublasGemmEx"), 1) << each.why;
    EXPECT_NE(table().find(each.why), std::string::npos) << table();
    configure(std::string(kReference) + "others = refuse\n");
    testing::internal::CaptureStderr();
    EXPECT_EQ(call.run(), 15) << "not supported";
    EXPECT_NE(testing::internal::GetCapturedStderr().find(each.why), std::string::npos);
    EXPECT_EQ(fake_calls("cublasGemmEx"), 0);
  }
}

/// A BLAS reads neither A nor B then: not their NaN, and not their addresses.
TEST(Numbers, AlphaZeroIsAProductOfNothing) {
  for (const float beta : {0.0F, 1.0F, 0.3F}) {
    configure(kReference);
    Call call;
    call.p.alpha = 0.0F;
    call.p.beta = beta;
    const Array before = call.c;
    Problem nothing = call.p;
    nothing.k = 0;
    const Array want = expected(nothing, call.a, call.b, call.c);
    for (std::int64_t i = 0; i < call.p.m * call.p.k; ++i) call.a.set(i, 0x7fff);
    EXPECT_EQ(call.run(), 0);
    EXPECT_TRUE(call.c == want) << "beta " << beta;
    if (beta == 0.0F) {  // and not -0
      for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(call.c.at(i), 0U) << "+0";
    }
    if (beta == 1.0F) {
      EXPECT_TRUE(call.c == before);
    }
    EXPECT_EQ(cublasGemmEx(call.blas, 0, 0, 5, 3, 40, &call.p.alpha, nullptr, FAKE_16BF, 5, nullptr,
                           FAKE_16BF, 40, &call.p.beta, call.c.data(), FAKE_16BF, 5,
                           FAKE_COMPUTE_32F, -1),
              0);
    EXPECT_EQ(fake_calls("cublasGemmEx"), 0) << "nothing was passed on";
    EXPECT_NE(table().find("2 of them under a contract"), std::string::npos) << table();
  }
}

}  // namespace
}  // namespace detgemm::dropin_test
