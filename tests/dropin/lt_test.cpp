// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/dropin/column_major.hpp"

namespace detgemm::dropin_test {
namespace {

constexpr int kNone = 1, kRelu = 2, kBias = 4, kReluBias = 6, kGelu = 32, kGeluBias = 36;

/// A description of cuBLASLt's, destroyed with it.
class Description {
 public:
  Description(int compute, int scale) {
    EXPECT_EQ(cublasLtMatmulDescCreate(&at_, compute, scale), 0);
  }
  ~Description() { cublasLtMatmulDescDestroy(at_); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  template <class T>
  void set(int attribute, T value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(at_, attribute, &value, sizeof value), 0);
  }
  void* get() const { return at_; }

 private:
  void* at_ = nullptr;
};

class Layout {
 public:
  Layout(DType type, std::int64_t rows, std::int64_t cols, std::int64_t ld, bool row_order) {
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&at_, code_of(type), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(cols), ld),
              0);
    set(1, row_order ? 1 : 0);
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(at_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  template <class T>
  void set(int attribute, T value) {
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(at_, attribute, &value, sizeof value), 0);
  }
  void batch(std::int32_t count, std::int64_t stride) {
    set(5, count);
    set(6, stride);
  }
  void* get() const { return at_; }

 private:
  void* at_ = nullptr;
};

/// A matrix in rows is its transpose in columns, element for element.
Array turned(const Array& x, std::int64_t rows, std::int64_t cols, std::int64_t ld_from,
             std::int64_t ld_to) {
  Array out(x.type(), std::max<std::int64_t>(1, ld_to * rows), 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) out.set(i * ld_to + j, x.at(j * ld_from + i));
  }
  return out;
}

struct Epilogue {
  int code;
  Activation activation;
  bool bias;
};
constexpr Epilogue kEpilogues[] = {
    {kNone, Activation::none, false},      {kRelu, Activation::relu, false},
    {kBias, Activation::none, true},       {kReluBias, Activation::relu, true},
    {kGelu, Activation::gelu_tanh, false}, {kGeluBias, Activation::gelu_tanh, true},
};

struct Types {
  DType input, output;
  const char* contract;
};
constexpr Types kTypes[] = {{DType::bf16, DType::bf16, "hopper/bf16/chain"},
                            {DType::bf16, DType::fp32, "hopper/bf16/chain"},
                            {DType::fp16, DType::fp16, "hopper/fp16/chain"},
                            {DType::fp32, DType::fp32, "ieee_fma/fp32/chain"}};

/// A product whose four matrices each lie in columns or in rows.
void check(std::mt19937_64& random, int i) {
  const Types& types = kTypes[static_cast<std::size_t>(i) % 4];
  const Epilogue& epilogue = kEpilogues[static_cast<std::size_t>(i) % 6];
  const auto orders = static_cast<unsigned>(random());
  const bool row_a = orders & 1U, row_b = orders & 2U, row_d = orders & 4U;
  Problem p;
  p.op_a = static_cast<int>(random() % 2);
  p.op_b = static_cast<int>(random() % 2);
  p.m = 1 + static_cast<std::int64_t>(random() % 20);
  p.n = 1 + static_cast<std::int64_t>(random() % 20);
  p.k = static_cast<std::int64_t>(random() % 70);
  p.alpha = i % 3 == 0 ? 0.5F : 1.0F;
  p.beta = i % 2 == 0 ? 0.0F : 0.25F;
  p.contract = types.contract;
  p.input = types.input;
  p.output = types.output;
  p.activation = epilogue.activation;
  pad(p, 0);
  const Array bias(p.output, p.m, random());
  if (epilogue.bias) p.bias = &bias;
  const Array a(p.input, p.lda * p.a_columns(), random());
  const Array b(p.input, p.ldb * p.b_columns(), random());
  const Array c(p.output, p.ldc * p.n, random());
  const Array want = expected(p, a, b, c);

  const std::int64_t rows_a = p.op_a == FAKE_N ? p.m : p.k, cols_a = p.a_columns();
  const std::int64_t rows_b = p.op_b == FAKE_N ? p.k : p.n, cols_b = p.b_columns();
  const std::int64_t extra = 3;
  const Array a_rows = turned(a, rows_a, cols_a, p.lda, cols_a + extra);
  const Array b_rows = turned(b, rows_b, cols_b, p.ldb, cols_b + extra);
  const Array c_rows = turned(c, p.m, p.n, p.ldc, p.n + extra);
  // C in a place of its own, or D itself.
  const bool in_place = orders & 8U;
  Array d = row_d ? c_rows : c;
  const Array apart = d;
  const Layout la(p.input, rows_a, cols_a, row_a ? cols_a + extra : p.lda, row_a);
  const Layout lb(p.input, rows_b, cols_b, row_b ? cols_b + extra : p.ldb, row_b);
  const Layout ld(p.output, p.m, p.n, row_d ? p.n + extra : p.ldc, row_d);
  Description desc(FAKE_COMPUTE_32F, FAKE_32F);
  desc.set(3, p.op_a);
  desc.set(4, p.op_b);
  desc.set(7, static_cast<std::uint32_t>(epilogue.code));
  desc.set(8, epilogue.bias ? bias.data() : nullptr);
  void* handle = nullptr;
  ASSERT_EQ(cublasLtCreate(&handle), 0);
  ASSERT_EQ(cublasLtMatmul(handle, desc.get(), &p.alpha, row_a ? a_rows.data() : a.data(), la.get(),
                           row_b ? b_rows.data() : b.data(), lb.get(), &p.beta,
                           in_place ? std::as_const(d).data() : apart.data(), ld.get(), d.data(),
                           ld.get(), nullptr, nullptr, 0, nullptr),
            0);
  cublasLtDestroy(handle);
  const Array got = row_d ? turned(d, p.n, p.m, p.n + extra, p.ldc) : d;
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t r = 0; r < p.m; ++r) {
      ASSERT_EQ(got.at(j * p.ldc + r), want.at(j * p.ldc + r))
          << "problem " << i << " at (" << r << ", " << j << ")";
    }
  }
}

