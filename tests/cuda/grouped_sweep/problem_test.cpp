// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/grouped_sweep/problem.hpp"

#include <gtest/gtest.h>

#include <set>

// The problems of the sweep over groups, without a device: that all of them are legal, that they
// fit the memory that is set aside, and that every layout is drawn.

namespace detgemm::test {
namespace {

GroupedOperands at_addresses(const GroupProblem& p) {
  const auto at = [](std::int64_t i) { return reinterpret_cast<void*>(i << 32); };
  return operands_of(p, {at(1), at(2), at(3), at(4), at(5), at(6), at(7)}, at(8));
}

TEST(GroupProblems, AreLegalAndFitTheMemoryThatIsSetAside) {
  for (const DType input : {DType::bf16, DType::e4m3, DType::tf32}) {
    const bool e4m3 = input == DType::e4m3;
    std::set<std::string> layouts;
    int continues = 0, scaled = 0, of_lines = 0, biases = 0;
    for (std::uint64_t index = 0; index < 4000; ++index) {
      GroupProblem p = draw_group_problem(3, index, e4m3);
      if (input == DType::tf32) set_input(p.spec.gemm.contract, input);
      const Status legal = validate(p.spec);
      ASSERT_TRUE(legal) << legal.message() << ": " << p.text();
      const GroupedOperands x = at_addresses(p);
      const Status arrays = validate(p.spec, x);
      ASSERT_TRUE(arrays) << arrays.message() << ": " << p.text();
      const auto fits = [&](const GroupLayout& l, std::int64_t lines) {
        const std::int64_t groups = l.distance > 0 ? p.spec.groups : 1;
        return l.ld * lines + (groups - 1) * l.distance + l.offset < kMaxElements;
      };
      const GemmSpec& g = p.spec.gemm;
      ASSERT_TRUE(fits(p.d, p.d.col_major ? g.n : p.m)) << p.text();
      ASSERT_TRUE(fits(p.c, p.c.col_major ? g.n : p.m)) << p.text();
      ASSERT_TRUE(fits(p.a, x.arrays.a.row_stride == 1 ? x.arrays.a.cols : x.arrays.a.rows));
      ASSERT_TRUE(fits(p.b, x.arrays.b.row_stride == 1 ? x.arrays.b.cols : x.arrays.b.rows));
      layouts.insert(std::string(name(p.spec.kind)) + " " + p.d_layout());
      continues += g.continue_from_c ? 1 : 0;
      scaled += g.contract.reduction.kind == ReductionKind::scaled ? 1 : 0;
      of_lines += g.line_scales ? 1 : 0;
      biases += g.bias ? 1 : 0;
    }
    // Rows and columns of one matrix, of stacks, with gaps and side by side; segments have one.
    EXPECT_EQ(layouts.size(), 3U * 8 + 2);
    EXPECT_GT(continues, 100);
    EXPECT_GT(biases, 100);
    EXPECT_EQ(scaled > 100, e4m3);
    EXPECT_EQ(of_lines > 100, e4m3);
  }
}

/// The slices of a problem are legal problems by themselves, and their outputs are those of all.
TEST(GroupProblems, SlicesAreLegal) {
  for (const bool e4m3 : {false, true}) {
    for (std::uint64_t index = 0; index < 500; ++index) {
      const GroupProblem p = draw_group_problem(4, index, e4m3);
      const GroupedOperands x = at_addresses(p);
      std::int64_t begin = 0, outputs = 0;
      for (std::size_t g = 0; g < p.sizes.size(); ++g) {
        const auto [spec, operands] = slice_of(p, x, g, begin);
        begin += p.sizes[g];
        const Status legal = validate(spec, operands);
        EXPECT_TRUE(legal) << legal.message() << ": " << p.text();
        outputs += operands.d.rows * spec.n;
      }
      EXPECT_EQ(outputs, p.outputs());
    }
  }
}

}  // namespace
}  // namespace detgemm::test
