// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/dropin/column_major.hpp"

namespace detgemm::dropin_test {
namespace {

/// One kind of call: types, and how alpha and beta are read.
struct Types {
  DType input, output;
  const char* contract;
  int compute;
};
constexpr Types kTypes[] = {
    {DType::bf16, DType::bf16, "hopper/bf16/chain", FAKE_COMPUTE_32F},
    {DType::bf16, DType::fp32, "hopper/bf16/chain", FAKE_COMPUTE_32F},
    {DType::fp16, DType::fp16, "hopper/fp16/chain", FAKE_COMPUTE_32F},
    {DType::fp16, DType::fp32, "hopper/fp16/chain", FAKE_COMPUTE_32F},
    {DType::fp32, DType::fp32, "ieee_fma/fp32/chain", FAKE_COMPUTE_32F},
    {DType::fp16, DType::fp16, "hopper/fp16/chain", FAKE_COMPUTE_16F},
};

std::uint16_t half(float value) {
  const auto narrow = static_cast<_Float16>(value);
  std::uint16_t bits = 0;
  std::memcpy(&bits, &narrow, 2);
  return bits;
}

Problem draw(std::mt19937_64& random, const Types& types) {
  constexpr std::int64_t kExtents[] = {0, 1, 2, 3, 7, 8, 17, 33};
  constexpr std::int64_t kDepths[] = {0, 1, 5, 16, 31, 64, 130};
  constexpr float kFactors[] = {1.0F, 0.0F, -0.5F, 2.0F, 0.75F};
  Problem p;
  p.op_a = static_cast<int>(random() % 3);
  p.op_b = static_cast<int>(random() % 3);
  p.m = kExtents[random() % 8];
  p.n = kExtents[random() % 8];
  p.k = kDepths[random() % 7];
  p.alpha = kFactors[random() % 5];
  p.beta = kFactors[random() % 5];
  p.contract = types.contract;
  p.input = types.input;
  p.output = types.output;
  pad(p, static_cast<std::int64_t>(random() % 4));
  return p;
}

struct Scalars {
  float alpha, beta;
  std::uint16_t half_alpha, half_beta;
  const void* at[2];
  Scalars(const Problem& p, int compute)
      : alpha(p.alpha), beta(p.beta), half_alpha(half(p.alpha)), half_beta(half(p.beta)) {
    at[0] = compute == FAKE_COMPUTE_16F ? static_cast<const void*>(&half_alpha) : &alpha;
    at[1] = compute == FAKE_COMPUTE_16F ? static_cast<const void*>(&half_beta) : &beta;
  }
};

std::string described(const Problem& p) {
  return "ops " + std::to_string(p.op_a) + std::to_string(p.op_b) + " m " + std::to_string(p.m) +
         " n " + std::to_string(p.n) + " k " + std::to_string(p.k) + " alpha " +
         std::to_string(p.alpha) + " beta " + std::to_string(p.beta) + " " + p.contract;
}

/// Every form of one product writes the same bytes.
TEST(Gemm, RandomProblemsHaveTheContractsBits) {
  configure(kReference);
  const Blas blas;
  std::mt19937_64 random(1);
  int wide = 0;
  for (int i = 0; i < 300; ++i) {
    const Types& types = kTypes[static_cast<std::size_t>(i) % std::size(kTypes)];
    const Problem p = draw(random, types);
    const Array a(p.input, p.lda * p.a_columns(), random());
    const Array b(p.input, p.ldb * p.b_columns(), random());
    const Array before(p.output, p.ldc * p.n, random());
    const Array want = expected(p, a, b, before);
    const Scalars s(p, types.compute);
    const int in = code_of(p.input);
    const int out = code_of(p.output);
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    const int lda = static_cast<int>(p.lda), ldb = static_cast<int>(p.ldb);
    const int ldc = static_cast<int>(p.ldc);
    Array c = before;
    ASSERT_EQ(cublasGemmEx(blas, p.op_a, p.op_b, m, n, k, s.at[0], a.data(), in, lda, b.data(), in,
                           ldb, s.at[1], c.data(), out, ldc, types.compute, -1),
              0);
    ASSERT_TRUE(c == want) << described(p);
    c = before;
    ASSERT_EQ(
        cublasGemmEx_64(blas, p.op_a, p.op_b, p.m, p.n, p.k, s.at[0], a.data(), in, p.lda, b.data(),
                        in, p.ldb, s.at[1], c.data(), out, p.ldc, types.compute, -1),
        0);
    ASSERT_TRUE(c == want) << described(p);
    if (types.compute == FAKE_COMPUTE_16F) {
      c = before;
      ASSERT_EQ(cublasHgemm(blas, p.op_a, p.op_b, m, n, k, s.at[0], a.data(), lda, b.data(), ldb,
                            s.at[1], c.data(), ldc),
                0);
      ASSERT_TRUE(c == want) << described(p);
      continue;
    }
    c = before;
    ASSERT_EQ(cublasSgemmEx(blas, p.op_a, p.op_b, m, n, k, &p.alpha, a.data(), in, lda, b.data(),
                            in, ldb, &p.beta, c.data(), out, ldc),
              0);
    ASSERT_TRUE(c == want) << described(p);
    if (p.input != DType::fp32) continue;
    ++wide;
    c = before;
    ASSERT_EQ(cublasSgemm_v2(blas, p.op_a, p.op_b, m, n, k, &p.alpha, a.data(), lda, b.data(), ldb,
                             &p.beta, c.data(), ldc),
              0);
    ASSERT_TRUE(c == want) << described(p);
    c = before;
    ASSERT_EQ(cublasSgemm_v2_64(blas, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, a.data(), p.lda,
                                b.data(), p.ldb, &p.beta, c.data(), p.ldc),
              0);
    ASSERT_TRUE(c == want) << described(p);
  }
  EXPECT_GT(wide, 30);
  EXPECT_EQ(fake_calls("cublasGemmEx") + fake_calls("cublasSgemm_v2"), 0) << "computed by the fake";
}

/// A control: the fake's own order of sums is not the contract's, so a call that was passed on
/// could not have been taken for ours.
TEST(Gemm, TheFakesOwnBitsAreOthers) {
  configure("backend = reference\ntable = none\nbf16 = pass\n");
  const Blas blas;
  Problem p;
  p.k = 300;
  p.output = DType::fp32;
  pad(p, 0);
  const Array a(p.input, p.lda * p.a_columns(), 3);
  const Array b(p.input, p.ldb * p.b_columns(), 4);
  Array c(p.output, p.ldc * p.n, 5);
  const Array want = expected(p, a, b, c);
  ASSERT_EQ(cublasGemmEx(blas, 0, 0, 5, 3, 300, &p.alpha, a.data(), FAKE_16BF, 5, b.data(),
                         FAKE_16BF, 300, &p.beta, c.data(), FAKE_32F, 5, FAKE_COMPUTE_32F, -1),
            0);
  EXPECT_EQ(fake_calls("cublasGemmEx"), 1);
  EXPECT_FALSE(c == want);
}

/// A control: an operand that is taken the wrong way round is noticed.
TEST(Gemm, AWrongTranspositionIsNoticed) {
  configure(kReference);
  const Blas blas;
  Problem p;
  p.m = p.n = p.k = 8;
  pad(p, 0);
  const Array a(p.input, 64, 3);
  const Array b(p.input, 64, 4);
  Array c(p.output, 64, 5);
  const Array want = expected(p, a, b, c);
  ASSERT_EQ(cublasGemmEx(blas, FAKE_T, 0, 8, 8, 8, &p.alpha, a.data(), FAKE_16BF, 8, b.data(),
                         FAKE_16BF, 8, &p.beta, c.data(), FAKE_16BF, 8, FAKE_COMPUTE_32F, -1),
            0);
  EXPECT_FALSE(c == want);
}

TEST(Gemm, StridedBatches) {
  configure(kReference);
  const Blas blas;
  std::mt19937_64 random(2);
  for (int i = 0; i < 60; ++i) {
    const Types& types = kTypes[static_cast<std::size_t>(i) % 5];
    Problem p = draw(random, types);
    const auto batch = static_cast<int>(random() % 4);
    const auto gap = static_cast<std::int64_t>(random() % 5);
    // A stride of 0 is one operand for the whole batch.
    const std::int64_t sa = i % 3 == 0 ? 0 : p.lda * p.a_columns() + gap;
    const std::int64_t sb = p.ldb * p.b_columns() + gap;
    const std::int64_t sc = p.ldc * p.n + gap;
    const Array a(p.input, sa * batch + p.lda * p.a_columns(), random());
    const Array b(p.input, sb * batch, random());
    Array c(p.output, sc * batch, random());
    Array want = c;
    for (int e = 0; e < batch; ++e) want = expected(p, a, b, want, e * sa, e * sb, e * sc);
    const Scalars s(p, types.compute);
    Array got = c;
    ASSERT_EQ(cublasGemmStridedBatchedEx(blas, p.op_a, p.op_b, static_cast<int>(p.m),
                                         static_cast<int>(p.n), static_cast<int>(p.k), s.at[0],
                                         a.data(), code_of(p.input), static_cast<int>(p.lda), sa,
                                         b.data(), code_of(p.input), static_cast<int>(p.ldb), sb,
                                         s.at[1], got.data(), code_of(p.output),
                                         static_cast<int>(p.ldc), sc, batch, types.compute, -1),
              0);
    ASSERT_TRUE(got == want) << described(p) << " batch " << batch;
    got = c;
    ASSERT_EQ(cublasGemmStridedBatchedEx_64(blas, p.op_a, p.op_b, p.m, p.n, p.k, s.at[0], a.data(),
                                            code_of(p.input), p.lda, sa, b.data(), code_of(p.input),
                                            p.ldb, sb, s.at[1], got.data(), code_of(p.output),
                                            p.ldc, sc, batch, types.compute, -1),
              0);
    ASSERT_TRUE(got == want) << described(p) << " batch " << batch;
    if (p.input != DType::fp32) continue;
    ASSERT_EQ(
        cublasSgemmStridedBatched_64(blas, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, a.data(), p.lda,
                                     sa, b.data(), p.ldb, sb, &p.beta, c.data(), p.ldc, sc, batch),
        0);
    ASSERT_TRUE(c == want) << described(p) << " batch " << batch;
  }
}

/// Of a long batch only some entries are looked at before the first is written; all are computed.
TEST(Gemm, LongBatches) {
  configure(kReference);
  const Blas blas;
  constexpr int kBatch = 150;
  Problem p;
  pad(p, 0);
  const std::int64_t sb = p.ldb * p.n, sc = p.ldc * p.n + 1;
  const Array a(p.input, p.lda * p.k, 5);
  const Array b(p.input, sb * kBatch, 6);
  Array c(p.output, sc * kBatch, 7);
  Array want = c;
  for (int e = 0; e < kBatch; ++e) want = expected(p, a, b, want, 0, e * sb, e * sc);
  ASSERT_EQ(
      cublasGemmStridedBatchedEx_64(blas, 0, 0, p.m, p.n, p.k, &p.alpha, a.data(), FAKE_16BF, p.lda,
                                    0, b.data(), FAKE_16BF, p.ldb, sb, &p.beta, c.data(), FAKE_16BF,
                                    p.ldc, sc, kBatch, FAKE_COMPUTE_32F, -1),
      0);
  EXPECT_TRUE(c == want);
  EXPECT_EQ(fake_calls("cublasGemmStridedBatchedEx_64"), 0);
}

/// One D among 200 lies on its A, in an entry that is neither first nor last: 850 + 2 i = 1000 + i
/// at i = 150. Nothing is written under a contract.
TEST(Gemm, ALongBatchThatCrossesAnOperandIsPassedOn) {
  configure(kReference);
  const Blas blas;
  Array memory(DType::bf16, 2000, 7);
  const Array b(DType::bf16, 1, 9);
  const float one = 1.0F, zero = 0.0F;
  auto* const at = static_cast<std::uint16_t*>(memory.data());
  const auto multiply = [&](std::uint16_t* d) {
    return cublasGemmStridedBatchedEx(blas, 0, 0, 1, 1, 1, &one, at + 1000, FAKE_16BF, 1, 1,
                                      b.data(), FAKE_16BF, 1, 0, &zero, d, FAKE_16BF, 1, 2, 200,
                                      FAKE_COMPUTE_32F, -1);
  };
  ASSERT_EQ(multiply(at + 850), 0);
  EXPECT_EQ(fake_calls("cublasGemmStridedBatchedEx"), 1);
  EXPECT_NE(table().find("overlaps"), std::string::npos) << table();
  // Beside it, no D meets an A.
  ASSERT_EQ(multiply(at + 1201), 0);
  EXPECT_EQ(fake_calls("cublasGemmStridedBatchedEx"), 1);
}

TEST(Gemm, BatchesOfAddresses) {
  configure(kReference);
  const Blas blas;
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) {
    const Types& types = kTypes[static_cast<std::size_t>(i) % 5];
    Problem p = draw(random, types);
    p.m = std::max<std::int64_t>(p.m, 1);
    pad(p, 1);
    constexpr int kBatch = 3;
    std::vector<Array> a, b, c, want;
    std::vector<const void*> at_a, at_b;
    std::vector<void*> at_c;
    for (int e = 0; e < kBatch; ++e) {
      a.emplace_back(p.input, p.lda * p.a_columns(), random());
      b.emplace_back(p.input, p.ldb * p.b_columns(), random());
      c.emplace_back(p.output, p.ldc * p.n, random());
      want.push_back(expected(p, a.back(), b.back(), c.back()));
    }
    for (int e = 0; e < kBatch; ++e) {
      at_a.push_back(a[static_cast<std::size_t>(e)].data());
      at_b.push_back(b[static_cast<std::size_t>(e)].data());
      at_c.push_back(c[static_cast<std::size_t>(e)].data());
    }
    const Scalars s(p, types.compute);
    ASSERT_EQ(
        cublasGemmBatchedEx(blas, p.op_a, p.op_b, static_cast<int>(p.m), static_cast<int>(p.n),
                            static_cast<int>(p.k), s.at[0], at_a.data(), code_of(p.input),
                            static_cast<int>(p.lda), at_b.data(), code_of(p.input),
                            static_cast<int>(p.ldb), s.at[1], at_c.data(), code_of(p.output),
                            static_cast<int>(p.ldc), kBatch, types.compute, -1),
        0);
    for (std::size_t e = 0; e < kBatch; ++e) ASSERT_TRUE(c[e] == want[e]) << described(p);
  }
}

/// y = op(A)*x has the bits of the product with one column, whatever the increments.
TEST(Gemv, IsAProductOfOneColumn) {
  configure(kReference);
  const Blas blas;
  std::mt19937_64 random(4);
  for (int i = 0; i < 40; ++i) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 20);
    const std::int64_t cols = 1 + static_cast<std::int64_t>(random() % 90);
    const int op = static_cast<int>(random() % 3);
    const int incx = 1 + static_cast<int>(random() % 3);
    const int incy = 1 + static_cast<int>(random() % 3);
    Problem p;
    p.op_a = op;
    p.m = op == FAKE_N ? rows : cols;
    p.k = op == FAKE_N ? cols : rows;
    p.n = 1;
    p.input = p.output = DType::fp32;
    p.contract = "ieee_fma/fp32/chain";
    p.alpha = 0.5F;
    p.beta = i % 2 == 0 ? 0.0F : -1.0F;
    pad(p, 2);
    const Array a(DType::fp32, p.lda * cols, random());
    Array x(DType::fp32, p.k * incx, random());
    Array y(DType::fp32, p.m * incy, random());
    Array dense_x(DType::fp32, p.ldb, 0);
    Array dense_y(DType::fp32, p.ldc, 0);
    for (std::int64_t j = 0; j < p.k; ++j) dense_x.set(j, x.at(j * incx));
    for (std::int64_t j = 0; j < p.m; ++j) dense_y.set(j, y.at(j * incy));
    const Array product = expected(p, a, dense_x, dense_y);
    Array want = y;
    for (std::int64_t j = 0; j < p.m; ++j) want.set(j * incy, product.at(j));
    ASSERT_EQ(
        cublasSgemv_v2(blas, op, static_cast<int>(rows), static_cast<int>(cols), &p.alpha, a.data(),
                       static_cast<int>(p.lda), x.data(), incx, &p.beta, y.data(), incy),
        0);
    ASSERT_TRUE(y == want);
  }
  EXPECT_EQ(fake_calls("cublasSgemv_v2"), 0);
}