TEST(Lt, EveryOrderOperationAndEpilogue) {
  configure(kReference);
  std::mt19937_64 random(11);
  for (int i = 0; i < 300; ++i) ASSERT_NO_FATAL_FAILURE(check(random, i));
  EXPECT_EQ(fake_calls("cublasLtMatmul"), 0) << table();
}

/// A small product with everything in columns, whose parts a test changes.
struct Small {
  Description desc{FAKE_COMPUTE_32F, FAKE_32F};
  Layout la{DType::bf16, 4, 8, 4, false}, lb{DType::bf16, 8, 3, 8, false};
  Layout lc{DType::bf16, 4, 3, 4, false}, ld{DType::bf16, 4, 3, 4, false};
  Array a{DType::bf16, 64, 1}, b{DType::bf16, 64, 2}, c{DType::bf16, 64, 3}, d{DType::bf16, 64, 4};
  float one = 1.0F, zero = 0.0F;
  const void* alpha = &one;
  const void* beta = &zero;
  void* handle = nullptr;

  Small() { EXPECT_EQ(cublasLtCreate(&handle), 0); }
  ~Small() { cublasLtDestroy(handle); }

  int run(const cublasLtMatmulAlgo_t* algo = nullptr) {
    return cublasLtMatmul(handle, desc.get(), alpha, a.data(), la.get(), b.data(), lb.get(), beta,
                          c.data(), lc.get(), d.data(), ld.get(), algo, nullptr, 0, nullptr);
  }
  int ask(cublasLtMatmulHeuristicResult_t& result, int& found) {
    void* preference = nullptr;
    EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), 0);
    const int status = cublasLtMatmulAlgoGetHeuristic(
        handle, desc.get(), la.get(), lb.get(), lc.get(), ld.get(), preference, 1, &result, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    return status;
  }
};

TEST(Lt, Batches) {
  configure(kReference);
  Small x;
  constexpr int kBatch = 2;
  x.la.batch(kBatch, 32);
  x.lb.batch(kBatch, 0);  // one B for all
  x.lc.batch(kBatch, 12);
  x.ld.batch(kBatch, 14);
  const Array bias(DType::bf16, 8, 5);
  x.desc.set(7, static_cast<std::uint32_t>(kBias));
  x.desc.set(8, bias.data());
  x.desc.set(10, std::int64_t{4});
  const float half = 0.5F;
  x.beta = &half;
  Problem p;
  p.m = 4;
  p.k = 8;
  p.beta = half;
  pad(p, 0);
  Array want = x.d;
  for (int e = 0; e < kBatch; ++e) {
    Array part(DType::bf16, 4, 0);
    for (int i = 0; i < 4; ++i) part.set(i, bias.at(4 * e + i));
    p.bias = &part;
    Array c_e = want;
    for (int i = 0; i < 12; ++i) c_e.set(14 * e + i, x.c.at(12 * e + i));
    want = expected(p, x.a, x.b, c_e, 32 * e, 0, 14 * e);
  }
  ASSERT_EQ(x.run(), 0);
  EXPECT_TRUE(x.d == want);
  EXPECT_EQ(fake_calls("cublasLtMatmul"), 0);
}

