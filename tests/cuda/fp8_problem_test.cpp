// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/fp8_problem.hpp"

#include <gtest/gtest.h>

#include <set>

namespace detgemm::test {
namespace {

TEST(Fp8Problem, IsValid) {
  const auto at = [](std::uintptr_t place) { return reinterpret_cast<void*>(place << 40); };
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const Problem p = draw_fp8_problem(7, i, i % 3 == 0);
    ASSERT_TRUE(validate(p.spec)) << p.text();
    const Operands o = operands_of(p, {at(1), at(2), at(3), at(4), at(5), at(6), at(7)});
    const Status valid = validate(p.spec, o);
    ASSERT_TRUE(valid) << valid.message() << "\n" << p.text();
    for (const BlockScales* scales : {&o.scale_a, &o.scale_b}) {  // what Scene sets aside
      const std::int64_t last =
          scales->blocks * scales->stride + scales->leaves * scales->leaf_stride;
      ASSERT_LT(last, kMaxElements / 8) << p.text();
    }
  }
}

TEST(Fp8Problem, CoversWhatItSays) {
  std::set<std::string> outputs;
  std::set<ReductionKind> kinds;
  std::set<int> granularities;
  int tiles = 0, continues = 0, short_tails = 0, many_leaves = 0, bytes = 0, shared = 0, lines = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Problem p = draw_fp8_problem(1, i);
    const Reduction& r = p.spec.contract.reduction;
    outputs.insert(std::string(name(p.spec.contract.output)));
    kinds.insert(r.kind);
    lines += p.spec.line_scales;
    tiles += p.a_along_k() && p.b_along_k() && p.a.ld % 16 == 0 && p.b.ld % 16 == 0;
    continues += p.spec.continue_from_c;
    if (r.kind != ReductionKind::scaled) continue;
    granularities.insert(static_cast<int>(p.scale_a.per * 1000 + p.scale_b.per));
    short_tails += p.spec.k % 128 != 0;
    many_leaves += p.spec.contract.leaves(p.spec.k) > 4;
    bytes += p.scale_a.type == ScaleType::e8m0;
    shared += p.scale_b.stride == 0;
  }
  EXPECT_EQ(outputs.size(), 3U);
  EXPECT_EQ(kinds.size(), 3U);
  EXPECT_EQ(granularities.size(), 4U);
  EXPECT_GE(tiles, 2000);
  for (const int count : {continues, short_tails, many_leaves, bytes, shared, lines}) {
    EXPECT_GE(count, 90);
  }
}

/// The numbers that are drawn, since no other input has 8 bits.
TEST(Fp8Problem, NumbersAreOfE4m3) {
  for (int data = 0; data < kDataKinds; ++data) {
    const Draw draw{static_cast<Data>(data), DType::e4m3, 11, 3, true};
    std::set<std::uint32_t> seen;
    for (int line = 0; line < 64; ++line) {
      for (int k = 0; k < 256; ++k) seen.insert(draw_element(draw, line, k));
    }
    EXPECT_LT(*seen.rbegin(), 256U) << data;
    EXPECT_GT(seen.size(), 30U) << data;
    const bool nan = seen.count(0x7f) + seen.count(0xff) != 0;
    EXPECT_EQ(nan, draw.data == Data::specials) << data;
  }
}

}  // namespace
}  // namespace detgemm::test