TEST(Gemv, BatchesOfShortTypes) {
  configure(kReference);
  const Blas blas;
  Problem p;
  p.n = 1;
  p.op_a = FAKE_T;
  pad(p, 0);
  constexpr int kBatch = 3;
  const Array a(DType::bf16, p.k * p.m * kBatch, 7);
  const Array x(DType::bf16, p.k * kBatch, 8);
  Array y(DType::bf16, p.m * kBatch, 9);
  Array want = y;
  for (int e = 0; e < kBatch; ++e) {
    want = expected(p, a, x, want, e * p.k * p.m, e * p.k, e * p.m);
  }
  ASSERT_EQ(cublasTSTgemvStridedBatched(blas, FAKE_T, 40, 5, &p.alpha, a.data(), 40, 200, x.data(),
                                        1, 40, &p.beta, y.data(), 1, 5, kBatch),
            0);
  EXPECT_TRUE(y == want);
}

/// The arithmetic of rows that ride in batches: the point of it all.
TEST(Gemm, ARowHasTheSameBitsInAnyBatch) {
  configure(kReference);
  const Blas blas;
  const float one = 1.0F;
  const float zero = 0.0F;
  const Array w(DType::bf16, 256 * 16, 1);
  const Array x(DType::bf16, 256 * 64, 2);
  Array many(DType::fp32, 16 * 64, 3);
  Array single(DType::fp32, 16, 4);
  const auto multiply = [&](int tokens, Array& d) {
    return cublasGemmEx(blas, FAKE_T, FAKE_N, 16, tokens, 256, &one, w.data(), FAKE_16BF, 256,
                        x.data(), FAKE_16BF, 256, &zero, d.data(), FAKE_32F, 16, FAKE_COMPUTE_32F,
                        -1);
  };
  const auto same = [&] {
    int equal = 0;
    for (int i = 0; i < 16; ++i) equal += many.at(i) == single.at(i) ? 1 : 0;
    return equal == 16;
  };
  ASSERT_EQ(multiply(64, many), 0);
  ASSERT_EQ(multiply(1, single), 0);
  EXPECT_TRUE(same());
  configure("backend = reference\ntable = none\nbf16 = pass\n");
  ASSERT_EQ(multiply(64, many), 0);
  ASSERT_EQ(multiply(1, single), 0);
  EXPECT_FALSE(same()) << "the control: without the contract the batch shows";
}

}  // namespace
}  // namespace detgemm::dropin_test
