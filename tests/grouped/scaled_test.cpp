// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Scales in problems of many groups: each group has the bits of its own Plan on the same memory,
// with rows that are not aligned to anything and a scale for each.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/grouped.hpp"

namespace detgemm {
namespace {

constexpr std::int64_t kGroups = 4, kScaledRows = 37, kN = 21, kK = 300, kLeaves = 3;

/// Arrays with room for every kind; e4m3 bytes without NaN, scales of a few binades and both signs.
struct Arrays {
  std::vector<std::uint8_t> a, b;
  std::vector<float> sa, sb, d, expected;
  std::vector<std::int32_t> ends;
  bool of_lines = false;  ///< one scale per row and column, under fold
  std::int64_t leaves() const { return of_lines ? 1 : kLeaves; }

  explicit Arrays(bool lines = false)
      : d(kGroups * kScaledRows * kN, 7.0F), expected(d), of_lines(lines) {
    std::uint32_t word = 7;
    const auto next = [&] { return (word = word * 1664525U + 1013904223U) >> 8; };
    for (std::int64_t i = 0; i < kGroups * kScaledRows * kK; ++i) {
      a.push_back(static_cast<std::uint8_t>(next() % 0x7fU | (next() & 0x80U)));
    }
    for (std::int64_t i = 0; i < kGroups * kK * kN; ++i) {
      b.push_back(static_cast<std::uint8_t>(next() % 0x7fU | (next() & 0x80U)));
    }
    const auto scale = [&] {
      return (next() % 2 == 0 ? 1.0F : -1.0F) * (0.125F + static_cast<float>(next() % 4096) / 1024);
    };
    for (std::int64_t i = 0; i < kGroups * kScaledRows * kLeaves; ++i) sa.push_back(scale());
    for (std::int64_t i = 0; i < kGroups * kN * kLeaves; ++i) sb.push_back(scale());
  }
};

GroupedSpec spec_of(GroupKind kind, bool of_lines = false) {
  GroupedSpec spec;
  spec.gemm.contract =
      *Contract::parse(of_lines ? "hopper/e4m3/fold:128->fp32" : "hopper/e4m3/scaled:128->fp32");
  spec.gemm.line_scales = of_lines;
  spec.gemm.n = kN;
  spec.gemm.k = kK;
  spec.kind = kind;
  spec.groups = kGroups;
  return spec;
}

/// Who computes, and how many rows and columns share a scale. The skeleton has no code for groups
/// and runs a plan for each.
struct Way {
  const Backend* backend = find_backend("reference").value();
  std::string variant = {};
  std::int64_t per_a = 1, per_b = 1;  ///< of segments per_a is 1
};

/// `rows` rows from row `at` of all rows on, times the matrix of `group`, by a Plan.
void by_plan(const Way& way, Arrays& x, std::int64_t at, std::int64_t rows, std::int64_t group,
             std::int64_t d_at) {
  const auto plan =
      Plan::create(*way.backend, spec_of(GroupKind::batched, x.of_lines).gemm, {way.variant});
  ASSERT_TRUE(plan) << plan.status().message();
  const std::int64_t leaves = x.leaves(), per_b = way.per_b;
  const std::int64_t b_blocks = per_b == 1 ? kN : 1;
  Operands o;
  o.a = row_major(static_cast<const void*>(x.a.data() + at * kK), rows, kK, DType::e4m3);
  o.b = row_major(static_cast<const void*>(x.b.data() + group * kK * kN), kK, kN, DType::e4m3);
  o.d = row_major(x.expected.data() + d_at * kN, rows, kN, DType::fp32);
  o.scale_a = {x.sa.data() + at * leaves, ScaleType::fp32, 1, rows, leaves, leaves, 1};
  if (way.per_a > 1) {
    o.scale_a = {x.sa.data() + group * leaves, ScaleType::fp32, way.per_a, 1, leaves, leaves, 1};
  }
  o.scale_b = {
      x.sb.data() + group * kN * leaves, ScaleType::fp32, per_b, b_blocks, leaves, leaves, 1};
  std::vector<std::byte> memory(*plan->workspace_bytes(rows) + 256);
  void* scratch = memory.data();
  std::size_t room = memory.size();
  std::align(256, 1, scratch, room);
  const Status status = plan->run({}, o, {scratch, room / 256 * 256});
  ASSERT_TRUE(status) << status.message();
}

void run_groups(const Way& way, GroupKind kind, Arrays& x) {
  const auto plan = GroupedPlan::create(*way.backend, spec_of(kind, x.of_lines), {way.variant});
  ASSERT_TRUE(plan) << plan.status().message();
  const std::int64_t per_b = way.per_b;
  const bool segments = kind == GroupKind::m_grouped;
  const std::int64_t rows = segments ? kGroups * kScaledRows : kScaledRows;
  const std::int64_t leaves = x.leaves();
  const std::int64_t b_blocks = per_b == 1 ? kN : 1;
  GroupedOperands o;
  o.arrays.a = row_major(static_cast<const void*>(x.a.data()), rows, kK, DType::e4m3);
  o.arrays.b = row_major(static_cast<const void*>(x.b.data()), kK, kN, DType::e4m3);
  o.arrays.d = row_major(x.d.data(), rows, kN, DType::fp32);
  o.arrays.scale_a = {x.sa.data(), ScaleType::fp32, 1, rows, leaves, leaves, 1};
  o.arrays.scale_b = {x.sb.data(), ScaleType::fp32, per_b, b_blocks, leaves, leaves, 1};
  o.group.b = kK * kN;
  o.group.scale_b = kN * leaves;
  if (!segments) {
    o.group.a = kScaledRows * kK;
    o.group.d = kScaledRows * kN;
    o.group.scale_a = kScaledRows * leaves;
    if (way.per_a > 1) {
      o.arrays.scale_a.per = way.per_a;
      o.arrays.scale_a.blocks = 1;
      o.group.scale_a = leaves;
    }
  }
  if (kind != GroupKind::batched) o.offsets = {x.ends.data(), kGroups, OffsetType::i32};
  std::vector<std::byte> memory(*plan->workspace_bytes(rows) + 256);
  void* scratch = memory.data();
  std::size_t room = memory.size();
  std::align(256, 1, scratch, room);
  const Status status = plan->run({}, o, {scratch, room / 256 * 256});
  ASSERT_TRUE(status) << status.message();
}

/// Every variant of the reference, and the loop over plans.
std::vector<Way> ways(bool of_lines) {
  std::vector<Way> list;
  const GroupedSpec spec = spec_of(GroupKind::batched, of_lines);
  for (const Backend* backend : {find_backend("reference").value(), &skeleton_backend()}) {
    for (const std::string& variant : backend->grouped_variants(spec)) {
      for (const std::int64_t per_b : {1, 128}) {
        for (const std::int64_t per_a : {1, 128}) list.push_back({backend, variant, per_a, per_b});
      }
    }
  }
  return list;
}

void have_the_bits_of_their_plans(bool of_lines) {
  const auto list = ways(of_lines);
  ASSERT_GE(list.size(), 12U);
  for (const Way& way : list) {
    const std::string text = std::string(way.backend->name()) + ", " + way.variant;
    Arrays batched(of_lines);
    for (std::int64_t g = 0; g < kGroups; ++g) {
      by_plan(way, batched, g * kScaledRows, kScaledRows, g, g * kScaledRows);
    }
    run_groups(way, GroupKind::batched, batched);
    EXPECT_EQ(batched.d, batched.expected) << text;

    Arrays masked(of_lines);
    masked.ends = {0, 37, 5, 1};
    for (std::int64_t g = 0; g < kGroups; ++g) {
      const std::int64_t rows = masked.ends[static_cast<std::size_t>(g)];
      if (rows > 0) by_plan(way, masked, g * kScaledRows, rows, g, g * kScaledRows);
    }
    run_groups(way, GroupKind::m_masked, masked);
    EXPECT_EQ(masked.d, masked.expected) << text;

    if (way.per_a > 1) continue;
    Arrays segments(of_lines);  // an empty one, and rows behind the last that belong to none
    segments.ends = {13, 13, 90, 141};
    std::int64_t begin = 0;
    for (std::int64_t g = 0; g < kGroups; ++g) {
      const std::int64_t end = segments.ends[static_cast<std::size_t>(g)];
      if (end > begin) by_plan(way, segments, begin, end - begin, g, begin);
      begin = end;
    }
    run_groups(way, GroupKind::m_grouped, segments);
    EXPECT_EQ(segments.d, segments.expected) << text;
  }
}

TEST(ScaledGroups, HaveTheBitsOfTheirPlans) { have_the_bits_of_their_plans(false); }
TEST(ScaledGroups, OfLinesHaveTheBitsOfTheirPlans) { have_the_bits_of_their_plans(true); }

TEST(ScaledGroups, AnotherGroupsScalesGiveOtherBits) {  // what the comparison would notice
  Arrays x, y;
  x.ends = y.ends = {13, 13, 90, 141};
  run_groups({}, GroupKind::m_grouped, x);
  std::rotate(y.sa.begin(), y.sa.begin() + kLeaves, y.sa.end());
  run_groups({}, GroupKind::m_grouped, y);
  EXPECT_NE(x.d, y.d);
}

TEST(ScaledGroups, RefuseWithASentence) {
  Arrays x;
  x.ends = {13, 13, 90, 141};
  const auto says = [&](GroupKind kind, auto&& spoil) {
    GroupedOperands o;
    const bool segments = kind == GroupKind::m_grouped;
    const std::int64_t rows = segments ? kGroups * kScaledRows : kScaledRows;
    o.arrays.a = row_major(static_cast<const void*>(x.a.data()), rows, kK, DType::e4m3);
    o.arrays.b = row_major(static_cast<const void*>(x.b.data()), kK, kN, DType::e4m3);
    o.arrays.d = row_major(x.d.data(), rows, kN, DType::fp32);
    o.arrays.scale_a = {x.sa.data(), ScaleType::fp32, 1, rows, kLeaves, kLeaves, 1};
    o.arrays.scale_b = {x.sb.data(), ScaleType::fp32, 1, kN, kLeaves, kLeaves, 1};
    o.group.b = kK * kN;
    if (!segments) o.group.d = kScaledRows * kN;
    if (kind != GroupKind::batched) o.offsets = {x.ends.data(), kGroups, OffsetType::i32};
    GroupedSpec spec = spec_of(kind);
    spoil(spec, o);
    return validate(spec, o).message();
  };
  EXPECT_EQ(says(GroupKind::m_grouped, [](GroupedSpec&, GroupedOperands&) {}), "");
  EXPECT_EQ(says(GroupKind::m_grouped,
                 [](GroupedSpec&, GroupedOperands& o) {
                   o.arrays.scale_a.per = 128;
                   o.arrays.scale_a.blocks = 2;
                 }),
            "scale_a.per is 128: it must be 1 for m_grouped, whose segments begin at any row");
  EXPECT_EQ(
      says(GroupKind::m_grouped, [](GroupedSpec&, GroupedOperands& o) { o.group.scale_a = 3; }),
      "group.scale_a is 3: it must be 0, since all groups of m_grouped share one array");
  EXPECT_EQ(
      says(GroupKind::batched, [](GroupedSpec&, GroupedOperands& o) { o.group.scale_b = -1; }),
      "group.scale_b is -1: the distance between groups must not be negative");
  EXPECT_EQ(says(GroupKind::batched,
                 [](GroupedSpec& spec, GroupedOperands& o) {
                   spec.gemm.contract.reduction.kind = ReductionKind::fold;
                   o.arrays.scale_a = o.arrays.scale_b = {};
                   o.group.scale_b = 4;
                 }),
            "group.scale_b is 4: it must be 0, since this problem takes no scales");
}

}  // namespace
}  // namespace detgemm
