// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The vectors of the independent model through every variant of the reference, scalar and lanes.
// First each vector alone, in every column of a row. Then all of a unit in one product: vector i is
// row i of A and column i of B, so element (i, i) of D is its result, and the other elements, which
// mix operands of two vectors, must equal the scalar ones. One alone comes first because lanes that
// leave Inf and NaN to the scalar step leave it the whole block.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>

#include "core/arithmetic/step.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/reference.hpp"
#include "detgemm/runtime.hpp"
#include "tests/support/step_vectors.hpp"

namespace detgemm {
namespace {

using test::StepVector;

std::vector<std::uint32_t> run_variant(const GemmSpec& spec, const Operands& operands,
                                       const std::string& variant) {
  const std::int64_t m = operands.a.rows;
  std::vector<std::uint32_t> d(static_cast<std::size_t>(m * spec.n), 0x5a5a5a5aU);
  const auto plan = Plan::create(reference_backend(), spec, PlanOptions{variant, 0});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const std::size_t bytes = *plan->workspace_bytes(m);
  void* scratch = *host_device().allocate(bytes);
  Operands own = operands;
  own.d = Matrix{d.data(), m, spec.n, spec.n, 1, DType::fp32};
  RunInfo info;
  const Status status = plan->run({}, own, {scratch, bytes}, &info);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(info.kernel, variant);
  host_device().release(scratch);
  return d;
}

/// The problem of K products that continues from C, with A M x K, B N x K and D fp32.
template <DType T>
struct Product {
  std::vector<arithmetic::Storage<T>> a, b;
  std::vector<std::uint32_t> c;
  GemmSpec spec;
  Operands operands;

