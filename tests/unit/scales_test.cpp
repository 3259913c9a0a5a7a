// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The scales of `scaled`: what is refused, in which words, and what a few joins give by hand.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "backends/skeleton/skeleton.hpp"
#include "core/contract/leaf_scales.hpp"
#include "detgemm/grouped.hpp"
#include "detgemm/plan.hpp"
#include "tests/support/finds.hpp"

namespace detgemm {
namespace {

constexpr std::int64_t kM = 3, kN = 2, kK = 5;  // leaves of 2, 2 and 1

/// 3 x 2 under ieee_fma/fp32/scaled:2, with a scale for each row, column and leaf.
struct Small {
  GemmSpec spec;
  Operands x;
  std::array<float, kM * kK> a{};
  std::array<float, kK * kN> b{};
  std::array<float, 32> d{};
  alignas(16) std::array<float, kM * 3> sa{};
  alignas(16) std::array<float, kN * 3> sb{};

  Small() {
    spec.contract = *Contract::parse("ieee_fma/fp32/scaled:2->fp32");
    spec.n = kN;
    spec.k = kK;
    a.fill(1.0F);
    b.fill(1.0F);
    d.fill(7.0F);
    sa.fill(1.0F);
    sb.fill(1.0F);
    x.a = row_major(static_cast<const void*>(a.data()), kM, kK, DType::fp32);
    x.b = row_major(static_cast<const void*>(b.data()), kK, kN, DType::fp32);
    x.d = row_major(d.data(), kM, kN, DType::fp32);
    x.scale_a = {sa.data(), ScaleType::fp32, 1, kM, 3, 3, 1};
    x.scale_b = {sb.data(), ScaleType::fp32, 1, kN, 3, 3, 1};
  }
  Status run() {
    auto plan = Plan::create(skeleton_backend(), spec);
    if (!plan) return plan.status();
    return plan->run({}, x);
  }
  bool untouched() const {
    for (float value : d) {
      if (value != 7.0F) return false;
    }
    return true;
  }
};

struct Row {
  const char* sentence;
  void (*spoil)(Small&);
};

const Row kRows[] = {
    {"scale_a has no scales: the contract ieee_fma/fp32/scaled:2->fp32 needs scales of both",
     [](Small& s) { s.x.scale_a = {}; }},
    {"scale_b has no scales: the contract", [](Small& s) { s.x.scale_b = {}; }},
    {"scale_a has 3 x 3 scales and the contract is ieee_fma/fp32/fold:2->fp32: contracts of "
     "scaled take scales, and others with line_scales",
     [](Small& s) { s.spec.contract.reduction.kind = ReductionKind::fold; }},
    {"scale_b has 2 x 3 scales and the contract is ieee_fma/fp32/fold:2->fp32: contracts",
     [](Small& s) {
       s.spec.contract.reduction.kind = ReductionKind::fold;
       s.x.scale_a = {};
     }},
    {"scale_a.per is 64: a scale is that of 1 or 128 rows of A",
     [](Small& s) { s.x.scale_a.per = 64; }},
    {"scale_b.per is 0: a scale is that of 1 or 128 columns of B",
     [](Small& s) { s.x.scale_b.per = 0; }},
    {"scale_a.type is unknown \\(2\\): it must be fp32 \\(0\\) or e8m0 \\(1\\)",
     [](Small& s) { s.x.scale_a.type = static_cast<ScaleType>(2); }},
    {"scale_a has 3 x 2 scales: it must have 3 x 3, blocks of 1 x leaves",
     [](Small& s) { s.x.scale_a.leaves = 2; }},
    {"scale_a has 2 x 3 scales: it must have 3 x 3", [](Small& s) { s.x.scale_a.blocks = 2; }},
    {"scale_a has 3 x 3 scales: it must have 1 x 3, blocks of 128 x leaves",
     [](Small& s) { s.x.scale_a.per = 128; }},
    {"scale_b.stride is -3: it must not be negative", [](Small& s) { s.x.scale_b.stride = -3; }},
    {"scale_b.leaf_stride is -1: it must not be negative",
     [](Small& s) { s.x.scale_b.leaf_stride = -1; }},
    {"scale_a.data is null: there are 3 x 3 scales", [](Small& s) { s.x.scale_a.data = nullptr; }},
    {"scale_a.data is 0x[0-9a-f]+1: it must be a multiple of 4",
     [](Small& s) { s.x.scale_a.data = reinterpret_cast<const char*>(s.sa.data()) + 1; }},
    {"scale_a has 3 x 3 scales with strides \\(9223372036854775807, 1\\): its bytes must fit "
     "2\\^63",
     [](Small& s) { s.x.scale_a.stride = INT64_MAX; }},
    {"scale_b has 2 x 3 scales with strides \\(3, 4611686018427387904\\): its bytes must fit",
     [](Small& s) { s.x.scale_b.leaf_stride = std::int64_t{1} << 62; }},
    {"d overlaps scale_a: they must not share memory",
     [](Small& s) { s.x.scale_a.data = s.d.data() + 2; }},
    {"d overlaps scale_b: they must not share memory",
     [](Small& s) { s.x.scale_b.data = s.d.data(); }},
    {"contract leaf is 0: it must be a multiple of ieee_fma/fp32's k_block 1",
     [](Small& s) { s.spec.contract.reduction.leaf_k = 0; }},
};

TEST(Scales, AreRefusedWithASentence) {
  for (const Row& row : kRows) {
    Small small;
    row.spoil(small);
    const Status status = small.run();
    ASSERT_FALSE(status) << row.sentence;
    EXPECT_EQ(status.code(), Errc::invalid_argument) << status.message();
    EXPECT_TRUE(test::finds(status.message(), row.sentence))
        << "said:   " << status.message() << "\nwanted: " << row.sentence;
    EXPECT_TRUE(small.untouched()) << row.sentence;
  }
}

TEST(Scales, JoinByOneFusedMultiplyAdd) {
  Small small;
  small.sa = {2.0F, 0.5F, -1.0F, 1.0F, 1.0F, 1.0F, 0.0F, 3.0F, 1.0F};
  small.sb = {1.0F, 1.0F, 1.0F, 10.0F, 1.0F, 1.0F};
  ASSERT_TRUE(small.run());
  // Leaves are 2, 2 and 1; row 0: 2 * 2 + 0.5 * 2 - 1, and the first leaf tenfold in column 1.
  const std::array<float, 6> expected{4.0F, 40.0F, 5.0F, 23.0F, 7.0F, 7.0F};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(small.d[i], expected[i]) << i;
}

TEST(Scales, RoundTheirProductFirstAndTheJoinOnce) {
  Small small;
  const float sa = 1.0F + 0x1p-23F, sb = 1.0F + 0x1p-22F, odd = 1.0F + 0x1p-12F;
  small.sa.fill(sa);
  small.sb.fill(sb);
  small.spec.k = 4;
  small.x.a.cols = small.x.b.rows = 4;
  small.x.scale_a.leaves = small.x.scale_b.leaves = 2;
  small.a.fill(odd);
  small.b = {odd, odd, 0.0F, 0.0F, -odd, -odd, 0.0F, 0.0F, 0.0F, 0.0F};
  ASSERT_TRUE(small.run());
  const float s = sa * sb, leaf = odd * odd;
  EXPECT_EQ(small.d[0], std::fma(s, -leaf, std::fma(s, leaf, 0.0F)));
  EXPECT_NE(small.d[0], s * -leaf + s * leaf);  // what separate operations give: nothing is left
}

TEST(Scales, StridesOfZeroShareAScale) {
  Small small;
  small.sa[0] = 3.0F;
  small.x.scale_a.stride = small.x.scale_a.leaf_stride = 0;
  ASSERT_TRUE(small.run());
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(small.d[i], 15.0F) << i;
}

TEST(Scales, AnEmptyKNeedsNone) {
  Small small;
  small.spec.k = small.x.a.cols = small.x.b.rows = 0;
  small.x.scale_a = {};
  small.x.scale_b = {};
  small.x.scale_a.blocks = kM;
  small.x.scale_b.blocks = kN;
  EXPECT_TRUE(small.run());
  EXPECT_EQ(small.d[0], 0.0F);
}

TEST(Scales, OfE8m0ArePowersOfTwo) {
  EXPECT_EQ(e8m0_value(127), 1.0F);
  EXPECT_EQ(e8m0_value(1), 0x1p-126F);
  EXPECT_EQ(e8m0_value(0), 0x1p-127F);
  EXPECT_EQ(e8m0_value(254), 0x1p+127F);
  EXPECT_TRUE(std::isnan(e8m0_value(255)));
  EXPECT_EQ(name(ScaleType::e8m0), "e8m0");
  EXPECT_EQ(name(static_cast<ScaleType>(7)), "unknown");
  EXPECT_EQ(size_of(ScaleType::fp32), 4U);
  EXPECT_EQ(size_of(ScaleType::e8m0), 1U);
  EXPECT_EQ(size_of(static_cast<ScaleType>(7)), 0U);
}

/// The same arrays under fold, with one scale for each row and column.
struct SmallLines : Small {
  SmallLines() {
    spec.contract.reduction.kind = ReductionKind::fold;
    spec.line_scales = true;
    x.scale_a = {sa.data(), ScaleType::fp32, 1, kM, 1, 1, 0};
    x.scale_b = {sb.data(), ScaleType::fp32, 1, kN, 1, 1, 0};
  }
};

TEST(LineScales, MultiplyTheSumTheColumnsFirst) {
  SmallLines small;
  small.b.fill(0.123F);
  const float sum = small.b[0] + small.b[0];
  const float acc = (sum + sum) + small.b[0];
  small.sa = {1.1F, 1.3F, 1.7F};
  small.sb = {0.9F, 0.7F};
  ASSERT_TRUE(small.run());
  int other = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      const float a = small.sa[i], b = small.sb[j];
      const float column = b * acc, row = a * acc, both = a * b;
      EXPECT_EQ(small.d[2 * i + j], a * column);
      other += a * column != b * row;
      other += a * column != both * acc;
    }
  }
  EXPECT_GE(other, 2);  // the data tells orders apart
}

