// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/fma_problem.hpp"

#include <gtest/gtest.h>

#include <set>

namespace detgemm::test {
namespace {

TEST(FmaProblem, IsValid) {
  const auto at = [](std::uintptr_t place) { return reinterpret_cast<void*>(place << 40); };
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const Problem p = draw_fma_problem(7, i);
    ASSERT_TRUE(validate(p.spec)) << p.text();
    const Operands o = operands_of(p, {at(1), at(2), at(3), at(4), at(5)});
    const Status valid = validate(p.spec, o);
    ASSERT_TRUE(valid) << valid.message() << "\n" << p.text();
  }
}

TEST(FmaProblem, CoversWhatItSays) {
  std::set<std::string> types;
  std::set<ReductionKind> kinds;
  int continues = 0, short_leaves = 0, odd_leaves = 0, many_leaves = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Problem p = draw_fma_problem(1, i);
    const Reduction& r = p.spec.contract.reduction;
    types.insert(std::string(name(p.spec.contract.input)) + ">" +
                 std::string(name(p.spec.contract.output)));
    kinds.insert(r.kind);
    continues += p.spec.continue_from_c;
    if (r.kind == ReductionKind::chain) continue;
    short_leaves += r.leaf_k < 8;
    odd_leaves += r.leaf_k % 8 != 0;
    many_leaves += p.spec.contract.leaves(p.spec.k) > 32;
  }
  EXPECT_EQ(types.size(), 9U);
  EXPECT_EQ(kinds.size(), 3U);
  for (const int count : {continues, short_leaves, odd_leaves, many_leaves}) EXPECT_GE(count, 30);
}

}  // namespace
}  // namespace detgemm::test
