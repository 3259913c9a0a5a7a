// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The kernel of e4m3 over segments of rows, as far as its own code runs on the host
// (fp8_machine_test.cpp says how): which tiles a CTA takes, where their operands, scales and rows
// of D lie, and the bits of their sums.
#include "tests/cuda/sm90/fp8_machine.hpp"
// The first one defines what the others are compiled with.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "core/contract/compute_element.hpp"
#include "cuda/families.hpp"
#include "cuda/sm90/fp8/group_place.cuh"
#include "cuda/sm90/fp8/sums.cuh"
#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/fp8_slots_machine.hpp"

namespace detgemm::cuda::sm90 {
namespace {

using test::machine;
using test::record;
using test::Recorded;

struct Given {
  GroupKind kind;
  std::vector<std::int32_t> ends;
  std::int64_t m, n, k;  ///< m: rows of all segments, or of each group
  Reduction reduction;
  std::int64_t per_b = 128;
  bool of_lines = false;
  bool in_rows = false;  ///< the scales of rows are stored leaf by leaf
};

struct Numbers {
  std::vector<std::uint8_t> a, b;
  std::vector<std::uint32_t> sa, sb;
  Problem all;

  explicit Numbers(const Given& x) {
    std::mt19937_64 random(static_cast<std::uint64_t>(x.m * 31 + x.n * 7 + x.k));
    const auto groups = static_cast<std::int64_t>(x.ends.size());
    const bool segments = x.kind == GroupKind::m_grouped;
    const std::int64_t rows = segments ? x.m : x.m * groups;
    const std::int64_t ld = (x.k + 15) / 16 * 16;
    const auto fill = [&](std::vector<std::uint8_t>& to, std::int64_t lines) {
      to.resize(static_cast<std::size_t>(lines * ld + 16));
      for (auto& v : to) v = static_cast<std::uint8_t>(random() & 0xf7);
      return to.data() + (16 - reinterpret_cast<std::uintptr_t>(to.data()) % 16) % 16;
    };
    all.input = DType::e4m3;
    GroupedArguments& p = all.gemms;
    p.all.a = fill(a, rows);
    p.all.b = fill(b, groups * x.n);
    p.all.d = reinterpret_cast<void*>(8192);  // never followed
    p.all.m = x.m, p.all.n = x.n, p.all.k = x.k;
    p.all.as = {ld, 1};
    p.all.bs = {1, ld};
    p.all.ds = {x.n, 1};
    p.all.output = DType::fp32;
    p.all.reduction = x.reduction;
    p.kind = x.kind;
    p.groups = groups;
    p.offsets = x.ends.data();
    p.a_bytes = 1, p.d_bytes = p.c_bytes = p.bias_bytes = 4;
    p.distance.b = x.n * ld;
    const bool scaled = x.reduction.kind == ReductionKind::scaled;
    const std::int64_t leaves = scaled ? detgemm::leaves_of(x.k, x.reduction.leaf_k) : 1;
    if (!segments) {
      p.distance.a = x.m * ld;
      p.distance.d = x.m * x.n;
    }
    if (!scaled && !x.of_lines) return;
    all.scales.of_lines = x.of_lines;
    const std::int64_t blocks = ceil_div(x.n, x.per_b);
    sa.resize(static_cast<std::size_t>(rows * leaves));
    sb.resize(static_cast<std::size_t>(groups * blocks * leaves));
    for (auto* list : {&sa, &sb}) {
      for (auto& v : *list) v = 0x3f000000U + static_cast<std::uint32_t>(random() % 0x1000000U);
    }
    all.scales.a = {sa.data(), 1, leaves, 1, ScaleType::fp32};
    if (x.in_rows) all.scales.a = {sa.data(), 1, 1, x.m, ScaleType::fp32};
    all.scales.b = {sb.data(), x.per_b, leaves, 1, ScaleType::fp32};
    if (!segments) p.distance.scale_a = x.m * leaves;
    p.distance.scale_b = blocks * leaves;
  }
};

/// A box of (rows, 128 bytes) of matrix z, swizzled, with zeros for what does not exist.
void bring_box(const TensorShape& map, std::uint32_t to, int block, int row, int z) {
  for (std::uint32_t r = 0; r < map.box[1]; ++r) {
    for (std::uint32_t at = 0; at < 128; ++at) {
      const std::uint64_t k = static_cast<std::uint64_t>(block) * 128 + at;
      const std::uint64_t line = static_cast<std::uint64_t>(row) + r;
      const auto matrix = static_cast<std::uint64_t>(z);
      const bool exists = k < map.extent[0] && line < map.extent[1] && matrix < map.extent[2];
      const auto* data = static_cast<const std::uint8_t*>(map.data) + matrix * map.stride[1];
      const std::uint32_t plain = to + r * 128 + at;
      machine.shared[plain ^ (plain >> 7 & 7U) << 4] =
          exists ? data[line * map.stride[0] + k] : std::uint8_t{0};
    }
  }
}

/// The sum of one output of a group by the contract.
float expected(const Problem& all, std::int64_t group, std::int64_t row, std::int64_t col) {
  const Segment part = part_of_group(all.gemms, group);
  const GemmArguments g = arguments_of_group(all.gemms, group, part);
  const ScalePair scales = scales_of_group(all.scales, all.gemms.distance, group, part);
  const auto leaf = [&](std::int64_t begin, std::int64_t end, float start) {
    return chain_element<Arithmetic::hopper, DType::e4m3>(g, row, col, begin, end, start);
  };
  const float sum = reduce_leaves(g.reduction, g.k, 0.0F, leaf, [&](std::int64_t i) {
    return scale_of_leaf(scales, row, col, i);
  });
  return scaled_by_lines(scales, row, col, sum);
}

struct Compared {
  int outputs = 0, different = 0;
  int skipped = 0;  ///< threads of tiles whose scales begin inside of a bulk copy's first chunk
  int passed = 0;   ///< threads whose rows are behind those of their group
  std::set<std::pair<int, int>> covered;  ///< first rows and columns of D of all tiles
  std::int64_t rows = 0;                  ///< of D that tiles have, times tiles across
};

template <class T>
Compared run_tiles(const Problem& all, const Decision& d, const Recorded& seen, int every) {
  Compared found;
  const SharedLayout<T> shared(nullptr);
  const LaunchShape& shape = seen.shape;
  const SegmentShape& s = seen.segments;
  const int n = static_cast<int>(all.gemms.all.n);
  std::vector<RowSegment> table;
  for (std::int64_t g = 0; g < all.gemms.groups; ++g) {
    const Segment part = part_of_group(seen.groups, g);
    table.push_back({static_cast<int>(part.begin), static_cast<int>(part.count)});
  }
  test::grid_extent.x = seen.grid;
  for (unsigned cta = 0; cta < seen.grid; ++cta) {
    test::block_index.x = cta;
    SegmentWalk walk = walk_of<T>(table.data(), seen.groups, s, shape.swapped);
    SegmentTile tile;
    while (walk.next(tile)) {
      const GroupPlace at = place_of<T>(tile, s, shape, n);
      EXPECT_TRUE(found.covered.emplace(at.x, at.y).second);
      const int begin_d = table[static_cast<std::size_t>(tile.group)].begin + tile.group * s.d_step;
      for (int thread = tile.across % every; thread < 128 * T::kGroups; thread += every) {
        int block = 0;
        const Fp8Shape own = shape_of_group(seen.fp8, s, shape.swapped, tile.group);
        test::SlotMachine<T> slots(shared);
        test::Bringers<T> scales;
        slots.bring = [&] { scales.bring(slots, own); };
        if (T::kScaled || own.of_lines) {
          const std::int64_t lines = shape.swapped ? all.gemms.all.n : all.gemms.all.m;
          scales.begin(own, at.x_scale, at.y_scale, at.x_lines, at.y_lines, static_cast<int>(lines),
                       leaves_of(shape, own));
        }
        machine.arrive = [&](std::uint32_t barrier) {
          if (slots.owns(barrier)) slots.arrive(barrier);
          // Scales that have been handed back may be overwritten at once.
          for (int i = 0; T::kStageScales && i < T::kStages; ++i) {
            if (!slots.owns(barrier) && barrier == slots.empty(i)) slots.overwrite(i);
          }
        };
        machine.wait = [&](std::uint32_t barrier, std::uint32_t parity) {
          if (slots.owns(barrier)) {
            slots.wait(barrier, parity);
            return;
          }
          if (T::kStageScales) slots.fill();
          const int stage = block % T::kStages;
          const int z = tile.group * s.b_step;
          bring_box(seen.maps[0], shared.x(stage), block, at.x_from, shape.swapped ? z : 0);
          bring_box(seen.maps[1], shared.y(stage), block, at.y_from, shape.swapped ? 0 : z);
          ++block;
        };
        threadIdx.x = static_cast<unsigned>(128 + thread);
        const int group = thread / 128;
        RingCursor<T::kStages> cursor;
        RingCursor<T::kSlots> next_slot;
        Accumulators<T> sum = {};
        const auto skipped = RowsSkipped::of(own, at.x_scale, at.x_lines);
        found.skipped += skipped.rows > 0;
        Fp8Leaves<T> leaves{shared,  shape.k_blocks, own.leaf_blocks, group, at.y % 128 != 0,
                            skipped, cursor,         next_slot,       sum};
        if (has_no_rows<T>(at, group)) {
          leaves.pass();
          ++found.passed;
        } else {
          leaves.run();
          if constexpr (!T::kScaled) {
            if (own.of_lines) multiply_by_lines<T>(shared, next_slot, shape.swapped, group, sum);
          }
        }
        for (int i = 0; i < T::kBlocks * T::kN / 2; ++i) {
          const int t = thread % 128, j = i % (T::kN / 2), rows = i / (T::kN / 2);
          const int x = at.x + 64 * (group * T::kBlocks + rows) + 16 * (t / 32) + t % 32 / 4 +
                        8 * (j / 2 % 2);
          const int y = at.y + 8 * (j / 4) + 2 * (t % 4) + j % 2;
          if (x >= at.x_end || y >= at.y_end) continue;
          const int row = (d.swapped ? y : x) - begin_d, col = d.swapped ? x : y;
          const float want = expected(all, tile.group, row, col);
          ++found.outputs;
          EXPECT_FALSE(has_no_rows<T>(at, group));
          found.different +=
              arithmetic::bits_of(arithmetic::canonical(sum[rows][j])) != arithmetic::bits_of(want);
        }
      }
      const int height = d.swapped ? T::kN : T::kX;
      found.rows += std::min(height, tile.rows.count - tile.row);
    }
  }
  return found;
}

template <std::size_t kI>
Compared run_tiles(const Problem& all, const Decision& d, const Recorded& seen, int every) {
  constexpr Geometry kG = kFp8Geometries[kI];
  constexpr int kTable = kMaxSegments * int{sizeof(RowSegment)};
  if (d.join == Join::add) return run_tiles<Fp8Tile<kG, Join::add, kTable>>(all, d, seen, every);
  if constexpr (has_join(kG, Join::one)) {
    if (d.join == Join::one) return run_tiles<Fp8Tile<kG, Join::one, kTable>>(all, d, seen, every);
  }
  if constexpr (has_join(kG, Join::columns)) {
    return run_tiles<Fp8Tile<kG, Join::columns, kTable>>(all, d, seen, every);
  }
  return {};
}

const std::vector<Given>& problems() {
  using enum ReductionKind;
  static const std::vector<Given> list{
      {GroupKind::m_grouped, {13, 13, 90, 141}, 150, 136, 300, {scaled, 128}},
      {GroupKind::m_grouped, {1, 2, 2, 130}, 130, 256, 520, {scaled, 256}, 1},
      {GroupKind::m_masked, {0, 37, 5, 1}, 37, 72, 300, {scaled, 128}},
      {GroupKind::m_masked, {40, 129}, 129, 128, 400, {scaled, 128}, 1},
      {GroupKind::m_grouped, {70, 71, 100}, 110, 128, 300, {fold, 128}, 128, true},
      {GroupKind::m_masked, {3, 20}, 20, 136, 200, {}, 1, true},
      {GroupKind::m_grouped, {9, 40}, 41, 64, 260, {fold, 128}},
      {GroupKind::m_grouped, {13, 13, 90, 141}, 151, 136, 300, {scaled, 128}, 128, false, true},
      {GroupKind::m_masked, {37, 5, 140}, 140, 72, 700, {scaled, 256}, 128, false, true},
  };
  return list;
}

Compared run(const Given& x, int geometry, int every, Recorded** kept = nullptr) {
  const Numbers numbers(x);
  LaunchOptions options;
  options.sms = 7;  // CTAs have several tiles
  Recorded& seen = record();
  const std::string forced = name(kFp8Geometries[static_cast<std::size_t>(geometry)]);
  options.forced = test::forced_index(numbers.all, forced);
  auto d = decide(numbers.all, options);
  if (!d) {  // wide tiles alone, where columns have scales of their own
    const Geometry& t = kFp8Geometries[static_cast<std::size_t>(geometry)];
    EXPECT_GE(t.blocks * t.n, 128) << forced;
    const std::string said = d.status().message();
    EXPECT_TRUE(said.find("whose scale 128 columns") != std::string::npos ||
                said.find("has to be 128 long") != std::string::npos)
        << said;
    return {};
  }
  EXPECT_EQ(d->family, Family::fp8_groups);
  EXPECT_EQ(enqueue(*d, numbers.all, options, nullptr), cudaSuccess);
  if (kept != nullptr) *kept = &seen;
  Compared found;
  const auto one = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((static_cast<int>(I) == geometry ? (found = run_tiles<I>(numbers.all, *d, seen, every), 0)
                                      : 0),
     ...);
  };
  one(std::make_index_sequence<kFp8Geometries.size()>());
  // Every row of every group is in one tile per place across.
  std::int64_t rows = 0;
  for (std::int64_t g = 0; g < numbers.all.gemms.groups; ++g) {
    rows += part_of_group(numbers.all.gemms, g).count;
  }
  EXPECT_EQ(found.rows, rows * seen.segments.across);
  return found;
}

TEST(Fp8GroupTiles, HaveTheBitsOfEachGroup) {
  int outputs = 0, passed = 0, skipped = 0;
  for (std::size_t i = 0; i < kFp8Geometries.size(); ++i) {
    if (!is_fp8_group_geometry(i)) continue;
    for (const Given& g : problems()) {
      const Compared found = run(g, static_cast<int>(i), 61);
      passed += found.passed;
      skipped += found.skipped;
      EXPECT_EQ(found.different, 0)
          << name(kFp8Geometries[i]) << " n " << g.n << " k " << g.k << " m " << g.m;
      outputs += found.outputs;
    }
  }
  EXPECT_GT(outputs, 3000);
  EXPECT_GT(passed, 50);
  EXPECT_GT(skipped, 50);
  EXPECT_FALSE(machine.misaligned);
}

/// What a thread does to barriers in a tile: waits, arrivals, named barriers, and where it stands
/// behind it.
struct Handed {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits;
  std::multiset<std::uint32_t> arrivals;
  std::vector<std::uint32_t> turns;
  std::array<std::uint32_t, 4> cursors{};