TEST(LineScales, GoWithAlphaAndAnEmptyK) {
  SmallLines small;
  small.sa = {3.0F, 5.0F, 7.0F};
  small.spec.alpha = 2.0F;
  ASSERT_TRUE(small.run());
  EXPECT_EQ(small.d[2], 50.0F);
  small.spec.k = small.x.a.cols = small.x.b.rows = 0;
  small.sa[1] = std::nanf("");
  ASSERT_TRUE(small.run());
  EXPECT_EQ(small.d[0], 0.0F);
  EXPECT_TRUE(std::isnan(small.d[2]));  // 0 times NaN
}

struct LineRow {
  const char* sentence;
  Errc code;
  void (*spoil)(SmallLines&);
};

const LineRow kLineRows[] = {
    {"line_scales is set and the contract is ieee_fma/fp32/tree:2->fp32: scales of whole rows and",
     Errc::unsupported,
     [](SmallLines& s) { s.spec.contract.reduction.kind = ReductionKind::tree; }},
    {"line_scales is set and the contract is ieee_fma/fp32/scaled:2->fp32", Errc::unsupported,
     [](SmallLines& s) { s.spec.contract.reduction.kind = ReductionKind::scaled; }},
    {"scale_a has no scales: line_scales needs scales of both operands", Errc::invalid_argument,
     [](SmallLines& s) { s.x.scale_a = {}; }},
    {"scale_b has 3 leaves and the contract is ieee_fma/fp32/fold:2->fp32: only contracts of "
     "scaled have a scale for each leaf, others have one for each of the columns of B",
     Errc::invalid_argument, [](SmallLines& s) { s.x.scale_b.leaves = 3; }},
    {"scale_a has 2 x 1 scales: it must have 3 x 1", Errc::invalid_argument,
     [](SmallLines& s) { s.x.scale_a.blocks = 2; }},
    {"d overlaps scale_b: they must not share memory", Errc::invalid_argument,
     [](SmallLines& s) { s.x.scale_b.data = s.d.data(); }},
};

