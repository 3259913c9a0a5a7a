// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "cuda/host/copies.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "tests/cuda/sm90/fakes.hpp"

// Batches whose lines begin at odd addresses: what is copied, where each line of a copy comes from,
// which launches there are, and how outputs leave. The copying kernel itself is that of single
// products.

namespace detgemm::test {
namespace {

using namespace cuda;

constexpr std::uintptr_t kA = 1 << 24, kB = 1 << 28, kRoom = 1 << 30;

/// A batch of the usual arrays, one behind the other; `b_mn`: rows of B run along memory.
GroupedArguments batch(std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k,
                       bool b_mn) {
  Layout l;
  l.m = m, l.n = n, l.k = k, l.b_mn = b_mn;
  GroupedArguments p;
  p.all = arguments(l);
  p.all.a = reinterpret_cast<const void*>(kA);
  p.all.b = reinterpret_cast<const void*>(kB);
  p.all.as = {k, 1};
  p.all.bs = b_mn ? Strides{n, 1} : Strides{1, k};
  p.all.ds = {n, 1};
  p.kind = GroupKind::batched;
  p.groups = groups;
  p.a_bytes = p.d_bytes = p.c_bytes = p.bias_bytes = 2;
  p.distance.a = m * k;
  p.distance.b = n * k;
  p.distance.d = m * n;
  return p;
}
/// The same with A token by token: row i of all groups before row i + 1 of any.
GroupedArguments heads(std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k) {
  GroupedArguments p = batch(groups, m, n, k, false);
  p.all.as.row = groups * k;
  p.distance.a = k;
  return p;
}

LaunchOptions with_room(std::size_t bytes) {
  LaunchOptions o;
  o.sms = 132;
  o.workspace_bytes = bytes;
  return o;
}
constexpr std::size_t kEnough = std::size_t{1} << 40;

Problem problem_of(const GroupedArguments& p, Arithmetic arithmetic = Arithmetic::hopper) {
  return {p, arithmetic, DType::bf16};
}

Decision decided(const GroupedArguments& p, std::size_t room) {
  const auto d = decide(problem_of(p), with_room(room));
  EXPECT_TRUE(d) << d.status().message();
  return d ? *d : Decision{};
}

bool copies(const Decision& d) { return d.steps.find(Step::copy) != nullptr; }

/// Follows every line from where the batch on copies reads it, through the job of the copying
/// kernel, to where it was read: it must be where the batch has it.
void expect_lines(const sm90::PackOperand& o, const void* from, const void* copy,
                  std::int64_t count, std::int64_t groups, std::int64_t ld, std::int64_t distance,
                  std::int64_t copy_ld, std::int64_t copy_distance) {
  EXPECT_EQ(o.from, from);
  EXPECT_EQ(o.to, copy);
  EXPECT_EQ(o.pitch % 64, 0);
  EXPECT_GE(o.pitch, o.length);
  EXPECT_GE(o.chunks * 8, o.length);
  EXPECT_GE(o.room, o.length);
  EXPECT_EQ(o.leaf, o.room);
  EXPECT_EQ(o.lines, o.copies);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy) % 16, 0U);
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = g * copy_distance + i * copy_ld;
      ASSERT_EQ(at % o.pitch, 0);
      ASSERT_LT(at / o.pitch, o.copies);
      ASSERT_EQ(at / o.pitch * o.ld, g * distance + i * ld) << "group " << g << ", line " << i;
    }
  }
}

