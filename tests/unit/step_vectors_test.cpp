// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The scalar steps against vectors from an independent integer model (tests/models), and the
// vector that tells the units apart.

#include "tests/support/step_vectors.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/arithmetic/step.hpp"

namespace detgemm {
namespace {

using arithmetic::Step;
using arithmetic::Storage;

template <Arithmetic A, DType T>
std::uint32_t chained(const test::StepVector& line) {
  const std::vector<Storage<T>> a(line.a.begin(), line.a.end());
  const std::vector<Storage<T>> b(line.b.begin(), line.b.end());
  float acc = arithmetic::float_of(line.c);
  for (std::size_t k = 0; k < a.size(); k += Step<A, T>::products) {
    acc = Step<A, T>::apply(&a[k], &b[k], acc);
  }
  return arithmetic::bits_of(acc);
}

TEST(StepVectors, EveryUnitGivesTheModelsBits) {
  std::map<std::string, int> counts;
  for (const test::StepVector& line : test::read_step_vectors(DETGEMM_STEP_VECTORS)) {
    bool found = false;
    for (const Contract& contract : base_contracts()) {
      if (line.unit != test::unit_of(contract)) continue;
      found = true;
      arithmetic::for_step(contract.arithmetic, contract.input, [&]<Arithmetic A, DType T>() {
        const std::uint32_t got = chained<A, T>(line);
        EXPECT_EQ(line.d, got) << line.unit << " vector " << counts[line.unit] << std::hex
                               << ": want " << line.d << " got " << got;
      });
    }
    EXPECT_TRUE(found) << line.unit;
    ++counts[line.unit];
  }
  // Every pair but those of ieee_fma, which has no model to disagree with.
  EXPECT_EQ(counts.size(), base_contracts().size() - 3);
  for (const auto& [unit, count] : counts) EXPECT_GE(count, 72) << unit;
}

TEST(StepVectors, IdentificationVector) {
  const std::map<std::string, float> expected{{"ieee_fma", -0.875F}, {"hopper", -0.75F},
                                              {"blackwell", -0.75F}, {"ampere", -0.5F},
                                              {"cdna3", -0.5F},      {"cdna2", 0.0F}};
  for (const Contract& contract : base_contracts()) {
    if (contract.input != DType::bf16) continue;
    arithmetic::for_step(contract.arithmetic, contract.input, [&]<Arithmetic A, DType T>() {
      if constexpr (T == DType::bf16) {
        Storage<T> a[16] = {0xc600, 0xbf00, 0xbe80, 0xbe00};  // -2^13, -1/2, -1/4, -1/8
        Storage<T> b[16] = {0x4480, 0x3f80, 0x3f80, 0x3f80};  // 2^10, 1, 1, 1
        float acc = 0x1p23F;
        for (int k = 0; k < 16; k += Step<A, T>::products)
          acc = Step<A, T>::apply(a + k, b + k, acc);
        EXPECT_EQ(expected.at(std::string(name(A))), acc) << name(A);
      }
    });
  }
}

}  // namespace
}  // namespace detgemm