TEST(LineScales, AreRefusedWithASentence) {
  for (const LineRow& row : kLineRows) {
    SmallLines small;
    row.spoil(small);
    const Status status = small.run();
    ASSERT_FALSE(status) << row.sentence;
    EXPECT_EQ(status.code(), row.code) << status.message();
    EXPECT_TRUE(test::finds(status.message(), row.sentence))
        << "said:   " << status.message() << "\nwanted: " << row.sentence;
    EXPECT_TRUE(small.untouched()) << row.sentence;
  }
}

TEST(LineScales, OfKGroupedAreRefused) {
  GroupedSpec spec;
  spec.gemm.contract = *Contract::parse("hopper/e4m3/fold:128->fp32");
  spec.gemm.n = 4;
  spec.gemm.line_scales = true;
  spec.kind = GroupKind::k_grouped;
  const Status status = validate(spec);
  EXPECT_EQ(status.code(), Errc::unsupported);
  EXPECT_EQ(status.message(),
            "kind is k_grouped and line_scales is set: run a Plan for each group");
}

TEST(Scales, OfKGroupedAreRefused) {
  GroupedSpec spec;
  spec.gemm.contract = *Contract::parse("hopper/e4m3/scaled:128->fp32");
  spec.gemm.n = 4;
  spec.kind = GroupKind::k_grouped;
  const Status status = validate(spec);
  EXPECT_EQ(status.code(), Errc::unsupported);
  EXPECT_NE(status.message().find("kind is k_grouped and the contract is hopper/e4m3/scaled:128"),
            std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace detgemm
