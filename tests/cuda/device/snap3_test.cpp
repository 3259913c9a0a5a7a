// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Contracts of snap3: operands in two parts, on tensor cores and on CUDA cores, and mistakes that
// the comparison must see.

#include "core/arithmetic/snap3.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/cuda/device/fixture.hpp"

namespace detgemm::test {
namespace {

std::vector<std::uint8_t> oracle_of(const Product& p, Arithmetic arithmetic) {
  const Array out = p.output();
  EXPECT_EQ(
      oracle(flatten(p.spec, p.operands(out.data())), p.spec.contract.input, nullptr, arithmetic),
      cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return out.bytes();
}

/// Empty where the forced kernel does not take the problem.
std::vector<std::uint8_t> run_plan(const GemmSpec& spec, const Product& p,
                                   const PlanOptions& options = {}, std::string* kernel = nullptr) {
  const Plan plan = plan_of(spec, options);
  const std::size_t bytes = *plan.workspace_bytes(p.m);
  const Array memory(bytes + 1);
  const OwnStream stream;
  const Array d = p.output();
  RunInfo info;
  const Status s = plan.run(stream, p.operands(d.data()), {memory.data(), bytes}, &info);
  stream.wait();
  if (kernel != nullptr) *kernel = info.kernel;
  if (s.code() == Errc::unsupported) return {};
  EXPECT_OK(s);
  return d.bytes();
}

std::vector<float> floats(const std::vector<std::uint8_t>& bytes) {
  std::vector<float> list(bytes.size() / 4);
  std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

/// Both inputs, every kernel that there is, leaves in registers and longer ones.
TEST(Snap3, EveryKernelHasTheOraclesBits) {
  for (const char* contract : {"snap3/fp32/fold:128->fp32", "snap3/bf16/tree:256->fp32",
                               "snap3/fp32/tree:64->fp32", "snap3/bf16/fold:1088->fp32"}) {
    for (const Op op_b : {Op::none, Op::transpose}) {
      GemmSpec spec = spec_of(contract, 96, 2000);
      spec.op_b = op_b;
      const Product p(spec, 16, 9);
      const auto expected = oracle_of(p, Arithmetic::snap3);
      int on_tensor_cores = 0, on_cuda_cores = 0;
      for (const std::string& variant : cuda_backend().variants(spec)) {
        std::string kernel;
        PlanOptions options;
        options.variant = variant;
        const auto got = run_plan(spec, p, options, &kernel);
        if (got.empty()) continue;
        EXPECT_EQ(got, expected) << contract << " " << kernel;
        EXPECT_TRUE(kernel.ends_with("/snap3")) << kernel;
        (kernel.starts_with("simt/") ? on_cuda_cores : on_tensor_cores)++;
      }
      EXPECT_GE(on_tensor_cores, 5) << contract;
      EXPECT_GE(on_cuda_cores, 3) << contract;
    }
  }
}

/// k in any order inside of its leaves: the three sums are exact.
TEST(Snap3, AnyOrderInsideALeafGivesTheSameBits) {
  constexpr std::int64_t kM = 48, kN = 96, kK = 1500, kLeaf = 128;
  const GemmSpec spec = spec_of("snap3/fp32/fold:128->fp32", kN, kK);
  const Product p(spec, kM, 31);
  const auto expected = oracle_of(p, Arithmetic::snap3);
  const auto a = floats(p.a.bytes()), b = floats(p.b.bytes());
  std::mt19937_64 random(5);
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<std::size_t> order(kK);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::int64_t begin = 0; begin < kK; begin += kLeaf) {
      std::shuffle(order.begin() + begin, order.begin() + std::min(kK, begin + kLeaf), random);
    }
    auto x = a, y = b;
    for (std::size_t j = 0; j < kK; ++j) {
      for (std::size_t i = 0; i < kM; ++i) x[i * kK + j] = a[i * kK + order[j]];
      for (std::size_t i = 0; i < kN; ++i) y[j * kN + i] = b[order[j] * kN + i];
    }
    cudaMemcpy(p.a.data(), x.data(), x.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(p.b.data(), y.data(), y.size() * 4, cudaMemcpyHostToDevice);
    EXPECT_EQ(run_plan(spec, p), expected);
    // fp32 on CUDA cores shows the order.
    GemmSpec plain = spec;
    plain.contract = *Contract::parse("ieee_fma/fp32/fold:128->fp32");
    EXPECT_NE(run_plan(plain, p), oracle_of(p, Arithmetic::snap3));
  }
}

/// What the three sums are for: far nearer to the exact product than one sum is.
TEST(Snap3, IsNearTheExactProduct) {
  constexpr std::int64_t kM = 32, kN = 64, kK = 2048;
  const GemmSpec spec = spec_of("snap3/fp32/fold:128->fp32", kN, kK);
  const Product p(spec, kM, 61);
  const auto a = floats(p.a.bytes()), b = floats(p.b.bytes());
  const auto got = floats(run_plan(spec, p));
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < kM; ++i) {
    for (std::size_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < kK; ++k) {
        sum += static_cast<double>(a[i * kK + k]) * static_cast<double>(b[k * kN + j]);
      }
      const double off = static_cast<double>(got[i * kN + j]) - sum;
      error += off * off;
      norm += sum * sum;
    }
  }
  const double relative = std::sqrt(error / norm);
  EXPECT_LT(relative, 1.2e-5);  // one product has 2.6e-3
  EXPECT_GT(relative, 1e-8);
}

/// Sums that cancel are +0, and Inf stays Inf where second parts are zero.
TEST(Snap3, SpecialValues) {
  constexpr std::int64_t kM = 16, kN = 64, kK = 256;
  const GemmSpec spec = spec_of("snap3/fp32/tree:64->fp32", kN, kK);
  const Product p(spec, kM, 1);
  std::vector<float> a(kM * kK, -0.0F), b(kK * kN, 1.0F);
  a[0] = INFINITY;
  a[kK + 1] = -INFINITY;
  a[2 * kK] = NAN;
  a[3 * kK] = 3e38F;  // no grid
  a[4 * kK] = 1.5F;
  a[4 * kK + 70] = -1.5F;
  cudaMemcpy(p.a.data(), a.data(), a.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(p.b.data(), b.data(), b.size() * 4, cudaMemcpyHostToDevice);
  const auto expected = oracle_of(p, Arithmetic::snap3);
  EXPECT_EQ(run_plan(spec, p), expected);
  const auto of = floats(expected);
  EXPECT_EQ(of[0], INFINITY);
  EXPECT_EQ(of[kN], -INFINITY);
  EXPECT_TRUE(std::isnan(of[2 * kN]) && std::isnan(of[3 * kN]));
  for (std::size_t i = 4; i < kM; ++i) {
    EXPECT_EQ(of[i * kN], 0.0F);
    EXPECT_FALSE(std::signbit(of[i * kN]));
  }
}

/// What must differ: one sum in place of three.
TEST(Snap3, OneSumIsNotThree) {
  const GemmSpec spec = spec_of("snap3/bf16/fold:128->fp32", 72, 1024);
  const Product p(spec, 40, 51);
  const auto expected = oracle_of(p, Arithmetic::snap3);
  EXPECT_EQ(run_plan(spec, p), expected);
  EXPECT_NE(oracle_of(p, Arithmetic::snap), expected);
  GemmSpec one = spec;
  one.contract = *Contract::parse("snap/bf16/fold:128->fp32");
  EXPECT_NE(run_plan(one, p), expected);
}

}  // namespace
}  // namespace detgemm::test
