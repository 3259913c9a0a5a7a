// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <functional>
#include <limits>

#include "tests/dropin/column_major.hpp"

namespace detgemm::dropin_test {
namespace {

constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;

/// The arguments of a cublasGemmEx that is right: 4 x 3 with 8 products.
struct Arguments {
  cublasHandle_t handle;
  int op_a = FAKE_N, op_b = FAKE_N;
  int m = 4, n = 3, k = 8;
  int lda = 4, ldb = 8, ldc = 4;
  int batch = 1;
  float one = 1.0F, zero = 0.0F;
  const float* alpha = &one;
  const float* beta = &zero;
  int type = FAKE_16BF, out = FAKE_16BF, compute = FAKE_COMPUTE_32F;
  Array a{DType::fp32, 64, 1}, b{DType::fp32, 64, 2}, c{DType::fp32, 64, 3};

  int gemm() {
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a.data(), type, lda, b.data(), type,
                        ldb, beta, c.data(), out, ldc, compute, -1);
  }
  int strided() {
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a.data(), type, lda, 0,
                                      b.data(), type, ldb, 0, beta, c.data(), out, ldc, 0, batch,
                                      compute, -1);
  }
};

struct BadCall {
  const char* rule;  ///< part of the sentence that the table shows
  std::function<void(Arguments&)> spoil;
};

const std::array kBadCalls{
    BadCall{"transa is not an operation", [](Arguments& x) { x.op_a = 7; }},
    BadCall{"transb is not an operation", [](Arguments& x) { x.op_b = -1; }},
    BadCall{"m is -1", [](Arguments& x) { x.m = -1; }},
    BadCall{"n is -2", [](Arguments& x) { x.n = -2; }},
    BadCall{"k is -3", [](Arguments& x) { x.k = -3; }},
    BadCall{"lda is 3: it must be at least 4", [](Arguments& x) { x.lda = 3; }},
    BadCall{"lda is 7: it must be at least 8",
            [](Arguments& x) {
              x.op_a = FAKE_T;
              x.lda = 7;
            }},
    BadCall{"ldb is 7: it must be at least 8", [](Arguments& x) { x.ldb = 7; }},
    BadCall{"ldb is 2: it must be at least 3",
            [](Arguments& x) {
              x.op_b = FAKE_C;
              x.ldb = 2;
            }},
    BadCall{"ldc is 3: it must be at least 4", [](Arguments& x) { x.ldc = 3; }},
    BadCall{"lda is 0: it must be at least 1",
            [](Arguments& x) {
              x.m = 0;
              x.lda = 0;
            }},
    BadCall{"alpha is null", [](Arguments& x) { x.alpha = nullptr; }},
    BadCall{"beta is null", [](Arguments& x) { x.beta = nullptr; }},
};

TEST(Arguments, BadOnesGetCublassOwnStatus) {
  const Blas blas;
  for (const BadCall& bad : kBadCalls) {
    for (const auto run : {&Arguments::gemm, &Arguments::strided}) {
      configure(kReference);
      Arguments x{blas};
      bad.spoil(x);
      const Array before = x.c;
      EXPECT_EQ((x.*run)(), kInvalidValue) << bad.rule;
      EXPECT_TRUE(x.c == before) << bad.rule;
      EXPECT_NE(table().find(bad.rule), std::string::npos) << bad.rule << "\n" << table();
      EXPECT_EQ(fake_calls("cublasGemmEx") + fake_calls("cublasGemmStridedBatchedEx"), 0);
    }
  }
}

TEST(Arguments, TheRightOnesAreTaken) {
  const Blas blas;
  configure(kReference);
  Arguments x{blas};
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_EQ(x.strided(), kSuccess);
  EXPECT_EQ(fake_calls("cublasGemmEx") + fake_calls("cublasGemmStridedBatchedEx"), 0);
}

TEST(Arguments, NegativeBatch) {
  const Blas blas;
  configure(kReference);
  Arguments x{blas};
  x.batch = -1;
  EXPECT_EQ(x.strided(), kInvalidValue);
}

TEST(Arguments, NoHandle) {
  configure(kReference);
  Arguments x{nullptr};
  EXPECT_EQ(x.gemm(), kNotInitialized);
  EXPECT_EQ(cublasSgemv_v2(nullptr, 0, 1, 1, &x.one, x.a.data(), 1, x.b.data(), 1, &x.zero,
                           x.c.data(), 1),
            kNotInitialized);
}

