// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The sweep's problems and data, looked at without a device.

#include "tests/cuda/problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace detgemm::test {
namespace {

Operands somewhere(const Problem& p) {
  const auto at = [](std::uintptr_t place) { return reinterpret_cast<void*>(place << 40); };
  return operands_of(p, {at(1), at(2), at(3), at(4), at(5)});
}

std::int64_t extent(const ConstMatrix& v) {
  return v.rows == 0 || v.cols == 0 ? 0
                                    : (v.rows - 1) * v.row_stride + (v.cols - 1) * v.col_stride + 1;
}

TEST(SweepProblem, IsValidAndFitsTheArenas) {
  for (std::uint64_t i = 0; i < 50000; ++i) {
    const Problem p = draw_problem(7, i);
    ASSERT_TRUE(validate(p.spec)) << p.text();
    const Operands o = somewhere(p);
    const Status valid = validate(p.spec, o);
    ASSERT_TRUE(valid) << valid.message() << "\n" << p.text();
    for (const ConstMatrix& view : {o.a, o.b, o.c, ConstMatrix(o.d)}) {
      ASSERT_LE(extent(view), kMaxElements) << p.text();
    }
    ASSERT_LE(o.bias.size, 1 << 17);
    ASSERT_LE(static_cast<double>(p.m * p.spec.n) * static_cast<double>(p.spec.k), kMaxProducts);
    ASSERT_GE(p.m, 1);
    ASSERT_GE(p.spec.n, 1);
  }
}

/// However many kernels there are, chains get each one; fold and tree get each one in turn.
TEST(SweepProblem, EveryKernelIsForced) {
  for (const std::size_t count : {20U, 123U, 241U, 900U}) {
    std::set<std::size_t> of_leaves;
    std::size_t most = 0;
    for (std::uint64_t i = 0; i < 900; ++i) {
      const Problem chain = draw_problem(7, i), leaves = draw_problem(7, i, Reductions::leaves);
      std::size_t got = 0;
      for (std::size_t kernel = 0; kernel < count; ++kernel) {
        ASSERT_TRUE(gets_kernel(chain, kernel, count)) << kernel << " of " << count;
        if (!gets_kernel(leaves, kernel, count)) continue;
        of_leaves.insert(kernel);
        ++got;
      }
      most = std::max(most, got);
    }
    EXPECT_EQ(of_leaves.size(), count);
    EXPECT_LE(most, 40U) << "a sweep would not get to many problems";
  }
}

TEST(SweepProblem, IsValidWithInputsOfTf32) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Problem p = draw_problem(7, i, Reductions::all);
    set_input(p.spec.contract, DType::tf32);
    ASSERT_TRUE(validate(p.spec)) << p.text();
    const Operands o = somewhere(p);
    const Status valid = validate(p.spec, o);
    ASSERT_TRUE(valid) << valid.message() << "\n" << p.text();
    ASSERT_EQ(size_of(o.a.dtype), 4U);
  }
}

TEST(SweepProblem, MisalignedOperandsAreValidAndNearlyAlwaysOdd) {
  int odd = 0, odd_leaves = 0, leaves = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    Problem p = draw_problem(7, i, Reductions::all);
    misalign_operands(p);
    ASSERT_TRUE(validate(p.spec)) << p.text();
    const Operands o = somewhere(p);
    const Status valid = validate(p.spec, o);
    ASSERT_TRUE(valid) << valid.message() << "\n" << p.text();
    ASSERT_LE(extent(o.a), kMaxElements) << p.text();
    ASSERT_LE(extent(o.b), kMaxElements) << p.text();
    odd += p.a.offset % 8 != 0 || p.a.ld % 8 != 0 || p.b.offset % 8 != 0 || p.b.ld % 8 != 0;
    const Reduction& r = p.spec.contract.reduction;
    leaves += r.kind != ReductionKind::chain;
    odd_leaves += r.kind != ReductionKind::chain && r.leaf_k % 64 != 0;
  }
  EXPECT_GE(odd, 4500);
  EXPECT_GE(odd_leaves, leaves / 4);
}

TEST(SweepProblem, IsAFunctionOfSeedAndIndex) {
  std::set<std::string> texts;
  for (std::uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(draw_problem(3, i).text(), draw_problem(3, i).text());
    texts.insert(draw_problem(3, i).text());
    texts.insert(draw_problem(4, i).text());
  }
  EXPECT_EQ(texts.size(), 400U);
}