/// C of a long batch begins apart from D and ends as D itself: C_i - D_i = 199 - i elements, so the
/// entry before the last has a C that covers half of its D.
TEST(Lt, ALongBatchWhoseCRunsIntoDIsPassedOn) {
  configure(kReference);
  constexpr int kBatch = 200;
  const Array a(DType::bf16, 2, 1);
  const Array b(DType::bf16, 1, 2);
  Array memory(DType::bf16, 1000, 3);
  Layout la(DType::bf16, 2, 1, 2, false), lb(DType::bf16, 1, 1, 1, false);
  Layout lc(DType::bf16, 2, 1, 2, false), ld(DType::bf16, 2, 1, 2, false);
  la.batch(kBatch, 0);
  lb.batch(kBatch, 0);
  lc.batch(kBatch, 2);
  ld.batch(kBatch, 3);
  Description desc(FAKE_COMPUTE_32F, FAKE_32F);
  const float one = 1.0F;
  auto* const d = static_cast<std::uint16_t*>(memory.data());
  void* handle = nullptr;
  ASSERT_EQ(cublasLtCreate(&handle), 0);
  EXPECT_EQ(cublasLtMatmul(handle, desc.get(), &one, a.data(), la.get(), b.data(), lb.get(), &one,
                           d + 199, lc.get(), d, ld.get(), nullptr, nullptr, 0, nullptr),
            0);
  cublasLtDestroy(handle);
  EXPECT_EQ(fake_calls("cublasLtMatmul"), 1);
  EXPECT_NE(table().find("overlaps"), std::string::npos) << table();
}

/// cuBLASLt's GELU is the one with tanh. A control: the one with erf has other bits, which fp32
/// shows.
TEST(Lt, GeluIsTheOneWithTanh) {
  configure(kReference);
  Small x;
  x.desc.set(7, static_cast<std::uint32_t>(kGelu));
  const float quarter = 0.25F;
  const Layout fp32(DType::fp32, 4, 3, 4, false);
  Array d(DType::fp32, 12, 6);
  Problem p;
  p.m = 4;
  p.k = 8;
  p.alpha = quarter;
  p.output = DType::fp32;
  p.activation = Activation::gelu_tanh;
  pad(p, 0);
  const Array with_tanh = expected(p, x.a, x.b, d);
  p.activation = Activation::gelu;
  const Array with_erf = expected(p, x.a, x.b, d);
  ASSERT_EQ(cublasLtMatmul(x.handle, x.desc.get(), &quarter, x.a.data(), x.la.get(), x.b.data(),
                           x.lb.get(), &x.zero, d.data(), fp32.get(), d.data(), fp32.get(), nullptr,
                           nullptr, 0, nullptr),
            0);
  EXPECT_EQ(fake_calls("cublasLtMatmul"), 0);
  EXPECT_TRUE(d == with_tanh);
  EXPECT_FALSE(d == with_erf);
}

TEST(Lt, TheHeuristicAnswersForWhatIsTaken) {
  configure(kReference);
  Small x;
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  ASSERT_EQ(x.ask(result, found), 0);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(result.state, 0);
  EXPECT_EQ(fake_calls("cublasLtMatmulAlgoGetHeuristic"), 0);
  ASSERT_EQ(x.run(&result.algo), 0);
  EXPECT_EQ(fake_calls("cublasLtMatmul"), 0);
  // Passed on after all: cuBLASLt never sees an algorithm that is none of its own.
  configure("backend = reference\ntable = none\nbf16 = pass\n");
  ASSERT_EQ(x.run(&result.algo), 0);
  EXPECT_EQ(fake_calls("cublasLtMatmul"), 1);
  EXPECT_EQ(fake_calls("cublasLtMatmul with an algorithm"), 0);
  // What is not taken is cuBLASLt's question, and its answer is its own.
  ASSERT_EQ(x.ask(result, found), 0);
  EXPECT_EQ(fake_calls("cublasLtMatmulAlgoGetHeuristic"), 1);
  ASSERT_EQ(x.run(&result.algo), 0);
  EXPECT_EQ(fake_calls("cublasLtMatmul with an algorithm"), 1);
}