TEST(GroupedCopies, EveryLineComesFromItsOwnPlace) {
  struct Row {
    GroupedArguments p;
    bool a, b;
  };
  GroupedArguments shared = batch(5, 33, 64, 77, false);
  shared.distance.b = 0;
  GroupedArguments one_row = batch(9, 1, 64, 77, false);
  one_row.distance.a = 81;
  const Row rows[] = {{batch(5, 33, 64, 77, false), true, true},
                      {batch(5, 33, 63, 72, true), false, true},
                      {batch(5, 33, 64, 77, true), true, false},
                      {batch(5, 33, 63, 77, true), true, true},
                      {batch(1, 33, 63, 77, true), true, true},
                      {heads(5, 33, 64, 77), true, true},
                      {one_row, true, true},
                      {shared, true, true}};
  for (const Row& row : rows) {
    SCOPED_TRACE(&row - rows);
    const auto& [p, a, b] = row;
    const GroupCopies copies = copies_for_tiles(p);
    EXPECT_EQ(copies.a.count > 0, a);
    EXPECT_EQ(copies.b.count > 0, b);
    auto* const to = reinterpret_cast<void*>(kRoom);
    Recorded& r = record();
    Call call{problem_of(p), with_room(0), to};
    ASSERT_EQ(copy_groups(call), cudaSuccess);
    EXPECT_EQ(call.problem.g().a, on_copies(p, copies, to).all.a);
    EXPECT_EQ(call.problem.g().b, on_copies(p, copies, to).all.b);
    EXPECT_EQ(r.packs, 1);
    const GroupedArguments q = on_copies(p, copies, to);
    const bool b_mn = p.all.bs.col == 1;
    if (a) {
      expect_lines(r.pack.operand[0], p.all.a, q.all.a, p.all.m, p.groups, p.all.as.row,
                   p.distance.a, q.all.as.row, q.distance.a);
      EXPECT_EQ(r.pack.operand[0].length, p.all.k);
      EXPECT_EQ(q.all.as.col, 1);
    }
    if (b) {
      expect_lines(r.pack.operand[1], p.all.b, q.all.b, b_mn ? p.all.k : p.all.n, p.groups,
                   b_mn ? p.all.bs.row : p.all.bs.col, p.distance.b,
                   b_mn ? q.all.bs.row : q.all.bs.col, q.distance.b);
      EXPECT_EQ(r.pack.operand[1].length, b_mn ? p.all.n : p.all.k);
      EXPECT_EQ(r.pack.operand[1].along_k, !b_mn);
      EXPECT_EQ(b_mn ? q.all.bs.col : q.all.bs.row, 1);
    }
    // Copies lie in the workspace, one behind the other, and tiles read nothing else.
    const std::size_t a_end = copies.a.bytes();
    EXPECT_GE(a_end, static_cast<std::size_t>(copies.a.count * copies.a.pitch) * 2);
    EXPECT_EQ(q.all.b, b ? static_cast<void*>(static_cast<char*>(to) + a_end) : p.all.b);
    EXPECT_FALSE(copies_for_tiles(q).any());
  }
}

TEST(GroupedCopies, ABatchOfOddRowsIsTwoLaunches) {
  const GroupedArguments p = batch(24, 1000, 128, 777, true);
  GroupedSpec spec;
  spec.gemm.contract = *Contract::parse("hopper/bf16/chain->bf16");
  spec.gemm.n = 128, spec.gemm.k = 777;
  spec.groups = 24;
  const std::size_t needed = workspace_bytes(spec, 1000, 0, with_room(0));
  ASSERT_EQ(needed, copies_for_tiles(p).bytes());
  Decision d = decided(p, needed);
  EXPECT_EQ(way_of(d), Family::groups);
  EXPECT_NE(name(d).find("/pack-a/grouped"), std::string::npos) << name(d);
  Recorded& r = record();
  auto* const to = reinterpret_cast<void*>(kRoom);
  ASSERT_EQ(enqueue(d, problem_of(p), with_room(needed), to), cudaSuccess);
  EXPECT_EQ(r.packs, 1);
  EXPECT_EQ(r.launches, 1);
  EXPECT_TRUE(r.kernel.grouped);
  ASSERT_GE(r.maps.size(), 2U);
  const auto reads = [&](const void* data) {
    return r.maps[0].data == data || r.maps[1].data == data;
  };
  EXPECT_TRUE(reads(to));
  EXPECT_TRUE(reads(p.all.b));
  EXPECT_FALSE(reads(p.all.a));
  // Without room for copies it is computed as it lies.
  EXPECT_NE(way_of(decided(p, needed - 1)), Family::groups);
  EXPECT_FALSE(copies(decided(p, needed - 1)));
}

/// Probabilities with 777 keys have rows at odd addresses. Without room for copies one launch of
/// gather is expected to take less than a launch per head, unless the products are large.
TEST(GroupedCopies, WithoutRoomABatchIsOneLaunchOrOnePerGroup) {
  const struct {
    std::int64_t groups, m, n, k;
    Family way;
  } all[] = {{24, 1000, 128, 777, Family::gather_groups},
             {128, 4, 128, 33, Family::gather_groups},
             {24, 4096, 4096, 777, Family::loop},
             {2, 1000, 128, 777, Family::loop}};
  for (const auto& x : all) {
    GroupedArguments p = batch(x.groups, x.m, x.n, x.k, false);
    EXPECT_EQ(way_of(decided(p, 0)), x.way) << name(decided(p, 0));
    for (const Family way : {Family::loop, Family::gather_groups}) {
      for (const std::size_t room : {std::size_t{0}, kEnough}) {
        LaunchOptions o = with_room(room);
        o.forced = forced_index(problem_of(p), way);
        const auto d = decide(problem_of(p), o);
        ASSERT_TRUE(d);
        EXPECT_EQ(way_of(*d), way);
        EXPECT_FALSE(copies(*d));
      }
    }
    p.all.reduction = {ReductionKind::fold, 128};
    for (const Arithmetic other : {Arithmetic::snap, Arithmetic::ieee_fma}) {
      const auto d = decide(problem_of(p, other), with_room(kEnough));
      ASSERT_TRUE(d) << d.status().message();
      EXPECT_EQ(way_of(*d), Family::loop);
    }
  }
}

