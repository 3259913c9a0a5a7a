// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#define CUBLAS_VERSION 0  // none of cuBLAS's own declarations is wanted here

#include "tests/dropin/column_major.hpp"

// The stand-in for hipBLAS and hipBLASLt, against a fake, on the host. Not run on AMD hardware.

extern "C" {
int hipblasGemmEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha,
                  const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                  const void* beta, void* c, int type_c, int ldc, int compute, int algo);
int hipblasDgemm(void* handle, int ta, int tb, int m, int n, int k, const void* alpha,
                 const void* a, int lda, const void* b, int ldb, const void* beta, void* c,
                 int ldc);
int hipblasLtMatmulDescCreate(void** desc, int compute, int scale);
int hipblasLtMatmulDescDestroy(void* desc);
int hipblasLtMatmul(void* handle, void* desc, const void* alpha, const void* a,
                    const void* layout_a, const void* b, const void* layout_b, const void* beta,
                    const void* c, const void* layout_c, void* d, const void* layout_d,
                    const void* algo, void* workspace, std::size_t bytes, void* stream);
}

namespace detgemm::dropin_test {
namespace {

constexpr int kN = 111, kT = 112, kInvalidValue = 3, kNotSupported = 7, kPassed = 77;

void configure(const std::string& text) {
  char sentence[256] = "";
  ASSERT_EQ(detgemm_preload_configure(text.c_str(), sentence, sizeof sentence), 0) << sentence;
}

struct Arrays {
  Problem p;
  Array a, b, c;
  explicit Arrays(const Problem& problem)
      : p(problem),
        a(p.input, p.lda * p.a_columns(), 1),
        b(p.input, p.ldb * p.b_columns(), 2),
        c(p.output, p.ldc * p.n, 3) {}
};

Problem problem() {
  Problem p;
  p.op_a = FAKE_T;
  p.alpha = 0.5F;
  p.beta = 2.0F;
  pad(p, 3);
  return p;
}

TEST(HipBlas, TypesOfBothGenerationsHaveTheContractsBits) {
  configure(kReference);
  int handle = 0;
  for (const auto& [type, compute] : {std::pair{14, 2}, {168, 151}}) {
    Arrays x(problem());
    const Problem& p = x.p;
    const Array want = expected(p, x.a, x.b, x.c);
    ASSERT_EQ(hipblasGemmEx(&handle, kT, kN, 5, 3, 40, &p.alpha, x.a.data(), type,
                            static_cast<int>(p.lda), x.b.data(), type, static_cast<int>(p.ldb),
                            &p.beta, x.c.data(), type, static_cast<int>(p.ldc), compute, 0),
              0);
    EXPECT_TRUE(x.c == want);
  }
}

TEST(HipBlas, StatusAndOthers) {
  configure(kReference);
  int handle = 0;
  const double one = 1.0;
  double memory[4] = {};
  EXPECT_EQ(hipblasDgemm(nullptr, kN, kN, 1, 1, 1, &one, memory, 1, memory, 1, &one, memory, 1), 1);
  EXPECT_EQ(hipblasDgemm(&handle, kN, kN, 1, 1, 1, &one, memory, 1, memory, 1, &one, memory, 1),
            kPassed);
  EXPECT_EQ(hipblasGemmEx(&handle, kN, kN, -1, 1, 1, &one, memory, 14, 1, memory, 14, 1, &one,
                          memory, 14, 1, 2, 0),
            kInvalidValue);
  EXPECT_EQ(hipblasGemmEx(&handle, 0, kN, 1, 1, 1, &one, memory, 14, 1, memory, 14, 1, &one, memory,
                          14, 1, 2, 0),
            kInvalidValue)
      << "0 is cuBLAS's N, not hipBLAS's";
  configure(std::string(kReference) + "others = refuse\n");
  EXPECT_EQ(hipblasDgemm(&handle, kN, kN, 1, 1, 1, &one, memory, 1, memory, 1, &one, memory, 1),
            kNotSupported);
}

TEST(HipBlas, Lt) {
  configure(kReference);
  Arrays x(problem());
  const Problem& p = x.p;
  const Array want = expected(p, x.a, x.b, x.c);
  const std::int64_t la[] = {1, 0, 14, 0, 40, 5, p.lda};
  const std::int64_t lb[] = {1, 0, 14, 0, 40, 3, p.ldb};
  const std::int64_t lc[] = {1, 0, 14, 0, 5, 3, p.ldc};
  void* desc = nullptr;
  ASSERT_EQ(hipblasLtMatmulDescCreate(&desc, 2, 0), 0);
  static_cast<std::int64_t*>(desc)[0] = kT;
  int handle = 0;
  ASSERT_EQ(hipblasLtMatmul(&handle, desc, &p.alpha, x.a.data(), la, x.b.data(), lb, &p.beta,
                            x.c.data(), lc, x.c.data(), lc, nullptr, nullptr, 0, nullptr),
            0)
      << table();
  EXPECT_TRUE(x.c == want);
  static_cast<std::int64_t*>(desc)[2] = 65536;
  EXPECT_EQ(hipblasLtMatmul(&handle, desc, &p.alpha, x.a.data(), la, x.b.data(), lb, &p.beta,
                            x.c.data(), lc, x.c.data(), lc, nullptr, nullptr, 0, nullptr),
            kPassed);
  EXPECT_NE(table().find("its epilogue has no contract"), std::string::npos) << table();
  hipblasLtMatmulDescDestroy(desc);
}

}  // namespace
}  // namespace detgemm::dropin_test