struct Change {
  const char* why;
  void (*make)(Small&);
};

TEST(Lt, WhatHasNoContractIsPassedOn) {
  const Change changes[] = {
      {"its epilogue has no contract", [](Small& x) { x.desc.set(7, std::uint32_t{2 | 128}); }},
      {"its epilogue has no contract", [](Small& x) { x.desc.set(7, std::uint32_t{512}); }},
      {"a triangle of C", [](Small& x) { x.desc.set(6, 0); }},
      {"a triangle of C", [](Small& x) { x.desc.set(5, 1); }},
      {"factors or maxima", [](Small& x) { x.desc.set(17, &x.one); }},
      {"alpha is a vector", [](Small& x) { x.desc.set(2, 2); }},
      {"alpha and beta are on the device", [](Small& x) { x.desc.set(2, 1); }},
      {"tiled, in planes", [](Small& x) { x.la.set(1, 2); }},
      {"tiled, in planes", [](Small& x) { x.lb.set(7, std::int64_t{64}); }},
      {"array of addresses", [](Small& x) { x.ld.set(8, std::uint32_t{1}); }},
      {"the type of alpha and beta", [](Small& x) { x.desc.set(1, FAKE_16F); }},
      {"its types have no contract", [](Small& x) { x.la.set(0, std::uint32_t{FAKE_8I}); }},
  };
  const std::string no_reads = std::string(kReference) + "device_reads = pass\n";
  for (const Change& change : changes) {
    configure(no_reads);
    Small x;
    change.make(x);
    x.run();
    EXPECT_EQ(fake_calls("cublasLtMatmul"), 1) << change.why;
    EXPECT_NE(table().find(change.why), std::string::npos) << change.why << "\n" << table();
    configure(no_reads + "others = refuse\n");
    EXPECT_EQ(x.run(), 15) << change.why;
    EXPECT_EQ(fake_calls("cublasLtMatmul"), 0) << change.why;
  }
}

TEST(Lt, BadCalls) {
  const Change changes[] = {
      {"they do not multiply", [](Small& x) { x.la.set(3, std::uint64_t{9}); }},
      {"C is 5 x 3",
       [](Small& x) {
         x.lc.set(2, std::uint64_t{5});
         x.lc.set(4, std::int64_t{5});
       }},
      {"A has a leading dimension of 3", [](Small& x) { x.la.set(4, std::int64_t{3}); }},
      {"B has a batch of 2", [](Small& x) { x.lb.set(5, 2); }},
      {"TRANSA is not an operation", [](Small& x) { x.desc.set(3, 9); }},
      {"alpha or beta is null", [](Small& x) { x.alpha = nullptr; }},
      {"alpha or beta is null", [](Small& x) { x.beta = nullptr; }},
      {"a bias whose address is null", [](Small& x) { x.desc.set(7, std::uint32_t{kBias}); }},
  };
  for (const Change& change : changes) {
    configure(kReference);
    Small x;
    const Array before = x.d;
    change.make(x);
    EXPECT_EQ(x.run(), 7) << change.why;
    EXPECT_TRUE(x.d == before) << change.why;
    EXPECT_NE(table().find(change.why), std::string::npos) << change.why << "\n" << table();
    EXPECT_EQ(fake_calls("cublasLtMatmul"), 0) << change.why;
  }
}

TEST(Lt, NoHandleAndNoDescriptions) {
  configure(kReference);
  Small x;
  void* handle = x.handle;
  x.handle = nullptr;
  EXPECT_EQ(x.run(), 1);
  x.handle = handle;
  EXPECT_EQ(cublasLtMatmul(x.handle, nullptr, x.alpha, x.a.data(), x.la.get(), x.b.data(),
                           x.lb.get(), x.beta, x.c.data(), x.lc.get(), x.d.data(), x.ld.get(),
                           nullptr, nullptr, 0, nullptr),
            7);
  EXPECT_EQ(cublasLtMatmul(x.handle, x.desc.get(), x.alpha, x.a.data(), nullptr, x.b.data(),
                           x.lb.get(), x.beta, x.c.data(), x.lc.get(), x.d.data(), x.ld.get(),
                           nullptr, nullptr, 0, nullptr),
            7);
}

}  // namespace
}  // namespace detgemm::dropin_test
