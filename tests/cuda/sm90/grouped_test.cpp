// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>

#include "cuda/families.hpp"
#include "cuda/simt/tile.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/groups.hpp"
#include "tests/cuda/sm90/fakes.hpp"

// The host half of launches over groups, on the fake runtime: what is decided, what is launched and
// with which maps and shapes, how much workspace is asked for, and what is refused.

namespace detgemm::test {
namespace {

using namespace cuda;
using namespace cuda::sm90;

constexpr auto kBf16 = DType::bf16;

LaunchOptions options() {
  LaunchOptions o;
  o.sms = 132;
  return o;
}

/// Packed groups, one behind the other: weights n x k (the columns of B run along k), or k x n.
GroupedArguments groups_of(GroupKind kind, std::int64_t groups, std::int64_t m, std::int64_t n,
                           std::int64_t k, bool b_mn = false) {
  Layout l;
  l.m = m, l.n = n, l.k = k, l.b_mn = b_mn;
  GroupedArguments p;
  p.all = arguments(l);
  p.kind = kind;
  p.groups = groups;
  p.a_bytes = p.d_bytes = p.c_bytes = p.bias_bytes = 2;
  p.offsets = kind == GroupKind::batched ? nullptr : reinterpret_cast<const void*>(4096);
  if (kind == GroupKind::batched || kind == GroupKind::m_masked) p.distance.a = m * k;
  if (kind != GroupKind::k_grouped) p.distance.b = n * k;
  if (kind != GroupKind::m_grouped) p.distance.d = m * n;
  return p;
}

struct RanGroups {
  Status refusal;
  cudaError_t error = cudaSuccess;
  Decision decision;
  std::string name;
};
RanGroups run_groups(const GroupedArguments& p, const KernelInfo* forced = nullptr,
                     Arithmetic arithmetic = Arithmetic::hopper, DType input = kBf16,
                     void* workspace = nullptr) {
  const Problem problem(p, arithmetic, input);
  LaunchOptions o = options();
  if (forced != nullptr) o.forced = forced_index(problem, forced->family, forced->index);
  const Ran ran = run(problem, o, workspace);
  return {ran.refusal, ran.error, ran.decision, name(ran.decision)};
}

TEST(Grouped, SegmentsOfRowsAreOneLaunchByTiles) {
  Recorded& r = record();
  const GroupedArguments p = groups_of(GroupKind::m_grouped, 8, 8192, 4096, 7168);
  const RanGroups ran = run_groups(p);
  ASSERT_TRUE(ran.refusal.ok()) << ran.refusal.message();
  EXPECT_EQ(ran.error, cudaSuccess);
  EXPECT_EQ(way_of(ran.decision), Family::groups);
  EXPECT_NE(ran.name.find("/grouped"), std::string::npos) << ran.name;
  EXPECT_EQ(r.launches, 1);
  EXPECT_TRUE(r.kernel.grouped);
  EXPECT_TRUE(r.overlap);
  EXPECT_EQ(r.grid, 132U);
  EXPECT_EQ(r.groups.offsets, p.offsets);
  EXPECT_EQ(r.grouped_shape.a_step, 0);
  EXPECT_EQ(r.grouped_shape.d_step, 0);
  EXPECT_EQ(r.grouped_shape.b_step, 1);
  ASSERT_EQ(r.maps.size(), 3U);  // X, Y, D
  const TensorShape& weights = r.maps[r.shape.swapped ? 0 : 1];
  const TensorShape& tokens = r.maps[r.shape.swapped ? 1 : 0];
  EXPECT_EQ(weights.rank, 3);
  EXPECT_EQ(weights.extent[2], 8U);
  EXPECT_EQ(weights.stride[1], 4096U * 7168U * 2U);
  EXPECT_EQ(weights.extent[0], 7168U);
  EXPECT_EQ(weights.extent[1], 4096U);
  EXPECT_EQ(tokens.extent[1], 8192U);
  EXPECT_EQ(tokens.extent[2], 1U);
  EXPECT_EQ(r.maps[2].extent[0], 4096U);
  EXPECT_EQ(r.maps[2].extent[1], 8192U);
}

TEST(Grouped, AChoiceDependsOnExtentsAlone) {
  // As few tokens per expert as a step of decoding has: they take the narrow side.
  const auto few = run_groups(groups_of(GroupKind::m_grouped, 128, 512, 2048, 768));
  EXPECT_EQ(way_of(few.decision), Family::groups);
  EXPECT_TRUE(few.decision.swapped) << few.name;
  const auto many = run_groups(groups_of(GroupKind::m_grouped, 4, 32768, 4096, 7168));
  EXPECT_GE(geometry_of(many.decision).x() * geometry_of(many.decision).n, 128 * 256) << many.name;
  // Neither the addresses of the offsets nor their type.
  GroupedArguments p = groups_of(GroupKind::m_grouped, 128, 512, 2048, 768);
  p.offsets = reinterpret_cast<const void*>(1 << 20);
  p.offset_type = OffsetType::i64;
  EXPECT_EQ(run_groups(p).name, few.name);
}

TEST(Grouped, RowsBehindTheArrayAreDear) {
  // 32 tokens in all: boxes of 64 of them would mostly be read behind the end.
  for (const std::int64_t tokens : {8, 32}) {
    const auto few = run_groups(groups_of(GroupKind::m_grouped, 8, tokens, 14336, 4096));
    const Geometry& t = geometry_of(few.decision);
    EXPECT_LE(few.decision.swapped ? t.n : t.load, 16) << few.name;
  }
}

/// With 64 tokens on average an expert has up to 128. Two tiles of 64 took as long as if memory had
/// given the weights twice (272 to 293 us for 1536 x 2048, and 255 of grouped_mm), and tiles with
/// the weights on the x side were stored output by output (166 and 182 us for 2048 x 768, and 145).
TEST(Grouped, AnExpertOf128TokensTakesOneTile) {
  const struct {
    std::int64_t groups, n, k;
  } all[] = {{128, 1536, 2048}, {128, 2048, 768}, {8, 14336, 4096}, {32, 4096, 7168}};
  for (const auto& x : all) {
    const auto one = [&](std::int64_t tokens) {
      return run_groups(groups_of(GroupKind::m_grouped, x.groups, x.groups * tokens, x.n, x.k));
    };
    const auto some = one(64);
    EXPECT_FALSE(some.decision.swapped) << some.name;
    EXPECT_EQ(geometry_of(some.decision).x(), 128) << some.name;
    // Fewer tokens take the narrow side, as they did, where all of them fit one tile.
    for (const std::int64_t tokens : {1, 4, 16}) {
      const auto few = one(tokens);
      EXPECT_TRUE(few.decision.swapped) << few.name;
      EXPECT_GE(geometry_of(few.decision).n, tokens + tokens / 2) << few.name;
    }
  }
}

/// Groups of a batch end alike. A tile that reaches beyond its group, since the group has fewer
/// rows or D is C, is stored output by output if the weights take the x side: 100 x 256 outputs are
/// 41,000 clocks, and their products 2,000. Where D has a matrix per group in its map it is not.
TEST(Grouped, ATileThatIsCutHasItsRowsAlongX) {
  const struct {
    std::int64_t groups, m, n, k;
    bool b_mn;
  } all[] = {{128, 200, 1600, 128, false}, {128, 100, 512, 128, true}, {128, 100, 128, 512, true}};
  for (const auto& x : all) {
    for (const GroupKind kind : {GroupKind::batched, GroupKind::m_masked}) {
      for (const bool in_place : {false, true}) {
        GroupedArguments p = groups_of(kind, x.groups, x.m, x.n, x.k, x.b_mn);
        p.all.epilogue.beta = in_place ? 1.0F : 0.0F;
        p.all.c = p.all.d, p.all.cs = p.all.ds, p.all.c_type = kBf16;
        p.distance.c = p.distance.d;
        Recorded& r = record();
        const auto ran = run_groups(p);
        EXPECT_EQ(way_of(ran.decision), Family::groups) << ran.refusal.message();
        EXPECT_EQ(r.grouped_shape.overlaps, !in_place);
        const int tokens = geometry_of(ran.decision).n;
        const bool cut = in_place || (kind == GroupKind::m_masked && x.m < tokens);
        EXPECT_TRUE(!ran.decision.swapped || !cut) << ran.name;
        EXPECT_EQ(r.grouped_shape.d_clips, !in_place && kind == GroupKind::batched);
      }
    }
  }
  // One group, and C whose rows TMA takes at multiples of 8.
  GroupedArguments p = groups_of(GroupKind::batched, 1, 200, 1600, 128);
  p.all.epilogue.beta = 1;
  p.all.c = reinterpret_cast<const void*>(1 << 30), p.all.cs = {1, 200}, p.all.c_type = kBf16;
  Recorded& r = record();
  EXPECT_EQ(way_of(run_groups(p).decision), Family::groups);
  EXPECT_FALSE(r.grouped_shape.overlaps);
  // Values whose columns run along memory, for a few rows: the columns take the x side, as they
  // did.
  EXPECT_TRUE(run_groups(groups_of(GroupKind::batched, 64, 8, 128, 4096, true)).decision.swapped);
}

/// Few queries beside many keys or values take the narrow side of a tile, whose outputs leave
/// through TMA although the group has fewer rows (bench/results/2026-11-24-h200-batched.md).
TEST(Grouped, FewQueriesTakeTheNarrowSide) {
  const struct {
    std::int64_t groups, m, n, k;
    bool b_mn;
  } all[] = {{256, 4, 1000, 128, false}, {64, 8, 4096, 128, false}, {128, 1, 8192, 128, false},
             {16, 16, 16384, 64, false}, {256, 4, 128, 1000, true}, {128, 1, 512, 128, true}};
  for (const auto& x : all) {
    Recorded& r = record();
    const auto ran = run_groups(groups_of(GroupKind::batched, x.groups, x.m, x.n, x.k, x.b_mn));
    EXPECT_TRUE(ran.decision.swapped) << ran.name;
    EXPECT_LE(geometry_of(ran.decision).n, 64) << ran.name;
    EXPECT_TRUE(r.shape.d_by_tma);
  }
}

TEST(Grouped, TilesOfTheSameWeightsFollowEachOther) {
  // 64 tokens per expert are one tile on average and two in every second group. The weights are
  // read once if both come one after the other.
  const KernelInfo straight{"64x64", Family::groups, 3};
  const auto ran = run_groups(groups_of(GroupKind::m_grouped, 8, 512, 14336, 4096), &straight);
  ASSERT_TRUE(ran.refusal.ok()) << ran.refusal.message();
  if (ran.decision.swapped) {
    EXPECT_LE(ran.decision.raster.group, 66) << ran.name;
  } else {
    EXPECT_GE(ran.decision.raster.group, 2) << ran.name;
  }
}

TEST(Grouped, GroupsOfRowsAreStacked) {
  Recorded& r = record();
  GroupedArguments p = groups_of(GroupKind::m_masked, 5, 300, 512, 256, true);
  p.distance.a = 310 * 256;  // ten rows of padding
  p.distance.d = 305 * 512;
  const RanGroups ran = run_groups(p);
  EXPECT_EQ(way_of(ran.decision), Family::groups) << ran.refusal.message();
  EXPECT_EQ(r.grouped_shape.a_step, 310);
  EXPECT_EQ(r.grouped_shape.d_step, 305);
  const TensorShape& tokens = r.maps[r.shape.swapped ? 1 : 0];
  const TensorShape& weights = r.maps[r.shape.swapped ? 0 : 1];
  EXPECT_EQ(tokens.extent[1], 4U * 310U + 300U);
  EXPECT_EQ(r.maps[2].extent[1], 4U * 305U + 300U);
  EXPECT_EQ(weights.extent[0], 512U);  // N runs along memory
  EXPECT_EQ(weights.extent[1], 256U);  // and K ends where the matrix ends
  EXPECT_EQ(weights.box[1], 64U);
  EXPECT_TRUE(r.kernel.x_mn || r.kernel.y_mn);
}

TEST(Grouped, OneRowPerGroupHasTheDistanceAsItsStride) {
  Recorded& r = record();
  const RanGroups ran = run_groups(groups_of(GroupKind::batched, 64, 1, 512, 256));
  EXPECT_EQ(way_of(ran.decision), Family::groups);
  EXPECT_EQ(r.grouped_shape.a_step, 1);
  EXPECT_EQ(r.grouped_shape.d_distance, 512 * 2);
  EXPECT_EQ(r.maps[2].extent[2], 64U);
  EXPECT_EQ(r.maps[2].stride[1], 512U * 2);
}

/// Rows of the tokens' map, and what its boxes leave out of a stage.
void expect_spread_a(const Recorded& r, const GroupedArguments& p, const Decision& d) {
  const Geometry& t = geometry_of(d);
  const TensorShape& tokens = r.maps[r.shape.swapped ? 1 : 0];
  EXPECT_EQ(r.grouped_shape.a_spread, 1);
  EXPECT_EQ(r.grouped_shape.a_step, 0);
  EXPECT_EQ(tokens.rank, 3);
  EXPECT_EQ(tokens.extent[0], static_cast<std::uint64_t>(p.all.k));
  EXPECT_EQ(tokens.extent[1], static_cast<std::uint64_t>(p.all.m));
  EXPECT_EQ(tokens.extent[2], static_cast<std::uint64_t>(p.groups));
  EXPECT_EQ(tokens.stride[0], static_cast<std::uint64_t>(p.all.as.row) * 2);
  EXPECT_EQ(tokens.stride[1], static_cast<std::uint64_t>(p.distance.a) * 2);
  const std::int64_t room = r.shape.swapped ? t.n : t.load;
  const std::int64_t rows = std::min(room, p.all.m);
  EXPECT_EQ(tokens.box[1], static_cast<std::uint32_t>(rows));
  EXPECT_EQ(r.grouped_shape.a_missing, (room - rows) * 128 * t.depth);
}

/// C and D are reached by ordinary loads and stores, from addresses of the group.
void expect_spread_d(const Recorded& r, const GroupedArguments& p) {
  EXPECT_FALSE(r.shape.d_by_tma);
  EXPECT_EQ(r.grouped_shape.d_map, 0);
  EXPECT_EQ(r.maps.size(), 2U);  // X, Y
  EXPECT_EQ(r.grouped_shape.d_step, 0);
  EXPECT_EQ(r.grouped_shape.d_distance, p.distance.d * p.d_bytes);
  EXPECT_EQ(r.grouped_shape.c_distance, p.distance.c * p.c_bytes);
  EXPECT_EQ(r.groups.all.ds.row, p.all.ds.row);
  EXPECT_EQ(r.groups.all.cs.row, p.all.cs.row);
}

/// D has a matrix per group in its map, whose boxes end with the group.
void expect_mapped_d(const Recorded& r, const GroupedArguments& p) {
  EXPECT_TRUE(r.shape.d_by_tma);
  ASSERT_EQ(r.maps.size(), 3U);  // X, Y, D
  EXPECT_EQ(r.maps[2].rank, 3);
  EXPECT_EQ(r.maps[2].extent[0], static_cast<std::uint64_t>(p.all.n));
  EXPECT_EQ(r.maps[2].extent[1], static_cast<std::uint64_t>(p.all.m));
  EXPECT_EQ(r.maps[2].extent[2], static_cast<std::uint64_t>(p.groups));
  EXPECT_EQ(r.maps[2].stride[0], static_cast<std::uint64_t>(p.all.ds.row) * 2);
  EXPECT_EQ(r.maps[2].stride[1], static_cast<std::uint64_t>(p.distance.d) * 2);
  EXPECT_EQ(r.grouped_shape.d_map, 1);
  EXPECT_EQ(r.grouped_shape.d_step, 0);
  EXPECT_EQ(r.grouped_shape.d_distance, p.distance.d * p.d_bytes);
  EXPECT_EQ(r.grouped_shape.d_clips, p.kind == GroupKind::batched);
}

/// Heads of a token lie side by side in A and in D, so that a group's rows have those of all others
/// between them.
TEST(Grouped, HeadsBetweenOthersAreSpread) {
  for (const GroupKind kind : {GroupKind::batched, GroupKind::m_masked}) {
    for (const std::int64_t m : {3, 64, 100, 1000}) {
      for (const int which : {1, 2, 3}) {
        const bool a = which % 2 == 1, d = which / 2 == 1;
        Recorded& r = record();
        GroupedArguments p = groups_of(kind, 128, m, 512, 128);
        if (a) p.all.as.row = 128 * 136, p.distance.a = 136;
        if (d) p.all.ds.row = 128 * 512, p.distance.d = 512;
        const RanGroups ran = run_groups(p);
        ASSERT_EQ(way_of(ran.decision), Family::groups) << ran.refusal.message();
        EXPECT_EQ(r.launches, 1);
        EXPECT_TRUE(r.grouped_shape.overlaps);
        if (a) {
          expect_spread_a(r, p, ran.decision);
        } else {
          EXPECT_EQ(r.grouped_shape.a_spread, 0);
          EXPECT_EQ(r.grouped_shape.a_missing, 0);
          EXPECT_EQ(r.grouped_shape.a_step, m);
        }
        if (d || kind == GroupKind::batched) {
          expect_mapped_d(r, p);
        } else {
          EXPECT_EQ(r.maps[2].extent[2], 1U);
          EXPECT_EQ(r.grouped_shape.d_map, 0);
          EXPECT_TRUE(r.shape.d_by_tma);
          EXPECT_EQ(r.grouped_shape.d_step, m);
          EXPECT_EQ(r.grouped_shape.d_distance, 0);
        }
      }
    }
  }
}

TEST(Grouped, SpreadCIsNotReadThroughTma) {
  for (const bool continues : {false, true}) {
    for (const int c : {0, 1, 2, 3}) {  // spread as D is, shared by all groups, a stack, in place
      Recorded& r = record();
      GroupedArguments p = groups_of(GroupKind::batched, 8, 100, 512, 128);
      p.all.output = p.all.c_type = DType::fp32, p.c_bytes = p.d_bytes = 4;
      if (c != 1) p.all.ds.row = 8 * 512, p.distance.d = 512;
      p.all.c = c == 3 ? p.all.d : reinterpret_cast<const void*>(std::int64_t{1} << 40);
      p.all.cs = c == 2 ? Strides{512, 1} : p.all.ds;
      p.distance.c = c == 1 ? 0 : c == 2 ? 100 * 512 : p.distance.d;
      p.all.continue_from_c = continues;
      if (!continues) p.all.epilogue.beta = 1;
      const RanGroups ran = run_groups(p);
      ASSERT_EQ(way_of(ran.decision), Family::groups) << ran.refusal.message();
      expect_spread_d(r, p);
      EXPECT_EQ(r.shape.c.copied, continues);
      EXPECT_EQ(r.shape.c.stages > 0, continues);
      EXPECT_EQ(r.shape.in_registers, continues);
      // An output that another tile reads as C may not be stored twice.
      EXPECT_EQ(r.grouped_shape.overlaps, c != 3);
      EXPECT_EQ(r.shape.y_last == std::numeric_limits<int>::max(), c == 3);
    }
  }
}

TEST(Grouped, SpreadOutputsAreDearWhereTheirLinesRunAlongX) {
  // Columns of D run along memory, and all groups read the same C.
  GroupedArguments p = groups_of(GroupKind::batched, 64, 256, 512, 128);
  p.all.ds = p.all.cs = {1, 256};
  p.all.c = reinterpret_cast<const void*>(std::int64_t{1} << 40), p.all.c_type = kBf16;
  p.all.epilogue.beta = 1;
  Recorded& r = record();
  const RanGroups ran = run_groups(p);
  EXPECT_EQ(way_of(ran.decision), Family::groups) << ran.refusal.message();
  expect_spread_d(r, p);
  EXPECT_TRUE(ran.decision.swapped) << ran.name;
}

TEST(Grouped, SharedOperandsHaveNoDistance) {
  Recorded& r = record();
  GroupedArguments p = groups_of(GroupKind::batched, 6, 128, 512, 256);
  p.distance.a = p.distance.b = 0;
  EXPECT_EQ(way_of(run_groups(p).decision), Family::groups);
  EXPECT_EQ(r.grouped_shape.a_step, 0);
  EXPECT_EQ(r.grouped_shape.b_step, 0);
  EXPECT_EQ(r.maps[r.shape.swapped ? 0 : 1].extent[2], 1U);
}

TEST(Grouped, WhatTilesDoNotTakeIsComputedElsewhere) {
  struct Row {
    const char* what;
    void (*change)(GroupedArguments&);
    GroupKind kind;
    Family way;
  };
  const Row rows[] = {
      {"fold",
       [](GroupedArguments& p) {
         p.all.reduction = {ReductionKind::fold, 128};
       },
       GroupKind::m_grouped, Family::gather_groups},
      {"a fold of one leaf",
       [](GroupedArguments& p) {
         p.all.reduction = {ReductionKind::fold, 512};
       },
       GroupKind::m_grouped, Family::groups},
      {"tree, batched",
       [](GroupedArguments& p) {
         p.all.reduction = {ReductionKind::tree, 128};
       },
       GroupKind::batched, Family::loop},
      {"k_grouped along k", [](GroupedArguments&) {}, GroupKind::k_grouped, Family::gather_groups},
      {"k_grouped along M and N",
       [](GroupedArguments& p) {
         p.all.as = {1, 256}, p.all.bs = {512, 1};
       },
       GroupKind::k_grouped, Family::groups},
      {"k_grouped fold",
       [](GroupedArguments& p) {
         p.all.as = {1, 256}, p.all.bs = {512, 1};
         p.all.reduction = {ReductionKind::fold, 1024};
       },
       GroupKind::k_grouped, Family::gather_groups},
      {"k_grouped at an odd address",
       [](GroupedArguments& p) {
         p.all.as = {1, 256}, p.all.bs = {512, 1};
         p.all.b = reinterpret_cast<const void*>(4098);
       },
       GroupKind::k_grouped, Family::gather_groups},
      {"A at an odd address",
       [](GroupedArguments& p) { p.all.a = reinterpret_cast<const void*>(4098); },
       GroupKind::m_grouped, Family::gather_groups},
      {"A whose rows run across memory",
       [](GroupedArguments& p) {
         p.all.as = {1, p.all.m};
       },
       GroupKind::m_grouped, Family::gather_groups},
      {"D whose rows run across memory",  // ordinary stores, as segments begin at any row
       [](GroupedArguments& p) {
         p.all.ds = {1, p.all.m};
       },
       GroupKind::m_grouped, Family::groups},
      {"C whose rows run across memory",
       [](GroupedArguments& p) {
         p.all.c = reinterpret_cast<const void*>(1 << 20), p.all.c_type = kBf16;
         p.all.cs = {1, p.all.m}, p.all.epilogue.beta = 1;
       },
       GroupKind::m_grouped, Family::groups},
      {"B at odd distances", [](GroupedArguments& p) { p.distance.b += 1; }, GroupKind::m_grouped,
       Family::gather_groups},
      {"interleaved D, masked",
       [](GroupedArguments& p) { p.all.ds.row = 512 * 4, p.distance.d = 512; }, GroupKind::m_masked,
       Family::groups},
      {"interleaved B", [](GroupedArguments& p) { p.all.bs.col = 256 * 4, p.distance.b = 256; },
       GroupKind::m_masked, Family::groups},
      {"interleaved A at odd distances",
       [](GroupedArguments& p) { p.all.as.row = 260 * 4, p.distance.a = 260; }, GroupKind::m_masked,
       Family::gather_groups},
      {"interleaved D of segments of products",
       [](GroupedArguments& p) {
         p.all.as = {1, 256}, p.all.bs = {512, 1};
         p.all.ds.row = 512 * 4, p.distance.d = 512;
       },
       GroupKind::k_grouped, Family::gather_groups},
      {"D at an odd address",  // ordinary stores
       [](GroupedArguments& p) { p.all.d = reinterpret_cast<void*>(4098); }, GroupKind::m_grouped,
       Family::groups},
      {"gelu", [](GroupedArguments& p) { p.all.epilogue.activation = Activation::gelu; },
       GroupKind::m_grouped, Family::groups},
  };
  for (const Row& row : rows) {
    Recorded& r = record();
    GroupedArguments p = groups_of(row.kind, 4, 256, 512, 256);
    row.change(p);
    const RanGroups ran = run_groups(p);
    ASSERT_TRUE(ran.refusal.ok()) << row.what << ran.refusal.message();
    EXPECT_EQ(ran.error, cudaSuccess) << row.what;
    EXPECT_EQ(way_of(ran.decision), row.way) << row.what << ": " << ran.name;
    EXPECT_EQ(r.launches, row.way == Family::loop ? 4 : 1) << row.what;
    EXPECT_EQ(r.kernel.grouped, row.way != Family::loop) << row.what;
  }
}

/// A group may begin at an address that tiles do not take though the first one does not.
TEST(Grouped, ALoopDecidesForEachGroup) {
  for (const DType input : {DType::bf16, DType::e4m3}) {
    for (const bool odd : {false, true}) {
      GroupedArguments p = groups_of(GroupKind::batched, 2, 64, 512, 512);
      p.all.reduction = {ReductionKind::fold, 128};
      p.a_bytes = input == DType::bf16 ? 2 : 1;
      p.distance.a += odd ? 1 : 0;
      Recorded& r = record();
      const Ran ran = run({p, Arithmetic::hopper, input}, options());
      EXPECT_EQ(name(ran.decision).find("loop of 2: sm90/"), 0U) << name(ran.decision);
      EXPECT_EQ(name(ran.decision).find("gather"), std::string::npos) << name(ran.decision);
      EXPECT_EQ(r.launches, 2);
      const bool any_rows =
          r.kernel.path == Path::gather && (r.kernel.join < 0 || r.kernel.join == kJoins);
      EXPECT_EQ(any_rows, odd) << "of the last group";
    }
  }
}

TEST(Grouped, TreesWaitInTheWorkspaceOfGather) {
  GroupedSpec spec;
  spec.kind = GroupKind::m_grouped;
  spec.groups = 4;
  spec.gemm.n = 512, spec.gemm.k = 4096;
  spec.gemm.contract = *Contract::parse("hopper/bf16/tree:64->bf16");
  const std::size_t bytes = workspace_bytes(spec, 256, 0, options());
  GroupedArguments p = groups_of(GroupKind::m_grouped, 4, 256, 512, 4096);
  p.all.reduction = spec.gemm.contract.reduction;
  Recorded& r = record();
  char workspace = 0;
  const RanGroups ran = run_groups(p, nullptr, Arithmetic::hopper, kBf16, &workspace);
  EXPECT_EQ(way_of(ran.decision), Family::gather_groups);
  EXPECT_EQ(reinterpret_cast<char*>(r.gather_leaves.waiting), &workspace);
  EXPECT_GT(r.gather_leaves.levels, 0);
  EXPECT_EQ(bytes, r.grid * static_cast<std::size_t>(r.gather_leaves.levels) * kGatherSlotBytes);
  // It grows with the rows and, for k_grouped, with the products.
  std::size_t last = 0;
  for (std::int64_t m : {0, 1, 100, 1000, 100000}) {
    const std::size_t now = workspace_bytes(spec, m, 0, options());
    EXPECT_GE(now, last);
    last = now;
  }
  spec.kind = GroupKind::k_grouped;
  spec.gemm.k = 0;
  last = 0;
  for (std::int64_t k : {0, 64, 1000, 100000}) {
    const std::size_t now = workspace_bytes(spec, 100, k, options());
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last, 0U);
}

TEST(Grouped, OrdinaryCoresComputeIeeeFma) {
  Recorded& r = record();
  GroupedArguments p = groups_of(GroupKind::k_grouped, 4, 64, 512, 4096);
  p.all.reduction = {ReductionKind::tree, 16};
  const RanGroups ran = run_groups(p, nullptr, Arithmetic::ieee_fma, DType::fp32);
  EXPECT_EQ(way_of(ran.decision), Family::simt_groups);
  EXPECT_EQ(ran.error, cudaSuccess);
  EXPECT_TRUE(r.kernel.simt && r.kernel.grouped);
  EXPECT_FALSE(r.overlap);  // its kernels do not wait by themselves
  EXPECT_GT(ran.decision.levels, 1);
  p.all.k = std::int64_t{1} << 32;
  p.all.reduction.leaf_k = 1;
  const RanGroups deep = run_groups(p, nullptr, Arithmetic::ieee_fma, DType::fp32);
  EXPECT_EQ(deep.refusal.code(), Errc::unsupported);
  EXPECT_NE(deep.refusal.message().find("so many leaves"), std::string::npos);
}

TEST(Grouped, EveryForcedKernelTakesUsualArrays) {
  for (const char* contract :
       {"hopper/bf16/chain->bf16", "hopper/bf16/tree:64->bf16", "ieee_fma/bf16/chain->bf16"}) {
    for (GroupKind kind :
         {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
      for (bool b_mn : {false, true}) {
        GroupedSpec spec;
        spec.kind = kind;
        spec.groups = 3;
        spec.gemm.n = 512;
        spec.gemm.k = kind == GroupKind::k_grouped ? 0 : 256;
        spec.gemm.op_b = b_mn ? Op::none : Op::transpose;
        spec.gemm.op_a = kind == GroupKind::k_grouped ? Op::transpose : Op::none;
        spec.gemm.contract = *Contract::parse(contract);
        int taken = 0;
        for (const KernelInfo& kernel : kernels(spec.gemm.contract, true)) {
          if (!takes(kernel, spec)) continue;
          ++taken;
          GroupedArguments p = groups_of(kind, 3, 200, 512, 256, b_mn);
          p.all.reduction = spec.gemm.contract.reduction;
          if (kind == GroupKind::k_grouped) p.all.as = {1, 200};
          record();
          const RanGroups ran = run_groups(p, &kernel, spec.gemm.contract.arithmetic);
          EXPECT_TRUE(ran.refusal.ok()) << kernel.name << ": " << ran.refusal.message();
          EXPECT_EQ(ran.error, cudaSuccess) << kernel.name;
          EXPECT_EQ(way_of(ran.decision), kernel.family);
          EXPECT_NE(ran.name.find(kernel.family == Family::loop ? "loop of 3" : kernel.name),
                    std::string::npos)
              << ran.name;
        }
        EXPECT_GT(taken, 0);
      }
    }
  }
}

TEST(Grouped, AForcedKernelNeverHandsOver) {
  GroupedArguments p = groups_of(GroupKind::m_grouped, 4, 256, 512, 256);
  p.all.a = reinterpret_cast<const void*>(4098);
  const KernelInfo forced{"128x128", Family::groups, 6};
  Recorded& r = record();
  const RanGroups ran = run_groups(p, &forced);
  EXPECT_EQ(ran.refusal.code(), Errc::unsupported);
  EXPECT_NE(ran.refusal.message().find("128x128"), std::string::npos);
  EXPECT_EQ(r.launches, 0);
}

TEST(Grouped, AMapThatIsRefusedEndsTheCall) {
  for (int map : {0, 1, 2}) {
    Recorded& r = record();
    r.fail_map = map;
    const RanGroups ran = run_groups(groups_of(GroupKind::m_grouped, 4, 256, 512, 256));
    EXPECT_NE(ran.error, cudaSuccess);
    EXPECT_EQ(r.launches, 0);
  }
}

TEST(Grouped, NothingToComputeIsNothingToLaunch) {
  Recorded& r = record();
  EXPECT_EQ(run_groups(groups_of(GroupKind::m_grouped, 4, 0, 512, 256)).name, "none (no outputs)");
  EXPECT_EQ(r.launches, 0);
}

}  // namespace
}  // namespace detgemm::test
