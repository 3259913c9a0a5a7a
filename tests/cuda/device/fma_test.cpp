// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The comparison that the sweep of ieee_fma rests on can fail: planted mistakes differ from the
// oracle on the sweep's own data, and a kernel without one does not.

#include <algorithm>

#include "tests/cuda/device/fixture.hpp"
#include "tests/cuda/planted.hpp"
#include "tests/cuda/problem.hpp"

namespace detgemm::test {
namespace {

constexpr std::int64_t kM = 24, kN = 40, kK = 300;

GemmArguments problem(const Array& a, const Array& b, void* d, const Reduction& reduction) {
  GemmSpec spec = spec_of("ieee_fma/fp32/chain->fp32", kN, kK);
  spec.contract.reduction = reduction;
  return flatten(spec, {row_major(static_cast<const void*>(a.data()), kM, kK, DType::fp32),
                        row_major(static_cast<const void*>(b.data()), kK, kN, DType::fp32),
                        row_major(d, kM, kN, DType::fp32)});
}

/// Outputs in which the planted kernel differs from the oracle.
int differing(Data data, const Reduction& reduction, Fault fault) {
  Array a(kM * kK * 4), b(kK * kN * 4), d(kM * kN * 4), e(kM * kN * 4);
  EXPECT_EQ(fill({a.data(), {kK, 1}, kM, kK}, {data, DType::fp32, 5, 3, false}, nullptr),
            cudaSuccess);
  EXPECT_EQ(fill({b.data(), {1, kN}, kN, kK}, {data, DType::fp32, 6, 3, true}, nullptr),
            cudaSuccess);
  EXPECT_EQ(planted_gemm(problem(a, b, d.data(), reduction), fault, nullptr), cudaSuccess);
  EXPECT_EQ(oracle(problem(a, b, e.data(), reduction), DType::fp32, nullptr, Arithmetic::ieee_fma),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto x = d.bytes();
  const auto y = e.bytes();
  int count = 0;
  for (std::size_t i = 0; i < x.size(); i += 4) count += !std::equal(&x[i], &x[i] + 4, &y[i]);
  return count;
}

TEST(Fma, PlantedFaultsAreCaught) {
  constexpr Reduction tree{ReductionKind::tree, 37};
  for (int i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    const Data data = fault == Fault::flushed ? Data::subnormal : Data::normal;
    const int count = differing(data, tree, fault);
    if (fault == Fault::none) {
      EXPECT_EQ(count, 0);
    } else {
      EXPECT_GE(count, kM * kN / 10) << name(fault);
    }
  }
}

TEST(Fma, NoFaultNoDifferenceOnAnyData) {
  for (int kind = 0; kind < kDataKinds; ++kind) {
    for (const Reduction& r :
         {Reduction{}, Reduction{ReductionKind::fold, 64}, Reduction{ReductionKind::tree, 1}}) {
      EXPECT_EQ(differing(static_cast<Data>(kind), r, Fault::none), 0)
          << name(static_cast<Data>(kind));
    }
  }
}

TEST(Fma, AnOddShapeThroughAPlan) {
  const GemmSpec spec = spec_of("ieee_fma/fp32/tree:96->fp32", 130, 1000);
  const Product p(spec, 70, 9);
  const Array got = p.output();
  const OwnStream stream;
  ASSERT_TRUE(plan_of(spec).run(stream, p.operands(got.data())));
  stream.wait();
  const Array want = p.output();
  ASSERT_EQ(oracle(flatten(spec, p.operands(want.data())), DType::fp32, stream.get(),
                   Arithmetic::ieee_fma),
            cudaSuccess);
  stream.wait();
  EXPECT_EQ(got.bytes(), want.bytes());
}

}  // namespace
}  // namespace detgemm::test