/// D leaves through a map with a matrix per group where TMA takes each of them.
TEST(GroupedCopies, OutputsAtOddAddressesLeaveByOrdinaryStores) {
  const auto mapped = [](const GroupedArguments& p) {
    Recorded& r = record();
    Decision d = decided(p, 0);
    EXPECT_EQ(enqueue(d, problem_of(p), with_room(0), nullptr), cudaSuccess);
    EXPECT_EQ(r.shape.d_by_tma, r.grouped_shape.d_map == 1);
    if (r.shape.d_by_tma) {
      EXPECT_EQ(r.maps.at(2).stride[1], static_cast<std::uint64_t>(p.distance.d) * 2);
    }
    return r.shape.d_by_tma;
  };
  GroupedArguments p = batch(2, 33, 64, 80, false);
  EXPECT_TRUE(mapped(p));
  p.distance.d += 4;  // the second matrix at no multiple of 16 bytes
  EXPECT_FALSE(mapped(p));
  EXPECT_FALSE(mapped(batch(2, 33, 60, 80, false)));
}

/// 24 x 1000 x 777 x 128 took 39 us with 128x256 and 112 with 64x64: the general epilogue costs a
/// tile 4200 clocks per block of rows.
TEST(GroupedCopies, OrdinaryStoresMakeSmallTilesDear) {
  const auto time = [](const sm90::Geometry& t, bool general) {
    sm90::Many many;
    many.groups = 24;
    many.general = general;
    return sm90::predicted_time(t, 1000, 777, 128, 132, false, 1, many);
  };
  const sm90::Geometry wide = sm90::geometry::tile(2, 1, 256),
                       small = sm90::geometry::tile(1, 1, 64);
  EXPECT_GT(time(wide, true), 1.5 * time(wide, false));
  EXPECT_GT(time(small, true), 2 * time(wide, true));
  EXPECT_EQ(sm90::geometry_of(decided(batch(24, 1000, 777, 128, false), 0)).n, 256);
  // Two blocks of rows per consumer group are slower in batches than as many columns more.
  EXPECT_EQ(sm90::geometry_of(decided(batch(8, 4096, 128, 4096, true), 0)).blocks, 1);
}

TEST(GroupedCopies, WhatNeedsNoneHasNone) {
  EXPECT_FALSE(copies_for_tiles(batch(5, 33, 64, 80, false)).any());
  GroupedArguments uneven = batch(5, 33, 64, 77, true);
  uneven.distance.a += 2;  // neither one stack nor lines between each other
  EXPECT_FALSE(copies_for_tiles(uneven).any());
  EXPECT_NE(way_of(decided(uneven, kEnough)), Family::groups);
  GroupedArguments across = batch(5, 33, 64, 77, true);
  across.all.as = {1, 33};
  EXPECT_FALSE(copies_for_tiles(across).any());
  GroupedArguments masked = batch(5, 33, 64, 77, true);
  masked.kind = GroupKind::m_masked;
  EXPECT_FALSE(copies_for_tiles(masked).any());
}

TEST(GroupedCopies, TheWorkspaceHoldsWhatPackedLinesNeed) {
  for (const bool b_mn : {false, true}) {
    for (const std::int64_t m : {1, 2, 33, 100}) {
      for (const std::int64_t n : {1, 7, 64, 129}) {
        for (const std::int64_t k : {1, 2, 8, 77, 136}) {
          GroupedSpec spec;
          spec.gemm.contract = *Contract::parse("hopper/bf16/chain->bf16");
          spec.gemm.n = n, spec.gemm.k = k;
          spec.gemm.op_b = b_mn ? Op::none : Op::transpose;
          spec.groups = 6;
          std::size_t before = 0;
          for (const std::int64_t rows : {m, m + 5}) {
            const std::size_t room = workspace_bytes(spec, rows, 0, with_room(0));
            const auto p = batch(6, rows, n, k, b_mn);
            EXPECT_GE(room, copies_for_tiles(p).bytes()) << rows << " " << n << " " << k << b_mn;
            EXPECT_GE(room, before);
            before = room;
          }
        }
      }
    }
  }
  GroupedSpec across;  // tiles take no A whose M runs along memory
  across.gemm.contract = *Contract::parse("hopper/bf16/chain->bf16");
  across.gemm.n = 77, across.gemm.k = 77, across.groups = 6;
  across.gemm.op_a = Op::transpose;
  EXPECT_EQ(workspace_bytes(across, 100, 0, with_room(0)),
            workspace_bytes(across.gemm.contract, 100, 77, 77, with_room(0)));
  GroupedSpec huge;
  huge.gemm.contract = *Contract::parse("hopper/bf16/chain->bf16");
  huge.gemm.n = 128, huge.gemm.k = 777;
  huge.groups = 1 << 20;
  EXPECT_LT(workspace_bytes(huge, std::int64_t{1} << 62, 0, with_room(0)), kEnough * 8);
}

}  // namespace
}  // namespace detgemm::test
