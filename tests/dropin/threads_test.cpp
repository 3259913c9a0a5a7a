// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/dropin/column_major.hpp"

namespace detgemm::dropin_test {
namespace {

/// 5 x 3 with 40 products, against its bits.
bool multiply(cublasHandle_t blas, int products) {
  Problem p;
  p.k = products;
  pad(p, 0);
  const Array a(p.input, p.lda * p.a_columns(), 1);
  const Array b(p.input, p.ldb * p.b_columns(), 2);
  Array c(p.output, p.ldc * p.n, 3);
  const Array want = expected(p, a, b, c);
  const int status = cublasGemmEx(blas, 0, 0, 5, 3, products, &p.alpha, a.data(), FAKE_16BF, 5,
                                  b.data(), FAKE_16BF, static_cast<int>(p.ldb), &p.beta, c.data(),
                                  FAKE_16BF, 5, FAKE_COMPUTE_32F, -1);
  return status == 0 && c == want;
}

TEST(Threads, CountAndPlanTogether) {
  configure(kReference);
  constexpr int kThreads = 4, kCalls = 50;
  std::vector<std::thread> threads;
  std::vector<int> good(kThreads, 0);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &good] {
      const Blas blas;
      for (int i = 0; i < kCalls; ++i) {
        good[static_cast<std::size_t>(t)] += multiply(blas, 16 + i % 7) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : good) EXPECT_EQ(count, kCalls);
  EXPECT_NE(table().find("called for 200 products, 200 of them"), std::string::npos) << table();
}

/// A child counts its own calls alone, and its parent is not disturbed.
TEST(Threads, ForkedProcessesCountForThemselves) {
  configure(kReference);
  const Blas blas;
  std::vector<double> memory(64, 1.0);
  const double one = 1.0;
  const auto pass_on = [&] {
    return cublasDgemm_v2(blas, 0, 0, 4, 3, 8, &one, memory.data(), 4, memory.data() + 32, 8, &one,
                          memory.data(), 4);
  };
  ASSERT_EQ(pass_on(), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool empty = table().empty();
    const bool passed = pass_on() == 0 && pass_on() == 0;
    const bool counted = table().find("called for 2 products, 0 of them") != std::string::npos;
    _exit(empty && passed && counted ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(table().find("called for 1 products"), std::string::npos) << table();
}

/// A row per function, class of shapes, contract and kernel; more rows than there are still count.
TEST(Table, OverflowsIntoOneRow) {
  configure(kReference);
  const Blas blas;
  const float one = 1.0F;
  testing::internal::CaptureStderr();
  for (int ldc = 0; ldc < 1100; ++ldc) {
    cublasGemmEx(blas, 0, 0, 4000, 3, 8, &one, nullptr, FAKE_16BF, 4000, nullptr, FAKE_16BF, 8,
                 &one, nullptr, FAKE_16BF, ldc, FAKE_COMPUTE_32F, -1);
  }
  testing::internal::GetCapturedStderr();
  const std::string text = table();
  EXPECT_NE(text.find("called for 1100 products, 0 of them"), std::string::npos);
  EXPECT_NE(text.find("76  in more than 1024 rows"), std::string::npos) << text.substr(0, 500);
}

}  // namespace
}  // namespace detgemm::dropin_test
