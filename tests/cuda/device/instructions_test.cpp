// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// One instruction at a time against the integer model. Whatever the instruction's form and width
// and the majors of its operands, a chain of k16 steps in ascending order has the contract's bits.

#include "tests/cuda/instructions.hpp"

#include <algorithm>

#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

constexpr std::int64_t kM = 64;

/// The number of outputs whose bits differ from the model's, over all kinds of data and some
/// lengths of k.
long long differing(const Instruction& which, DType input) {
  long long count = 0;
  for (const std::int64_t k : {16, 64, 72, 1000}) {
    for (int kind = 0; kind < kDataKinds; ++kind) {
      const GemmSpec spec = spec_of(
          input == DType::bf16 ? "hopper/bf16/chain->fp32" : "hopper/fp16/chain->fp32", which.n, k);
      Product p(spec, kM, 1);
      const auto draw = [&](const Array& to, std::int64_t rows, std::uint64_t key) {
        const Draw how{static_cast<Data>(kind), input, key + static_cast<std::uint64_t>(k), 2,
                       key == 2};
        // Lines are the rows of A and the columns of B; k runs along both.
        const Lines lines =
            key == 1 ? Lines{to.data(), {k, 1}, rows, k} : Lines{to.data(), {1, which.n}, rows, k};
        EXPECT_EQ(fill(lines, how, nullptr), cudaSuccess);
      };
      draw(p.a, kM, 1);
      draw(p.b, which.n, 2);
      const auto expected = p.expected();
      const Array d = p.output();
      EXPECT_EQ(run_instruction(which, flatten(spec, p.operands(d.data())), input, nullptr),
                cudaSuccess);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      const auto got = d.bytes();
      for (std::size_t i = 0; i < got.size(); i += 4) {
        count += !std::equal(&got[i], &got[i] + 4, &expected[i]);
      }
    }
  }
  return count;
}

void expect_equal(const Instruction& which) {
  for (const DType input : {DType::bf16, DType::fp16}) {
    EXPECT_EQ(differing(which, input), 0) << "n " << which.n << ", input " << name(input);
  }
}

bool has_wgmma() {
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  return major == 9;
}
class Instructions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_wgmma()) GTEST_SKIP() << "wgmma needs compute capability 9.0";
  }
};

TEST_F(Instructions, EveryWidth) {
  for (const int n : kWidths) expect_equal({Form::wgmma, n});
}
TEST_F(Instructions, OperandsOfBothMajors) {
  for (const int n : {64, 128, 192, 256}) {
    expect_equal({Form::wgmma, n, true, false});
    expect_equal({Form::wgmma, n, false, true});
    expect_equal({Form::wgmma, n, true, true});
  }
}
TEST_F(Instructions, AFromRegisters) {
  for (const int n : {8, 16, 64}) expect_equal({Form::wgmma_registers, n});
}
TEST_F(Instructions, MmaSync) {
  for (const int n : {8, 64}) expect_equal({Form::mma_sync, n});
}
/// The comparison notices another order of steps.
TEST_F(Instructions, DescendingStepsDiffer) {
  EXPECT_GT(differing({Form::descending, 64}, DType::bf16), 64 * 64);
}

}  // namespace
}  // namespace detgemm::test
