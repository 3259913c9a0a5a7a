// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The lane form of every step against its scalar definition, one step per output: K = k_block,
// the accumulator from C. Each instruction set this processor has is compared.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "core/arithmetic/step.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/reference.hpp"
#include "detgemm/runtime.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm {
namespace {

using arithmetic::Step;
using arithmetic::Storage;
using test::Data;
using test::Random;

/// Steps compared for every pair and instruction set; --steps changes it.
std::int64_t g_steps = 2'000'000;

class Agreement : public testing::TestWithParam<Contract> {};

std::vector<float> run_variant(const GemmSpec& spec, const Operands& operands,
                               const std::string& variant) {
  std::vector<float> d(static_cast<std::size_t>(operands.d.rows * spec.n), -1.0F);
  auto plan = Plan::create(reference_backend(), spec, PlanOptions{variant, 0});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const std::size_t bytes = *plan->workspace_bytes(operands.d.rows);
  void* scratch = *host_device().allocate(bytes);
  Operands own = operands;
  own.d.data = d.data();
  RunInfo info;
  const Status status = plan->run({}, own, {scratch, bytes}, &info);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(info.kernel, variant);
  host_device().release(scratch);
  return d;
}

template <Arithmetic A, DType T>
void compare(const Contract& contract) {
  constexpr std::int64_t side = 256;
  Random random(0xd0 + static_cast<std::uint64_t>(contract.digest() % 1000));
  GemmSpec spec;
  spec.n = side;
  spec.k = Step<A, T>::products;
  spec.contract = contract;
  spec.op_b = Op::transpose;
  spec.continue_from_c = true;
  const DType stored = T == DType::tf32 ? DType::fp32 : T;
  std::int64_t steps = 0;
  std::int64_t distinct = 0;
  while (steps < g_steps) {
    for (Data data : test::kAllData) {
      const auto a = test::random_elements<T>(random, data, side * spec.k);
      const auto b = test::random_elements<T>(random, data, side * spec.k);
      const auto c = test::random_elements<DType::fp32>(
          random, random.below(3) == 0 ? Data::bits : data, side * side);
      Operands operands;
      operands.a = row_major(a.data(), side, spec.k, stored);
      operands.b = row_major(b.data(), side, spec.k, stored);
      operands.c = row_major(c.data(), side, side, DType::fp32);
      operands.d = Matrix{nullptr, side, side, side, 1, DType::fp32};
      const std::vector<float> expected = run_variant(spec, operands, "scalar");
      for (const std::string& variant : reference_backend().variants(spec)) {
        if (variant == "scalar") continue;
        const std::vector<float> got = run_variant(spec, operands, variant);
        ASSERT_EQ(0, std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)))
            << contract.text() << " " << variant << " data " << static_cast<int>(data);
      }
      for (std::size_t i = 1; i < expected.size(); ++i) distinct += expected[i] != expected[i - 1];
      steps += side * side;
    }
  }
  // Nothing is shown by comparing constants.
  EXPECT_GT(distinct, steps / 4);
  testing::Test::RecordProperty("steps", std::to_string(steps));
}

TEST_P(Agreement, LanesEqualScalar) {
  arithmetic::for_step(GetParam().arithmetic, GetParam().input,
                       [&]<Arithmetic A, DType T>() { compare<A, T>(GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(EveryStep, Agreement,
                         testing::ValuesIn(base_contracts().begin(), base_contracts().end()),
                         [](const auto& info) {
                           return std::string(name(info.param.arithmetic)) + "_" +
                                  std::string(name(info.param.input));
                         });

}  // namespace
}  // namespace detgemm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::strcmp(argv[1], "--steps") == 0) {
    detgemm::g_steps = std::strtoll(argv[2], nullptr, 10);
  }
  auto runtime = detgemm::Runtime::start();
  if (!runtime.ok()) return 3;
  const int result = RUN_ALL_TESTS();
  return testing::UnitTest::GetInstance()->test_to_run_count() == 0 ? 3 : result;
}