TEST(SweepProblem, CoversWhatItSays) {
  std::set<std::string> layouts, types, data, shapes;
  int in_place = 0, empty_k = 0, continues = 0, misaligned = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Problem p = draw_problem(1, i);
    layouts.insert(p.layout() + (p.d.col_major ? " col" : " row"));
    types.insert(p.spec.contract.text());
    data.insert(std::string(name(p.data)));
    shapes.insert(p.shape);
    in_place += p.in_place;
    empty_k += p.spec.k == 0;
    continues += p.spec.continue_from_c;
    misaligned += p.a.offset % 8 != 0;
  }
  EXPECT_EQ(layouts.size(), 8U);
  EXPECT_EQ(types.size(), 6U);
  EXPECT_EQ(data.size(), static_cast<std::size_t>(kDataKinds));
  EXPECT_GE(shapes.size(), 6U);
  for (const int count : {in_place, empty_k, continues, misaligned}) EXPECT_GE(count, 5);
}

TEST(SweepProblem, GradientsThatGoOnFromCAreManyAndLieInSeveralWays) {
  std::set<std::string> ways;
  int plain = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Problem p = draw_problem(1, i, Reductions::leaves);
    if (!p.spec.continue_from_c || p.spec.alpha != 1.0F || p.spec.bias ||
        p.spec.activation != Activation::none) {
      continue;
    }
    ++plain;
    ways.insert(std::string(p.in_place      ? "in place"
                            : p.c.col_major ? "C col"
                                            : "C row") +
                (p.d.col_major ? ", D col" : ", D row"));
  }
  EXPECT_GE(plain, 40);
  EXPECT_EQ(ways.size(), 6U);
}

/// The tests cuda.leaves_from_c_* name two problems by seed and index: other draws would empty
/// them.
TEST(SweepProblem, TheOnesInWhichTmaOvertookLoadsAreStillDrawn) {
  for (const std::uint64_t index : {145, 159}) {
    const Problem p = draw_problem(20261306, index, Reductions::leaves);
    EXPECT_TRUE(p.spec.continue_from_c) << p.text();
    EXPECT_EQ(p.spec.contract.reduction.kind, ReductionKind::fold) << p.text();
    EXPECT_LE(p.spec.k, p.spec.contract.reduction.leaf_k) << "one leaf: " << p.text();
    EXPECT_GT(p.m * p.spec.n, std::int64_t{132} * 2 * 128 * 128) << "many tiles: " << p.text();
  }
}

TEST(SweepData, PartnersCancel) {
  for (const std::int32_t shift : {0, 1, 3, 6}) {
    const Draw a{Data::cancel, DType::bf16, 11, shift, false};
    const Draw b{Data::cancel, DType::bf16, 12, shift, true};
    for (std::int64_t k = 0; k < 256; ++k) {
      const std::int64_t partner = k ^ (std::int64_t{1} << shift);
      EXPECT_EQ(draw_element(a, 5, k), draw_element(a, 5, partner));
      EXPECT_EQ(draw_element(b, 5, k), draw_element(b, 5, partner) ^ 0x8000U);
    }
  }
}

TEST(SweepData, FillsItsTypeAndIsNotAllNaN) {
  for (int kind = 0; kind < kDataKinds; ++kind) {
    for (const DType type : {DType::bf16, DType::fp16, DType::fp32}) {
      const Draw d{static_cast<Data>(kind), type, 99, 3, true};
      std::set<std::uint32_t> values;
      int nans = 0;
      for (std::int64_t i = 0; i < 4096; ++i) {
        const std::uint32_t bits = draw_element(d, i / 64, i % 64);
        if (type != DType::fp32) {
          ASSERT_LE(bits, 0xffffU);
        }
        values.insert(bits);
        const std::uint32_t top =
            type == DType::fp16 ? 0x7c00U : (type == DType::bf16 ? 0x7f80U : 0x7f800000U);
        nans += (bits & ~(type == DType::fp32 ? 0x80000000U : 0x8000U)) > top;
      }
      EXPECT_GE(values.size(), 500U) << name(d.data) << " " << detgemm::name(type);
      EXPECT_LE(nans, static_cast<Data>(kind) == Data::specials ? 200 : 0) << name(d.data);
    }
  }
}

}  // namespace
}  // namespace detgemm::test