TEST(Arguments, NothingToDoLooksAtNothing) {
  const Blas blas;
  configure(kReference);
  Arguments x{blas};
  for (int* extent : {&x.m, &x.n}) {
    const int before = *extent;
    *extent = 0;
    EXPECT_EQ(cublasGemmEx(blas, 0, 0, x.m, x.n, x.k, x.alpha, nullptr, FAKE_16BF, 4, nullptr,
                           FAKE_16BF, 8, x.beta, nullptr, FAKE_16BF, 4, FAKE_COMPUTE_32F, -1),
              kSuccess);
    *extent = before;
  }
  x.batch = 0;
  EXPECT_EQ(x.strided(), kSuccess);
  EXPECT_NE(table().find("nothing to compute"), std::string::npos);
}

/// beta = 0 does not read C, not even a NaN; K = 0 leaves beta * C.
TEST(Arguments, ZeroBetaAndNoProducts) {
  const Blas blas;
  configure(kReference);
  Arguments x{blas};
  x.type = x.out = FAKE_32F;
  for (int i = 0; i < 12; ++i) x.c.set(i, 0x7fc00000U);
  ASSERT_EQ(x.gemm(), kSuccess);
  int nans = 0;
  for (int i = 0; i < 12; ++i) nans += (x.c.at(i) & 0x7fffffffU) > 0x7f800000U ? 1 : 0;
  EXPECT_LT(nans, 12);
  x.k = 0;
  ASSERT_EQ(x.gemm(), kSuccess);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(x.c.at(i), 0U);
  for (int i = 0; i < 12; ++i) x.c.set(i, 0x3f800000U);
  const float three = 3.0F;
  x.beta = &three;
  ASSERT_EQ(x.gemm(), kSuccess);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(x.c.at(i), 0x40400000U);
}

/// A product whose D overlaps A has no meaning under any contract; it is cuBLAS's to answer.
TEST(Arguments, OverlapIsPassedOn) {
  const Blas blas;
  configure(kReference);
  Arguments x{blas};
  EXPECT_EQ(cublasGemmEx(blas, 0, 0, 4, 3, 8, x.alpha, x.a.data(), FAKE_16BF, 4, x.b.data(),
                         FAKE_16BF, 8, x.beta, x.a.data(), FAKE_16BF, 4, FAKE_COMPUTE_32F, -1),
            kSuccess);
  EXPECT_EQ(fake_calls("cublasGemmEx"), 1);
  EXPECT_NE(table().find("overlaps"), std::string::npos) << table();
}

struct Other {
  const char* why;
  int type, out, compute;
};
constexpr Other kOthers[] = {
    {"its types have no contract", FAKE_64F, FAKE_64F, FAKE_COMPUTE_64F},
    {"its types have no contract", FAKE_8I, FAKE_32F, FAKE_COMPUTE_32F},
    {"the output is neither", FAKE_16BF, FAKE_16F, FAKE_COMPUTE_32F},
    {"its compute type has no contract", FAKE_16BF, FAKE_16BF, FAKE_COMPUTE_16F},
    {"its compute type has no contract", FAKE_32F, FAKE_32F, FAKE_COMPUTE_64F},
};

TEST(Others, ArePassedOnAndCounted) {
  const Blas blas;
  for (const Other& other : kOthers) {
    configure(kReference);
    Arguments x{blas};
    std::vector<double> memory(64, 1.0);
    const double one = 1.0;
    const int status =
        cublasGemmEx(blas, 0, 0, 4, 3, 8, &one, memory.data(), other.type, 4, memory.data() + 32,
                     other.type, 8, &one, memory.data(), other.out, 4, other.compute, -1);
    EXPECT_EQ(status, other.type == FAKE_8I ? kNotSupported : kSuccess) << "the fake's own answer";
    EXPECT_EQ(fake_calls("cublasGemmEx"), 1) << other.why;
    EXPECT_NE(table().find("passed on"), std::string::npos) << table();
    EXPECT_NE(table().find(other.why), std::string::npos) << other.why << "\n" << table();
  }
}

