// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cublasLt.h>

#include "tests/dropin/column_major.hpp"

// NVIDIA's own cuBLASLt makes the descriptions, which needs no GPU; the stand-in reads them through
// NVIDIA's own getters and computes on the host. Built where the library is.

namespace detgemm::dropin_test {
namespace {

TEST(RealLt, DescriptionsAreRead) {
  char sentence[256] = "";
  ASSERT_EQ(detgemm_preload_configure(kReference, sentence, sizeof sentence), 0) << sentence;
  Problem p;
  p.m = 16;
  p.n = 8;
  p.k = 32;
  p.op_a = FAKE_T;
  p.activation = Activation::gelu_tanh;
  p.beta = 0.5F;
  pad(p, 8);
  const Array bias(DType::bf16, p.m, 5);
  p.bias = &bias;
  const Array a(p.input, p.lda * p.a_columns(), 1);
  const Array b(p.input, p.ldb * p.b_columns(), 2);
  Array c(p.output, p.ldc * p.n, 3);
  const Array want = expected(p, a, b, c);

  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t la = nullptr, lb = nullptr, lc = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
  const void* at = bias.data();
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                           sizeof transposed),
            0);
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                           sizeof epilogue),
            0);
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at, sizeof at),
            0);
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&la, CUDA_R_16BF, 32, 16, p.lda), 0);
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&lb, CUDA_R_16BF, 32, 8, p.ldb), 0);
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&lc, CUDA_R_16BF, 16, 8, p.ldc), 0);
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), 0);
  // Handles need a GPU; the stand-in only asks whether there is one.
  auto* const handle = reinterpret_cast<cublasLtHandle_t>(&sentence);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  ASSERT_EQ(
      cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, lc, lc, preference, 1, &result, &found),
      0);
  EXPECT_EQ(found, 1);
  ASSERT_EQ(cublasLtMatmul(handle, desc, &p.alpha, a.data(), la, b.data(), lb, &p.beta, c.data(),
                           lc, c.data(), lc, &result.algo, nullptr, 0, nullptr),
            0)
      << table();
  EXPECT_TRUE(c == want);
  EXPECT_NE(table().find("cublasLtMatmul"), std::string::npos);
}

}  // namespace
}  // namespace detgemm::dropin_test
