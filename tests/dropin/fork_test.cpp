// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/dropin/column_major.hpp"

// Forks at bad moments. A child that hangs is ended by its alarm.

namespace detgemm::dropin_test {
namespace {

int how_it_ends(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

bool pass_on() {
  const double one = 1.0;
  double memory[64] = {};
  cublasHandle_t blas = nullptr;
  const bool good =
      cublasCreate_v2(&blas) == 0 &&
      cublasDgemm_v2(blas, 0, 0, 4, 3, 8, &one, memory, 4, memory + 32, 8, &one, memory, 4) == 0;
  cublasDestroy_v2(blas);
  return good;
}

int multiply(void* c) {
  const float one = 1.0F, zero = 0.0F;
  const std::vector<float> ones(64, 1.0F);
  const Blas blas;
  return cublasSgemm_v2(blas, 0, 0, 4, 4, 8, &one, ones.data(), 4, ones.data(), 8, &zero, c, 4);
}

/// The first of all: it finds the vendor's functions, which are then known.
TEST(Fork, WhileAnotherThreadLoadsTheVendor) {
  configure(std::string(kReference) + "cublas = " SLOW_VENDOR "\n");
  std::thread first([] { EXPECT_TRUE(pass_on()); });
  while (std::getenv("SLOW_VENDOR") == nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(how_it_ends(pass_on), 0);
  first.join();
}

/// The child of a process that has multiplied on the reference has none of its threads.
TEST(Fork, AfterTheReferenceHasStarted) {
  configure(kReference);
  std::vector<float> c(16);
  EXPECT_EQ(how_it_ends([&] { return multiply(c.data()) == 0 && c[0] == 8.0F; }), 0)
      << "a child may start a reference of its own";
  ASSERT_EQ(multiply(c.data()), 0);
  EXPECT_EQ(c[0], 8.0F);
  EXPECT_EQ(how_it_ends([&] {
              const bool passed = multiply(c.data()) == 0 && fake_calls("cublasSgemm_v2") == 1;
              return passed && table().find("was forked after its parent had") != std::string::npos;
            }),
            0);
  ASSERT_EQ(multiply(c.data()), 0) << "the parent goes on";
  EXPECT_EQ(fake_calls("cublasSgemm_v2"), 0);
}

}  // namespace
}  // namespace detgemm::dropin_test