  void prepare(const Contract& contract, std::int64_t m, std::int64_t n, std::int64_t k) {
    spec.n = n;
    spec.k = k;
    spec.contract = contract;
    spec.op_b = Op::transpose;
    spec.continue_from_c = true;
    const DType stored = T == DType::tf32 ? DType::fp32 : T;
    operands.a = row_major(a.data(), m, k, stored);
    operands.b = row_major(b.data(), n, k, stored);
    operands.c = row_major(c.data(), m, n, DType::fp32);
  }
};

/// One vector as a row of equal outputs, more than any set has lanes.
template <DType T>
void compare_alone(const Contract& contract, const StepVector& vector) {
  constexpr std::int64_t kColumns = 19;
  Product<T> product;
  product.a.assign(vector.a.begin(), vector.a.end());
  for (std::int64_t j = 0; j < kColumns; ++j) {
    product.b.insert(product.b.end(), vector.b.begin(), vector.b.end());
  }
  product.c.assign(kColumns, vector.c);
  product.prepare(contract, 1, kColumns, static_cast<std::int64_t>(vector.a.size()));
  for (const std::string& variant : reference_backend().variants(product.spec)) {
    EXPECT_EQ(run_variant(product.spec, product.operands, variant),
              std::vector<std::uint32_t>(kColumns, vector.d))
        << variant << " " << vector.unit << std::hex << " wants " << vector.d;
  }
}

/// All vectors of one unit and length as one product; the number of variants compared.
template <DType T>
std::size_t compare(const Contract& contract, const std::vector<StepVector>& vectors) {
  const std::size_t count = vectors.size();
  const auto side = static_cast<std::int64_t>(count);
  Product<T> product;
  for (const StepVector& vector : vectors) {
    compare_alone<T>(contract, vector);
    product.a.insert(product.a.end(), vector.a.begin(), vector.a.end());
    product.b.insert(product.b.end(), vector.b.begin(), vector.b.end());
    product.c.insert(product.c.end(), count, vector.c);
  }
  product.prepare(contract, side, side, static_cast<std::int64_t>(vectors[0].a.size()));
  const GemmSpec& spec = product.spec;
  const Operands& operands = product.operands;
  const auto variants = reference_backend().variants(spec);
  const std::vector<std::uint32_t> scalar = run_variant(spec, operands, "scalar");
  for (const std::string& variant : variants) {
    const std::vector<std::uint32_t> got = run_variant(spec, operands, variant);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(got[i * count + i], vectors[i].d)
          << std::hex << variant << " " << vectors[i].unit << " vector " << std::dec << i << " of "
          << vectors[i].a.size() << " products";
    }
    EXPECT_EQ(got, scalar) << variant << " " << contract.text();
  }
  return variants.size();
}

TEST(StepVectors, EveryVariantGivesTheModelsBits) {
  std::map<std::pair<std::string, std::size_t>, std::vector<StepVector>> groups;
  for (const StepVector& each : test::read_step_vectors(DETGEMM_STEP_VECTORS)) {
    groups[{each.unit, each.a.size()}].push_back(each);
  }
  std::size_t met = 0;
  std::size_t variants = 0;
  for (const auto& [key, vectors] : groups) {
    for (const Contract& contract : base_contracts()) {
      if (key.first != test::unit_of(contract)) continue;
      arithmetic::for_step(contract.arithmetic, contract.input, [&]<Arithmetic, DType T>() {
        variants += compare<T>(contract, vectors);
      });
      ++met;
    }
  }
  EXPECT_EQ(met, groups.size());
  EXPECT_GE(met, 2 * (base_contracts().size() - 3));  // all but ieee_fma; one step and two
  EXPECT_GE(variants, 2 * met);                       // lanes of some kind beside scalar
}

/// +Inf and 1.0 as elements of T.
template <DType T>
std::array<arithmetic::Storage<T>, 2> infinity_and_one() {
  using F = arithmetic::Format<T>;
  constexpr std::uint32_t top = (1U << F::exponent_bits) - 1;
  constexpr std::uint32_t bias = top >> 1;
  constexpr int shift = F::fraction_bits + F::dropped_bits;
  return {static_cast<arithmetic::Storage<T>>(top << shift),
          static_cast<arithmetic::Storage<T>>(bias << shift)};
}

/// Rows that are infinite since the last whole block of k, and a tail of one product behind it:
/// what a tile keeps of that block would make NaN of them.
template <DType T>
void compare_tails(const Contract& contract, std::int64_t block) {
  constexpr std::int64_t kRows = 37, kColumns = 19;
  const auto [infinity, one] = infinity_and_one<T>();
  const std::int64_t k = 2 * block + 1;
  Product<T> product;
  product.a.assign(static_cast<std::size_t>(kRows * k), one);
  for (std::int64_t i = 0; i < kRows; ++i) {
    product.a[static_cast<std::size_t>(i * k + 2 * block - 1 - i % (block - 1))] = infinity;
  }
  product.b.assign(static_cast<std::size_t>(kColumns * k), one);
  product.c.assign(kRows * kColumns, 0);
  product.prepare(contract, kRows, kColumns, k);
  for (const std::string& variant : reference_backend().variants(product.spec)) {
    EXPECT_EQ(run_variant(product.spec, product.operands, variant),
              std::vector<std::uint32_t>(kRows * kColumns, arithmetic::kInfBits))
        << variant << " " << contract.text();
  }
}

TEST(StepVectors, ATailSeesNothingOfTheBlockBeforeIt) {
  int met = 0;
  for (const Contract& contract : base_contracts()) {
    arithmetic::for_step(contract.arithmetic, contract.input, [&]<Arithmetic A, DType T>() {
      constexpr std::int64_t block = arithmetic::Step<A, T>::products;
      if constexpr (T != DType::e4m3 && block > 1) {  // e4m3 has no infinity
        compare_tails<T>(contract, block);
        ++met;
      }
    });
  }
  EXPECT_GE(met, 8);
}

}  // namespace
}  // namespace detgemm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto runtime = detgemm::Runtime::start();
  if (!runtime.ok()) return 3;
  const int result = RUN_ALL_TESTS();
  return testing::UnitTest::GetInstance()->test_to_run_count() == 0 ? 3 : result;
}
