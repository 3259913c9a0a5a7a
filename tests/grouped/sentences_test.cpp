// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Every rule of grouped calls: what breaks it is refused with a sentence that names the argument,
// its value and the rule, and D is not written.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "detgemm/grouped.hpp"
#include "detgemm/reference.hpp"

namespace detgemm {
namespace {

/// 3 groups of 4 rows in all; batched and masked have 4 rows each. Two products of fp32.
struct Fixture {
  static constexpr std::int64_t kGroups = 3, kM = 4, kN = 2, kK = 5;

  explicit Fixture(GroupKind kind) {
    spec.gemm.contract = *Contract::parse("ieee_fma/fp32/fold:2->fp32");
    spec.gemm.n = kN;
    spec.gemm.k = kind == GroupKind::k_grouped ? 0 : kK;
    spec.kind = kind;
    spec.groups = kGroups;
    d.fill(7.0F);
    x.arrays.a = row_major(static_cast<const void*>(a.data()), kM, kK, DType::fp32);
    x.arrays.b = row_major(static_cast<const void*>(b.data()), kK, kN, DType::fp32);
    x.arrays.d = row_major(d.data(), kM, kN, DType::fp32);
    x.arrays.c = row_major(static_cast<const void*>(c.data()), kM, kN, DType::fp32);
    x.arrays.bias = {bias.data(), kN, DType::fp32};
    const bool all = kind == GroupKind::batched || kind == GroupKind::m_masked;
    x.group.a = all ? kM * kK : 0;
    x.group.b = kind == GroupKind::k_grouped ? 0 : kK * kN;
    x.group.d = kind == GroupKind::m_grouped ? 0 : kM * kN;
    if (kind != GroupKind::batched) x.offsets = {ends.data(), kGroups, OffsetType::i64};
  }
  Status create() const { return GroupedPlan::create(reference_backend(), spec, options).status(); }
  Status run(Stream stream = {}) {
    auto plan = GroupedPlan::create(reference_backend(), spec, options);
    if (!plan) return plan.status();
    return plan->run(stream, x, {work.data(), work.size()});
  }
  Status check() const {
    return GroupedPlan::create(reference_backend(), spec, options)->check({}, x);
  }
  bool untouched() const {
    for (float value : d) {
      if (value != 7.0F) return false;
    }
    return true;
  }