  bool operator==(const Handed&) const = default;
};

template <class T>
Handed handed(int k_blocks, int leaf_blocks, bool of_lines, bool passes) {
  const SharedLayout<T> shared(nullptr);
  Handed found;
  machine.wait = [&](std::uint32_t barrier, std::uint32_t parity) {
    found.waits.emplace_back(barrier, parity);
  };
  machine.arrive = [&](std::uint32_t barrier) { found.arrivals.insert(barrier); };
  machine.turns.clear();
  threadIdx.x = 256;  // lane 0 of the second group
  RingCursor<T::kStages> cursor;
  RingCursor<T::kSlots> slots;
  Accumulators<T> sum = {};
  Fp8Leaves<T> leaves{shared, k_blocks, leaf_blocks, 1, false, {}, cursor, slots, sum};
  if (passes) {
    leaves.pass();
  } else {
    leaves.run();
  }
  if constexpr (!T::kScaled) {
    if (of_lines && passes) leaves.pass_slot();
    if (of_lines && !passes) multiply_by_lines<T>(shared, slots, false, 1, sum);
  }
  std::sort(found.waits.begin(), found.waits.end());  // slots are waited for earlier or later
  found.turns = machine.turns;
  found.cursors = {static_cast<std::uint32_t>(cursor.stage), cursor.parity,
                   static_cast<std::uint32_t>(slots.stage), slots.parity};
  return found;
}

/// Barriers count arrivals: a group without rows hands back just what one with rows does, in as
/// many turns.
TEST(Fp8GroupTiles, AGroupThatPassesHandsBackWhatOneThatRunsDoes) {
  int compared = 0;
  const auto compare = [&]<std::size_t kI, Join kJoin>() {
    if constexpr (has_group_join(kI, kJoin) && kFp8Geometries[kI].groups == 2) {
      using Tile = Fp8Tile<kFp8Geometries[kI], kJoin, kMaxSegments* int{sizeof(RowSegment)}>;
      for (const auto& [blocks, of_leaf] : {std::pair{1, 1}, {7, 1}, {9, 2}, {4, 4}, {11, 3}}) {
        for (const bool of_lines : {false, true}) {
          const bool lines = of_lines && kJoin == Join::add;
          const Handed ran = handed<Tile>(blocks, of_leaf, lines, false);
          EXPECT_TRUE(handed<Tile>(blocks, of_leaf, lines, true) == ran)
              << name(kFp8Geometries[kI]) << " " << blocks << " " << of_leaf;
          EXPECT_FALSE(handed<Tile>(blocks + 1, of_leaf, lines, true) == ran);
          ++compared;
        }
      }
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((compare.template operator()<I, Join::add>(), compare.template operator()<I, Join::one>(),
      compare.template operator()<I, Join::columns>()),
     ...);
  }
  (std::make_index_sequence<kFp8Geometries.size()>());
  EXPECT_GE(compared, 50);
}

/// Of a group of many tiles each is there once, and the weights of a band before the rows behind
/// it.
TEST(Fp8GroupTiles, TheWalkTakesBandsOfRows) {
  constexpr int kHeight = 64, kAcross = 5, kBand = SegmentWalk::kBand;
  const RowSegment table[] = {{0, 0}, {0, 100}, {100, 31 * kHeight - 3}, {5000, 1}};
  std::set<std::array<int, 3>> found;
  for (const int cta : {0, 1, 2}) {
    SegmentWalk walk{table, 4, kHeight, kAcross, cta, 3};
    SegmentTile tile;
    int last_band = 0;
    while (walk.next(tile)) {
      EXPECT_TRUE(found.insert({tile.group, tile.row, tile.across}).second);
      EXPECT_LT(tile.row, tile.rows.count);
      if (tile.group != 2) continue;
      EXPECT_GE(tile.row / kHeight / kBand, last_band);
      last_band = tile.row / kHeight / kBand;
    }
    EXPECT_EQ(last_band, 2);
  }
  EXPECT_EQ(found.size(), (2U + 31U + 1U) * kAcross);
}

/// The comparison sees scales of another group, and a group that begins one row later.
TEST(Fp8GroupTiles, FaultsAreSeen) {
  const Numbers numbers(problems()[0]);
  LaunchOptions options;
  options.sms = 7;
  Recorded& seen = record();
  options.forced = test::forced_index(numbers.all, "64x64");
  auto d = decide(numbers.all, options);
  ASSERT_TRUE(d.ok());
  ASSERT_EQ(enqueue(*d, numbers.all, options, nullptr), cudaSuccess);
  EXPECT_EQ(run_tiles<2>(numbers.all, *d, seen, 61).different, 0);
  Recorded other = seen;
  other.segments.b_scales += 1;
  EXPECT_GT(run_tiles<2>(numbers.all, *d, other, 61).different, 0);
  other = seen;
  other.segments.a_step += 1;
  EXPECT_GT(run_tiles<2>(numbers.all, *d, other, 61).different, 0);
}

TEST(Fp8GroupTiles, WhatTheyDoNotTakeGoesToElementsOrIsRefused) {
  const auto way = [](const Given& x, auto&& spoil, const char* forced = "") {
    Numbers numbers(x);
    spoil(numbers.all);
    LaunchOptions options;
    options.sms = 132;
    options.forced = test::forced_index(numbers.all, forced);
    auto d = decide(numbers.all, options);
    return d ? name(*d) : d.status().message();
  };
  const Given& g = problems()[0];
  EXPECT_TRUE(way(g, [](Problem&) {}).ends_with("/grouped"));
  EXPECT_TRUE(way(g, [](Problem&) {}).starts_with("sm90/fp8/"));
  const auto odd = [](Problem& all) { all.gemms.distance.b += 1; };
  EXPECT_EQ(way(g, odd), "fp8/elements/grouped");
  EXPECT_NE(way(g, odd, "64x64").find("a multiple of 16 bytes"), std::string::npos);
  const auto transposed = [](Problem& all) {
    std::swap(all.gemms.all.bs.row, all.gemms.all.bs.col);
  };
  EXPECT_EQ(way(g, transposed), "fp8/elements/grouped");
  const auto many = [](Problem& all) { all.gemms.groups = kMaxSegments + 1; };
  EXPECT_EQ(way(g, many), "fp8/elements/grouped");
  EXPECT_EQ(way(
                g, [](Problem&) {}, "elements"),
            "fp8/elements/grouped");
}

}  // namespace
}  // namespace detgemm::cuda::sm90
