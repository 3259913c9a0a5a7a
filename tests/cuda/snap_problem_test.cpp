// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/snap_problem.hpp"

#include <gtest/gtest.h>

#include <set>

namespace detgemm::test {
namespace {

TEST(SnapProblem, IsValid) {
  const auto at = [](std::uintptr_t place) { return reinterpret_cast<void*>(place << 40); };
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const Problem p = draw_snap_problem(7, i, i % 2 != 0);
    ASSERT_TRUE(validate(p.spec)) << p.text();
    const Operands o = operands_of(p, {at(1), at(2), at(3), at(4), at(5)});
    const Status valid = validate(p.spec, o);
    ASSERT_TRUE(valid) << valid.message() << "\n" << p.text();
  }
}

TEST(SnapProblem, CoversWhatItSays) {
  std::set<std::string> outputs;
  std::set<ReductionKind> kinds;
  std::set<int> promises;
  int continues = 0, long_leaves = 0, short_tails = 0, many_leaves = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Problem p = draw_snap_problem(1, i);
    const Reduction& r = p.spec.contract.reduction;
    outputs.insert(std::string(name(p.spec.contract.output)));
    kinds.insert(r.kind);
    promises.insert(p.spec.a_snapped + 2 * p.spec.b_snapped);
    continues += p.spec.continue_from_c;
    long_leaves += r.leaf_k > 1024 && p.spec.k > 1024;
    short_tails += p.spec.k % r.leaf_k != 0;
    many_leaves += p.spec.contract.leaves(p.spec.k) > 16;
  }
  EXPECT_EQ(outputs.size(), 3U);
  EXPECT_EQ(kinds.size(), 2U);
  EXPECT_EQ(promises.size(), 4U);
  for (const int count : {continues, long_leaves, short_tails, many_leaves}) EXPECT_GE(count, 30);
}

TEST(Snap3Problem, IsValidAndHasBothInputs) {
  const auto at = [](std::uintptr_t place) { return reinterpret_cast<void*>(place << 40); };
  int wide = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const Problem p = draw_snap3_problem(7, i, i % 3 == 0);
    ASSERT_TRUE(validate(p.spec)) << p.text();
    const Status valid = validate(p.spec, operands_of(p, {at(1), at(2), at(3), at(4), at(5)}));
    ASSERT_TRUE(valid) << valid.message() << "\n" << p.text();
    wide += p.spec.contract.input == DType::fp32;
  }
  EXPECT_GE(wide, 4000);
  EXPECT_LE(wide, 6000);
}

}  // namespace
}  // namespace detgemm::test