TEST(Others, AreRefusedWhereTheFileSaysSo) {
  const Blas blas;
  for (const Other& other : kOthers) {
    configure(std::string(kReference) + "others = refuse\n");
    std::vector<double> memory(64, 1.0);
    testing::internal::CaptureStderr();
    const int status = cublasGemmEx(blas, 0, 0, 4, 3, 8, memory.data(), memory.data(), other.type,
                                    4, memory.data(), other.type, 8, memory.data(), memory.data(),
                                    other.out, 4, other.compute, -1);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(status, kNotSupported);
    EXPECT_EQ(fake_calls("cublasGemmEx"), 0);
    EXPECT_NE(said.find("cublasGemmEx is refused: "), std::string::npos) << said;
    EXPECT_NE(said.find(other.why), std::string::npos) << said;
    EXPECT_NE(table().find("REFUSED"), std::string::npos) << table();
  }
}

/// What cuBLAS does inside of a call that was passed on is its own affair.
TEST(Others, CublasMayCallItself) {
  const Blas blas;
  configure(kReference);
  std::vector<double> memory(64, 1.0);
  const double one = 1.0;
  ASSERT_EQ(cublasDgemm_v2(blas, 0, 0, 4, 3, 8, &one, memory.data(), 4, memory.data() + 32, 8, &one,
                           memory.data(), 4),
            kSuccess);
  EXPECT_EQ(fake_calls("cublasDgemm_v2"), 1);
  EXPECT_EQ(fake_calls("cublasLtMatmul"), 1);
  EXPECT_NE(table().find("fp64 has no contract"), std::string::npos);
  EXPECT_EQ(table().find("cublasLtMatmul"), std::string::npos) << table();
}

TEST(PointerMode, NumbersOnADeviceAreReadUnlessTheyArePassedOn) {
  const Blas blas;
  configure(std::string(kReference) + "device_reads = pass\n");
  Arguments x{blas};
  ASSERT_EQ(cublasSetPointerMode_v2(blas, 1), kSuccess);
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_EQ(fake_calls("cublasGemmEx"), 1);
  EXPECT_NE(table().find("alpha and beta are on the device"), std::string::npos) << table();
  for (const char* said : {"", "device_reads = wait\n"}) {
    configure(std::string(kReference) + said);
    EXPECT_EQ(x.gemm(), kSuccess);
    EXPECT_EQ(fake_calls("cublasGemmEx"), 0);
  }
}

/// Which contract a call of fp32 gets when it allows fewer bits.
TEST(Types, Tf32) {
  const Blas blas;
  const std::string split = std::string(kReference) + "tf32 = hopper/tf32/chain\n";
  configure(kReference);
  Arguments x{blas};
  x.type = x.out = FAKE_32F;
  x.compute = FAKE_FAST_TF32;
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_NE(table().find("ieee_fma/fp32/chain->fp32"), std::string::npos) << table();
  configure(split);
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_NE(table().find("hopper/tf32/chain->fp32"), std::string::npos) << table();
  configure(split);
  x.compute = FAKE_COMPUTE_32F;
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_NE(table().find("ieee_fma/fp32/chain->fp32"), std::string::npos) << table();
  configure(split);
  ASSERT_EQ(cublasSetMathMode(blas, 3), kSuccess);
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_NE(table().find("hopper/tf32/chain->fp32"), std::string::npos) << table();
  configure(split);
  x.compute = FAKE_PEDANTIC_32F;  // whole inputs, whatever the handle allows
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_NE(table().find("ieee_fma/fp32/chain->fp32"), std::string::npos) << table();
}

/// A contract per direction.
TEST(Types, Directions) {
  const Blas blas;
  configure(std::string(kReference) + "bf16.TN = hopper/bf16/tree:64\nbf16.nt = pass\n");
  Arguments x{blas};
  x.m = x.n = x.k = 4;
  x.lda = x.ldb = x.ldc = 8;
  x.op_a = FAKE_T;
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_NE(table().find("hopper/bf16/tree:64->bf16"), std::string::npos) << table();
  x.op_b = FAKE_T;
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_NE(table().find("TT M 2-16"), std::string::npos) << table();
  x.op_a = FAKE_N;
  EXPECT_EQ(x.gemm(), kSuccess);
  EXPECT_EQ(fake_calls("cublasGemmEx"), 1);
  EXPECT_NE(table().find("leaves bf16.NT to the vendor"), std::string::npos) << table();
}

}  // namespace
}  // namespace detgemm::dropin_test