  GroupedSpec spec;
  PlanOptions options;
  GroupedOperands x;
  std::array<float, 64> a{}, b{}, c{}, d{};
  std::array<float, 8> bias{};
  alignas(16) std::array<std::int64_t, 4> ends{1, 1, 4, 0};
  alignas(256) static inline std::array<std::byte, std::size_t{1} << 22> work{};
};

/// One way to break a rule.
struct Row {
  const char* name;
  GroupKind kind;
  Errc code;
  const char* sentence;
  void (*spoil)(Fixture&);
};

constexpr auto kBad = Errc::invalid_argument;
constexpr auto kBatched = GroupKind::batched;
constexpr auto kRows = GroupKind::m_grouped;
constexpr auto kMasked = GroupKind::m_masked;
constexpr auto kProducts = GroupKind::k_grouped;
constexpr std::int64_t kFar = std::int64_t{1} << 62;

constexpr Row kTable[] = {
    {"kind", kBatched, kBad, "kind is unknown (4): it must be batched (0), m_grouped (1)",
     [](Fixture& f) { f.spec.kind = static_cast<GroupKind>(4); }},
    {"groups_none", kRows, kBad, "groups is 0: it must be from 1 to 1048576",
     [](Fixture& f) { f.spec.groups = 0; }},
    {"groups_many", kRows, kBad, "groups is 1048577: it must be from 1 to",
     [](Fixture& f) { f.spec.groups = kMaxGroups + 1; }},
    {"k_of_k_grouped", kProducts, kBad, "k is 5: it must be 0 for k_grouped",
     [](Fixture& f) { f.spec.gemm.k = 5; }},
    {"problem", kRows, kBad, "n is -1", [](Fixture& f) { f.spec.gemm.n = -1; }},
    {"workers", kRows, kBad, "max_workers is -1", [](Fixture& f) { f.options.max_workers = -1; }},
    {"stable", kRows, kBad, "stable is unknown (7)",
     [](Fixture& f) { f.options.stable = static_cast<Stable>(7); }},
    {"variant", kRows, Errc::not_found, "variant is \"warp\": reference has",
     [](Fixture& f) { f.options.variant = "warp"; }},
    {"shape_a", kRows, kBad, "a is 4 x 4: it must be 4 x 5",
     [](Fixture& f) { f.x.arrays.a.cols = 4; }},
    {"rows_apart", kProducts, kBad, "b is 4 x 2: it must be 5 x 2",
     [](Fixture& f) { f.x.arrays.b.rows = 4; }},
    {"negative_distance", kBatched, kBad, "group.b is -10: the distance between groups must not",
     [](Fixture& f) { f.x.group.b = -10; }},
    {"distance_of_shared_a", kRows, kBad,
     "group.a is 8: it must be 0, since all groups of m_grouped",
     [](Fixture& f) { f.x.group.a = 8; }},
    {"distance_of_shared_d", kRows, kBad, "group.d is 8: it must be 0",
     [](Fixture& f) { f.x.group.d = 8; }},
    {"distance_of_shared_b", kProducts, kBad, "group.b is 10: it must be 0",
     [](Fixture& f) { f.x.group.b = 10; }},
    {"far", kBatched, kBad, "group.a is 4611686018427387904: 3 groups that far apart must end",
     [](Fixture& f) { f.x.group.a = kFar; }},
    {"d_overlaps_itself", kBatched, kBad, "group.d is 7: groups of d must not overlap",
     [](Fixture& f) { f.x.group.d = 7; }},
    {"d_shared", kProducts, kBad,
     "group.d is 0: groups of d must not overlap, so it must be at "
     "least 8",
     [](Fixture& f) { f.x.group.d = 0; }},
    {"d_interleaved_too_close", kBatched, kBad, "group.d is 2: groups of d must not overlap",
     [](Fixture& f) { f.x.arrays.d.row_stride = 5, f.x.group.d = 2; }},
    {"d_over_a", kBatched, kBad, "d with all of its groups overlaps a",
     [](Fixture& f) { f.x.arrays.a.data = f.d.data() + 20; }},
    {"d_over_b", kRows, kBad, "d with all of its groups overlaps b",
     [](Fixture& f) { f.x.arrays.d.data = f.b.data() + 12; }},
    {"d_over_c", kBatched, kBad, "d with all of its groups overlaps c",
     [](Fixture& f) { f.spec.gemm.beta = 1, f.x.arrays.c.data = f.d.data() + 16; }},
    {"c_is_d_but_not_all", kBatched, kBad, "d with all of its groups overlaps c: it must be c",
     [](Fixture& f) {
       f.spec.gemm.beta = 1;
       f.x.arrays.c.data = f.d.data();
       f.x.group.c = 9;
     }},
    {"d_over_bias", kBatched, kBad, "d with all of its groups overlaps bias",
     [](Fixture& f) { f.spec.gemm.bias = DType::fp32, f.x.arrays.bias.data = f.d.data() + 10; }},
    {"d_over_offsets", kMasked, kBad, "d with all of its groups overlaps offsets",
     [](Fixture& f) { f.x.offsets.data = f.d.data() + 12; }},
    {"offsets_of_batched", kBatched, kBad, "offsets.size is 3: batched has no offsets",
     [](Fixture& f) { f.x.offsets.size = 3; }},
    {"offsets_null", kRows, kBad, "offsets.data is null: m_grouped has an offset for each of 3",
     [](Fixture& f) { f.x.offsets.data = nullptr; }},
    {"offsets_count", kMasked, kBad, "offsets.size is 2: it must be the number of groups, 3",
     [](Fixture& f) { f.x.offsets.size = 2; }},
    {"offsets_type", kRows, kBad, "offsets.type is unknown (2): it must be i32 (0) or i64 (1)",
     [](Fixture& f) { f.x.offsets.type = static_cast<OffsetType>(2); }},
    {"offsets_odd", kRows, kBad, "it must be a multiple of 8",
     [](Fixture& f) { f.x.offsets.data = reinterpret_cast<const char*>(f.ends.data()) + 4; }},
    {"workspace_over_b", kRows, kBad, "workspace with all of its groups overlaps b",
     [](Fixture& f) { f.x.arrays.b.data = f.work.data(); }},
    {"workspace_over_offsets", kRows, kBad, "workspace with all of its groups overlaps offsets",
     [](Fixture& f) { f.x.offsets.data = f.work.data(); }},
};

TEST(GroupedSentences, EveryRuleHasOne) {
  for (const Row& row : kTable) {
    Fixture f(row.kind);
    ASSERT_TRUE(f.run()) << row.name << ": " << f.run().message();
    f.d.fill(7.0F);
    row.spoil(f);
    const Status s = f.run();
    EXPECT_EQ(s.code(), row.code) << row.name << ": " << s.message();
    EXPECT_NE(s.message().find(row.sentence), std::string::npos) << row.name << ": " << s.message();
    EXPECT_TRUE(f.untouched()) << row.name;
  }
}

TEST(GroupedSentences, StreamAndWorkspace) {
  Fixture f(kRows);
  EXPECT_NE(f.run({DeviceKind::cuda, nullptr}).message().find("stream.kind is cuda"),
            std::string::npos);
  auto plan = GroupedPlan::create(reference_backend(), f.spec);
  const std::size_t needed = *plan->workspace_bytes(Fixture::kM);
  ASSERT_GT(needed, 0U);
  const auto said = [&](Workspace w) { return plan->run({}, f.x, w).message(); };
  EXPECT_NE(said({f.work.data(), needed - 1}).find("workspace.bytes is"), std::string::npos);
  EXPECT_NE(said({nullptr, needed}).find("workspace.data is null"), std::string::npos);
  EXPECT_NE(said({f.work.data() + 8, needed}).find("a multiple of 256"), std::string::npos);
  EXPECT_TRUE(f.untouched());
  EXPECT_NE(plan->workspace_bytes(-1).status().message().find("max_m is -1"), std::string::npos);
  EXPECT_NE(plan->workspace_bytes(1, 1).status().message().find("max_k is 1: it must be 0 for"),
            std::string::npos);
}

TEST(GroupedSentences, OddAndAccepted) {
  Fixture interleaved(kBatched);
  interleaved.x.arrays.d.row_stride = 6;
  interleaved.x.group.d = 2;
  EXPECT_TRUE(interleaved.run());
  Fixture shared(kBatched);
  shared.x.group.a = shared.x.group.b = 0;
  EXPECT_TRUE(shared.run());
  Fixture nothing(kRows);
  nothing.x.arrays.a = nothing.x.arrays.d = {};
  nothing.x.arrays.a = row_major(static_cast<const void*>(nullptr), 0, 5, DType::fp32);
  nothing.x.arrays.d = row_major(static_cast<void*>(nullptr), 0, 2, DType::fp32);
  EXPECT_TRUE(nothing.run()) << nothing.run().message();
  Fixture no_products(kProducts);
  no_products.x.arrays.a = row_major(static_cast<const void*>(nullptr), 4, 0, DType::fp32);
  no_products.x.arrays.b = row_major(static_cast<const void*>(nullptr), 0, 2, DType::fp32);
  EXPECT_TRUE(no_products.run()) << no_products.run().message();
}

TEST(GroupedSentences, CheckNamesTheOffset) {
  const auto said = [](GroupKind kind, std::array<std::int64_t, 4> ends) {
    Fixture f(kind);
    f.ends = ends;
    return f.check().message();
  };
  EXPECT_EQ(said(kRows, {1, 1, 4, 0}), "");
  EXPECT_EQ(said(kMasked, {4, 0, 2, 0}), "");
  EXPECT_EQ(said(kRows, {1, -1, 4, 0}), "offsets[1] is -1: it must not be negative");
  EXPECT_EQ(said(kRows, {1, 1, 5, 0}), "offsets[2] is 5: it must not exceed the rows of a, 4");
  EXPECT_EQ(said(kMasked, {4, 5, 2, 0}), "offsets[1] is 5: it must not exceed the capacity, 4");
  EXPECT_EQ(said(kProducts, {0, 5, 6, 0}), "offsets[2] is 6: it must not exceed the products, 5");
  EXPECT_EQ(said(kRows, {3, 2, 4, 0}),
            "offsets[1] is 2: it must not be less than the one before it, 3");
}

TEST(GroupedSentences, Names) {
  for (GroupKind kind : {kBatched, kRows, kMasked, kProducts}) {
    EXPECT_EQ(*parse_group_kind(name(kind)), kind);
  }
  EXPECT_EQ(parse_group_kind("moe").status().code(), Errc::not_found);
  EXPECT_EQ(name(OffsetType::i64), "i64");
}

TEST(GroupedSentences, Describe) {
  Fixture f(kProducts);
  const auto plan = GroupedPlan::create(reference_backend(), f.spec);
  const std::string text = plan->describe(4, 100);
  EXPECT_NE(text.find("k_grouped, 3 groups, m = 4, n = 2, k = 100 of all groups"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace detgemm
