// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Plans from many threads at once: the bits of one thread, and (built with -fsanitize=thread) no
// data race.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "core/capi/handles.hpp"
#include "detgemm/detgemm.h"
#include "detgemm/plan.hpp"

namespace detgemm {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 8;

/// Starts the threads together, so that they really overlap.
void in_parallel(const std::function<void(int)>& work) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      work(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// One product with its own output and workspace; A and B are the same for equal seeds.
class Job {
 public:
  Job(std::int64_t m, std::int64_t n, std::int64_t k, std::uint32_t seed)
      : a_(fill(m * k, seed)), b_(fill(k * n, seed + 1)), d_(static_cast<std::size_t>(m * n)) {
    operands_.a = row_major(static_cast<const void*>(a_.data()), m, k, DType::bf16);
    operands_.b = row_major(static_cast<const void*>(b_.data()), k, n, DType::bf16);
    operands_.d = row_major(static_cast<void*>(d_.data()), m, n, DType::fp32);
  }
  std::vector<float> run(const Plan& plan) {
    const std::size_t bytes = plan.workspace_bytes(operands_.d.rows).value();
    scratch_.resize(bytes + kWorkspaceAlignment);
    auto at = reinterpret_cast<std::uintptr_t>(scratch_.data());
    at = (at + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    const Status status = plan.run({}, operands_, {reinterpret_cast<void*>(at), bytes});
    EXPECT_TRUE(status) << status.message();
    return d_;
  }

 private:
  static std::vector<std::uint16_t> fill(std::int64_t count, std::uint32_t seed) {
    std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
    for (std::uint16_t& value : values) {
      seed = seed * 1664525U + 1013904223U;
      value = static_cast<std::uint16_t>(0x3f00U | (seed >> 16 & 0x80ffU));  // near +-1
    }
    return values;
  }
  std::vector<std::uint16_t> a_, b_;
  std::vector<float> d_;
  std::vector<std::byte> scratch_;
  Operands operands_;
};

GemmSpec spec_of(const char* contract, std::int64_t n, std::int64_t k) {
  GemmSpec spec;
  spec.n = n;
  spec.k = k;
  spec.contract = Contract::parse(contract).value();
  return spec;
}

bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

class ConcurrencyTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "skeleton") {
      backend_ = &skeleton_backend();
      return;
    }
    const auto found = find_backend(GetParam());
    if (!found) GTEST_SKIP() << found.status().message();
    backend_ = *found;
    ASSERT_TRUE(backend_->available()) << backend_->available().message();
  }
  const Backend* backend_ = nullptr;
};

TEST_P(ConcurrencyTest, OnePlanFromFourThreads) {
  const auto plan = Plan::create(*backend_, spec_of("hopper/bf16/tree:64->fp32", 65, 200));
  ASSERT_TRUE(plan) << plan.status().message();
  const std::vector<float> alone = Job(17, 65, 200, 1).run(*plan);
  in_parallel([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_TRUE(same_bits(Job(17, 65, 200, 1).run(*plan), alone));
    }
  });
}

TEST_P(ConcurrencyTest, DifferentPlansInParallel) {
  const char* const contracts[kThreads] = {"ieee_fma/bf16/chain->fp32", "hopper/bf16/fold:32->fp32",
                                           "cdna3/bf16/tree:32->fp32", "ampere/bf16/chain->fp32"};
  std::vector<std::vector<float>> alone;
  for (int t = 0; t < kThreads; ++t) {
    const auto plan = Plan::create(*backend_, spec_of(contracts[t], 40 + t, 96));
    ASSERT_TRUE(plan) << plan.status().message();
    alone.push_back(Job(9 + t, 40 + t, 96, 5).run(*plan));
  }
  in_parallel([&](int t) {
    for (int round = 0; round < kRounds; ++round) {  // creation, too, is concurrent
      const auto plan = Plan::create(*backend_, spec_of(contracts[t], 40 + t, 96));
      ASSERT_TRUE(plan) << plan.status().message();
      EXPECT_TRUE(same_bits(Job(9 + t, 40 + t, 96, 5).run(*plan), alone[t]));
      EXPECT_FALSE(plan->describe(9).empty());
    }
  });
}

TEST_P(ConcurrencyTest, CopiesOfAPlanDieInAnyOrder) {
  auto plan = Plan::create(*backend_, spec_of("hopper/bf16/chain->fp32", 8, 32));
  ASSERT_TRUE(plan) << plan.status().message();
  const std::vector<float> alone = Job(3, 8, 32, 9).run(*plan);
  std::vector<Plan> copies(kThreads, *plan);
  plan = unsupported("gone");
  in_parallel([&](int t) {
    const Plan mine = std::move(copies[static_cast<std::size_t>(t)]);
    EXPECT_TRUE(same_bits(Job(3, 8, 32, 9).run(mine), alone));
  });
}

INSTANTIATE_TEST_SUITE_P(, ConcurrencyTest, testing::Values("skeleton", "reference"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ConcurrentC, EachThreadHasItsOwnLastError) {
  in_parallel([](int t) {
    EXPECT_STREQ(detgemm_last_error(), "") << "a new thread starts without one";
    detgemm_contract_t contract;
    ASSERT_EQ(detgemm_contract_init(&contract, sizeof contract), DETGEMM_OK);
    for (int round = 0; round < 500; ++round) {
      const std::string input = "type" + std::to_string(t) + "x" + std::to_string(round);
      const std::string typed = "hopper/" + input + "/chain";
      EXPECT_EQ(detgemm_contract_parse(typed.c_str(), &contract), DETGEMM_NOT_FOUND);
      EXPECT_NE(std::string(detgemm_last_error()).find('"' + input + '"'), std::string::npos);
    }
  });
}

TEST(ConcurrentC, NamesAndListsFromManyThreads) {
  in_parallel([](int) {
    for (int value = -2; value < 9; ++value) {
      EXPECT_NE(detgemm_dtype_name(value), nullptr);
      EXPECT_NE(detgemm_arithmetic_name(value), nullptr);
    }
    EXPECT_GT(detgemm_contract_count(), 0U);
    EXPECT_STREQ(detgemm_backend_name(capi::handle_of(&skeleton_backend())), "skeleton");
  });
}

TEST(ConcurrentC, RuntimeStartsAreCounted) {
  in_parallel([](int) {
    for (int round = 0; round < 50; ++round) {
      EXPECT_EQ(detgemm_runtime_start(nullptr), DETGEMM_OK) << detgemm_last_error();
      EXPECT_EQ(detgemm_runtime_stop(), DETGEMM_OK) << detgemm_last_error();
    }
  });
}

}  // namespace
}  // namespace detgemm
