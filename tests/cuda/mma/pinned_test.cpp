// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The pinned products tell an arithmetic from what differs from it in one constant.

#include <gtest/gtest.h>

#include <chrono>

#include "backends/cuda/pinned_products.hpp"
#include "core/contract/compute_element.hpp"

namespace detgemm::cuda {
namespace {

/// Products computed by a unit: what a device would be whose constants are these.
template <DType T>
Status by_unit(const arithmetic::TensorUnit& unit, const GemmArguments& g) {
  using Word = arithmetic::Storage<T>;
  const auto* a = static_cast<const Word*>(g.a);
  const auto* b = static_cast<const Word*>(g.b);
  for (std::int64_t row = 0; row < g.m; ++row) {
    for (std::int64_t col = 0; col < g.n; ++col) {
      const auto leaf = [&](std::int64_t begin, std::int64_t end, float acc) {
        Word x[64], y[64];
        for (std::int64_t k = begin; k < end; k += unit.products) {
          for (int i = 0; i < unit.products; ++i) {
            const bool inside = k + i < end;
            x[i] = inside ? a[row * g.as.row + (k + i) * g.as.col] : Word{0};
            y[i] = inside ? b[col * g.bs.col + (k + i) * g.bs.row] : Word{0};
          }
          acc = arithmetic::tensor_step<T>(unit, x, y, acc);
        }
        return acc;
      };
      const float acc = reduce_leaves(g.reduction, g.k, start_value(g, row, col), leaf);
      static_cast<float*>(g.d)[row * g.ds.row + col] = acc;
    }
  }
  return {};
}

template <Arithmetic A, DType T>
Compared compared(const arithmetic::TensorUnit& unit) {
  return *compare_pinned(A, T, [&](const GemmArguments& g) { return by_unit<T>(unit, g); });
}

template <Arithmetic A, DType T>
void every_constant() {
  const arithmetic::TensorUnit right = arithmetic::tensor_unit<A, T>();
  const std::string of = std::string(name(A)) + "/" + std::string(name(T));
  EXPECT_EQ((compared<A, T>(right).different), 0) << of;
  const auto contradicts = [&](const arithmetic::TensorUnit& unit, const char* what) {
    const Compared found = compared<A, T>(unit);
    EXPECT_GT(found.different, 0) << of << ": " << what;
    EXPECT_NE(found.first.find("where the contract has 0x"), std::string::npos) << found.first;
  };
  for (const int by : {-1, 1}) {
    arithmetic::TensorUnit unit = right;
    unit.products += by;
    contradicts(unit, "products");
    unit = right;
    unit.fraction_bits += by;
    contradicts(unit, "fraction bits");
    unit = right;
    unit.min_exponent += by;
    if (T != DType::fp16) contradicts(unit, "least exponent");
  }
  arithmetic::TensorUnit unit = right;
  --unit.kept_bits;
  contradicts(unit, "kept bits");
  unit = right;
  unit.products = right.products == 16 || right.products == 4 ? 8 : 16;
  contradicts(unit, "another step");
}

TEST(PinnedProducts, ContradictEveryConstantThatCanBe) {
  every_constant<Arithmetic::hopper, DType::bf16>();
  every_constant<Arithmetic::hopper, DType::fp16>();
  every_constant<Arithmetic::ampere, DType::bf16>();
  every_constant<Arithmetic::ampere, DType::fp16>();
  every_constant<Arithmetic::blackwell, DType::bf16>();
  every_constant<Arithmetic::hopper, DType::tf32>();
  every_constant<Arithmetic::ampere, DType::tf32>();
}

/// The same products in every version: a change of the drawing changes what was verified.
TEST(PinnedProducts, AreAlwaysTheSame) {
  std::uint64_t digest = 0xcbf29ce484222325;
  const auto put = [&](std::uint32_t word) { digest = (digest ^ word) * 0x100000001b3; };
  for (const DType input : {DType::bf16, DType::fp16}) {
    for (const PinnedProduct& p : pinned_products(input)) {
      for (const std::uint16_t v : p.a) put(v);
      for (const std::uint16_t v : p.b) put(v);
      for (const float v : p.c) put(arithmetic::bits_of(v));
    }
  }
  EXPECT_EQ(digest, 0x8d0f1e2f13c3d3b0U) << std::hex << digest;
}

TEST(PinnedProducts, TakeLittleTime) {
  const auto start = std::chrono::steady_clock::now();
  const auto found = compare_pinned(Arithmetic::hopper, DType::bf16, [](const GemmArguments& g) {
    return by_unit<DType::bf16>(arithmetic::kHopper16, g);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(found->outputs, 9 * 64 * 64);
  EXPECT_LT(seconds.count(), 2.0) << "twice, and once in a debug build";
}

TEST(PinnedProducts, AFailureIsNoVerdict) {
  const auto failed = compare_pinned(Arithmetic::hopper, DType::bf16, [](const GemmArguments&) {
    return Status{Errc::internal, "out of memory"};
  });
  EXPECT_EQ(failed.status().code(), Errc::internal);
}

}  // namespace
}  // namespace detgemm::cuda
