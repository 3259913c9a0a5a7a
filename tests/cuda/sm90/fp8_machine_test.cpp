// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The code of the e4m3 kernels between the barriers (scales into slots, steps by descriptors,
// joins, leaves) on the host, against the contract executed one output at a time. The headers of
// cuda/sm90/ptx are replaced (CMakeLists.txt). What is not seen here: the hardware's wgmma, and
// whether barriers order what runs at the same time.
#include "tests/cuda/sm90/fp8_machine.hpp"
// The first one defines what the others are compiled with.
#include <gtest/gtest.h>

#include <random>

#include "core/contract/compute_element.hpp"
#include "cuda/families.hpp"
#include "cuda/sm90/fp8/sums.cuh"
#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/fp8_slots_machine.hpp"

namespace detgemm::cuda::sm90 {
namespace {

using test::machine;
using test::record;
using test::Recorded;

struct Given {
  std::int64_t m, n, k;
  Reduction reduction;
  std::int64_t per_a = 1, per_b = 128;
  ScaleType type = ScaleType::fp32;
  bool by_leaf = false;  ///< scales lie leaf by leaf
  bool of_lines = false;
};

/// A problem with its numbers: any bits but those of NaN.
struct Numbers {
  std::vector<std::uint8_t> a, b;
  std::vector<std::uint32_t> sa, sb;
  Problem p;

  explicit Numbers(const Given& x) {
    std::mt19937_64 random(static_cast<std::uint64_t>(x.m * 31 + x.n * 7 + x.k));
    const std::int64_t ld = (x.k + 15) / 16 * 16 + 16;
    const auto fill = [&](std::vector<std::uint8_t>& to, std::int64_t rows) {
      to.resize(static_cast<std::size_t>(rows * ld + 16));
      for (auto& v : to) v = static_cast<std::uint8_t>(random() & 0xff) & 0xf7;
    };
    fill(a, x.m);
    fill(b, x.n);
    const auto aligned = [](std::vector<std::uint8_t>& v) {
      return v.data() + (16 - reinterpret_cast<std::uintptr_t>(v.data()) % 16) % 16;
    };
    p.input = DType::e4m3;
    p.gemms.all.a = aligned(a);
    p.gemms.all.b = aligned(b);
    p.gemms.all.d = reinterpret_cast<void*>(8192);  // never followed
    p.gemms.all.m = x.m;
    p.gemms.all.n = x.n;
    p.gemms.all.k = x.k;
    p.gemms.all.as = {ld, 1};
    p.gemms.all.bs = {1, ld};
    p.gemms.all.ds = {x.n, 1};
    p.gemms.all.output = DType::fp32;
    p.gemms.all.reduction = x.reduction;
    if (x.reduction.kind != ReductionKind::scaled && !x.of_lines) return;
    p.scales.of_lines = x.of_lines;
    const std::int64_t leaves = x.of_lines ? 1 : detgemm::leaves_of(x.k, x.reduction.leaf_k);
    const auto scales = [&](std::vector<std::uint32_t>& to, std::int64_t lines, std::int64_t per) {
      const std::int64_t blocks = ceil_div(lines, per);
      to.resize(static_cast<std::size_t>(blocks * leaves));
      for (auto& v : to) v = 0x3f000000U + static_cast<std::uint32_t>(random() % 0x1000000U);
      return x.by_leaf ? LeafScales{to.data(), per, 1, blocks, x.type}
                       : LeafScales{to.data(), per, leaves, 1, x.type};
    };
    p.scales.a = scales(sa, x.m, x.per_a);
    p.scales.b = scales(sb, x.n, x.per_b);
  }
};

/// A box of (rows, 128 bytes) as TMA brings it: swizzled, with zeros for what does not exist. The
/// halves of a box that a pair shares lie one behind the other.
void bring_box(const TensorShape& map, std::uint32_t to, int block, int row, std::uint32_t halves) {
  for (std::uint32_t r = 0; r < map.box[1] * halves; ++r) {
    for (std::uint32_t at = 0; at < 128; ++at) {
      const std::uint64_t k = static_cast<std::uint64_t>(block) * 128 + at;
      const std::uint64_t line = static_cast<std::uint64_t>(row) + r;
      const bool exists = k < map.extent[0] && line < map.extent[1];
      const auto* data = static_cast<const std::uint8_t*>(map.data);
      const std::uint32_t plain = to + r * 128 + at;
      machine.shared[plain ^ (plain >> 7 & 7U) << 4] =
          exists ? data[line * map.stride[0] + k] : std::uint8_t{0};
    }
  }
}

/// The sum of one output by the contract.
float expected(const Problem& p, std::int64_t row, std::int64_t col) {
  GemmArguments g = p.g();
  float d = 0;
  g.d = &d;
  g.ds = {0, 0};
  const auto leaf = [&](std::int64_t begin, std::int64_t end, float start) {
    return chain_element<Arithmetic::hopper, DType::e4m3>(g, row, col, begin, end, start);
  };
  const float sum = reduce_leaves(g.reduction, g.k, 0.0F, leaf, [&](std::int64_t i) {
    return scale_of_leaf(p.scales, row, col, i);
  });
  return scaled_by_lines(p.scales, row, col, sum);
}

struct Compared {
  int outputs = 0, different = 0;
};

/// Runs threads of both consumer groups over every tile; one thread of `every`.
template <class T>
Compared run_tiles(const Problem& p, const Decision& d, const Recorded& seen, int every) {
  Compared all;
  const SharedLayout<T> shared(nullptr);
  const LaunchShape& shape = seen.shape;
  for (int tile = 0; tile < d.raster.tiles() * T::kCluster; ++tile) {
    machine.rank = static_cast<std::uint32_t>(tile % T::kCluster);
    blockIdx.x = static_cast<unsigned>(tile);
    gridDim.x = 1U << 30;
    int tx = 0, ty = 0;
    TileWalk<T> walk;
    EXPECT_TRUE(walk.next(d.raster, tx, ty));
    const int x0 = x_of<T>(shape, tx), y0 = y_of<T>(shape, ty);
    for (int thread = tile % every; thread < 128 * T::kGroups; thread += every) {
      int block = 0, released = 0, to_neighbour = 0;
      test::SlotMachine<T> slots(shared);
      test::Bringers<T> scales;
      slots.bring = [&] { scales.bring(slots, seen.fp8); };
      machine.arrive = [&](std::uint32_t barrier) {
        if (barrier >> 31 != 0) {
          ++to_neighbour;
          return;
        }
        if (slots.owns(barrier)) {
          slots.arrive(barrier);
          return;
        }
        const int stage = released++ % T::kStages;
        EXPECT_EQ(barrier, shared.empty + 8 * stage);
        // What has been handed back may be overwritten at once.
        auto* const memory = machine.shared.data();
        std::memset(memory + shared.x(stage), 0x7f, T::kStageBytes);
        if (T::kStageScales) slots.overwrite(stage);
      };
      machine.wait = [&](std::uint32_t barrier, std::uint32_t parity) {
        if (slots.owns(barrier)) {
          slots.wait(barrier, parity);
          return;
        }
        if (T::kStageScales) slots.fill();
        const int stage = block % T::kStages;
        EXPECT_EQ(barrier, shared.full + 8 * stage);
        EXPECT_EQ(parity, static_cast<std::uint32_t>(block / T::kStages % 2));
        constexpr bool kPair = T::kCluster > 1;
        bring_box(seen.maps[0], shared.x(stage), block, x0, kPair && T::kSharesX ? 2 : 1);
        bring_box(seen.maps[1], shared.y(stage), block, y0, kPair && !T::kSharesX ? 2 : 1);
        ++block;
      };
      if (T::kScaled || seen.fp8.of_lines) {
        scales.begin(seen.fp8, x0, y0, shape.x_rows, shape.y_rows, shape.x_rows,
                     leaves_of(shape, seen.fp8));
      }
      threadIdx.x = static_cast<unsigned>(128 + thread);
      const int group = thread / 128;
      RingCursor<T::kStages> cursor;
      RingCursor<T::kSlots> next_slot;
      Accumulators<T> sum = {};
      const int leaf_blocks = seen.fp8.leaf_blocks;
      Fp8Leaves<T>{shared, shape.k_blocks, leaf_blocks,
                   group,  y0 % 128 != 0,  RowsSkipped::of(seen.fp8, x0, shape.x_rows),
                   cursor, next_slot,      sum}
          .run();
      if (T::kScaled) {
        EXPECT_EQ(slots.turn, ceil_div(shape.k_blocks, T::kStageScales ? 1 : leaf_blocks));
      } else if (seen.fp8.of_lines) {
        multiply_by_lines<T>(shared, next_slot, shape.swapped, group, sum);
        EXPECT_EQ(slots.turn, 1);
      }
      EXPECT_EQ(slots.read, T::kStageScales ? 0 : slots.turn);  // every thread hands them back
      EXPECT_EQ(block, shape.k_blocks);
      // Lane 0 hands a stage to the CTA of rank 0, and lane 1 to its neighbour.
      const int to = thread % 32;
      const bool own = to == static_cast<int>(machine.rank);
      EXPECT_EQ(released, own ? shape.k_blocks : 0);
      EXPECT_EQ(to_neighbour, to < T::kCluster && !own ? shape.k_blocks : 0);
      for (int i = 0; i < T::kBlocks * T::kN / 2; ++i) {
        const int t = thread % 128, at = i % (T::kN / 2),
                  rows = group * T::kBlocks + i / (T::kN / 2);
        const int x = x0 + 64 * rows + 16 * (t / 32) + t % 32 / 4 + 8 * (at / 2 % 2);
        const int y = y0 + 8 * (at / 4) + 2 * (t % 4) + at % 2;
        if (x >= shape.x_rows || y >= shape.y_rows) continue;
        const float want = expected(p, d.swapped ? y : x, d.swapped ? x : y);
        ++all.outputs;
        all.different +=
            arithmetic::bits_of(arithmetic::canonical(sum[rows - group * T::kBlocks][at])) !=
            arithmetic::bits_of(want);
      }
    }
  }
  return all;
}

template <std::size_t kI>
Compared run_tiles(const Problem& p, const Decision& d, const Recorded& seen, int every) {
  constexpr Geometry kG = kFp8Geometries[kI];
  if (d.join == Join::add) return run_tiles<Fp8Tile<kG, Join::add>>(p, d, seen, every);
  if constexpr (has_join(kG, Join::one)) {
    if (d.join == Join::one) return run_tiles<Fp8Tile<kG, Join::one>>(p, d, seen, every);
  }
  if constexpr (has_join(kG, Join::columns)) {
    return run_tiles<Fp8Tile<kG, Join::columns>>(p, d, seen, every);
  }
  return {};
}

/// Those that a geometry does not take have a sentence, and no outputs.
Compared run(const Given& x, int geometry, int every, Join* join = nullptr,
             int* in_rows = nullptr) {
  const Numbers numbers(x);
  LaunchOptions options;
  options.sms = 132;
  options.forced = geometry;
  Recorded& seen = record();
  auto d = decide(numbers.p, options);
  if (!d.ok()) {
    EXPECT_GT(kFp8Geometries[static_cast<std::size_t>(geometry)].blocks, 1) << d.status().message();
    return {};
  }
  EXPECT_EQ(enqueue(*d, numbers.p, options, nullptr), cudaSuccess);
  if (join != nullptr) *join = d->join;
  if (in_rows != nullptr) *in_rows += seen.fp8.in_rows ? 1 : 0;
  Compared all;
  const auto one = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((static_cast<int>(I) == geometry ? (all = run_tiles<I>(numbers.p, *d, seen, every), 0) : 0),
     ...);
  };
  one(std::make_index_sequence<kFp8Geometries.size()>());
  return all;
}

TEST(Fp8Machine, EveryTileHasTheBitsOfTheContract) {
  using enum ReductionKind;
  std::set<std::pair<int, Join>> seen;
  int outputs = 0, in_rows = 0;
  for (int i = 0; i < static_cast<int>(kFp8Geometries.size()); ++i) {
    const Geometry& t = kFp8Geometries[static_cast<std::size_t>(i)];
    const std::int64_t x = t.x(), n = t.n;
    const Given all[] = {
        {x + 3, 2 * n + 8, 700, {fold, 128}},
        {x, n, 520, {}},
        {x + 3, n + 8, 300, {fold, 128}, 1, 1, ScaleType::fp32, false, true},
        {n + 9, x + 2, 300, {}, 1, 128, ScaleType::e8m0, false, true},
        {x + 5, n + 9, 1000, {scaled, 128}},
        {x + 1, 128, 2200, {scaled, 256}, 1, 128, ScaleType::fp32, true},
        {x + 4, 128, 2200, {scaled, 256}, 1, 128, ScaleType::fp32, true},  // in rows
        {x, n + 4, 650, {scaled, 128}, 1, 1},
        {200, 136, 400, {scaled, 128}, 128, 1, ScaleType::e8m0},
    };
    for (const Given& g : all) {
      Join join{};
      const Compared found = run(g, i, 61, &join, &in_rows);
      if (found.outputs == 0 && t.blocks > 1) continue;
      EXPECT_GT(found.outputs, 0);
      EXPECT_EQ(found.different, 0) << name(t) << " m " << g.m << " n " << g.n << " k " << g.k;
      outputs += found.outputs;
      seen.emplace(i, join);
    }
  }
  std::size_t kernels = 0;
  for (const Geometry& t : kFp8Geometries) {
    for (const Join join : {Join::add, Join::one, Join::columns}) kernels += has_join(t, join);
  }
  EXPECT_EQ(seen.size(), kernels);  // each of them
  EXPECT_GT(outputs, 10000);
  EXPECT_GE(in_rows, 7);  // each tile whose columns can share a scale
  EXPECT_FALSE(machine.misaligned);
}

/// With leaves of three stages, slots of the first stages are filled and the others arrived at.
TEST(Fp8Machine, ScalesComeWithTheFirstStageOfALeaf) {
  using T = Fp8Tile<geometry::tile(2, 1, 128), Join::one>;
  const SharedLayout<T> shared(nullptr);
  struct Counted {
    std::vector<std::uint32_t> slots;
    void bring(const Fp8Shape&, std::uint32_t slot, std::uint32_t full) {
      slots.push_back(slot);
      ptx::mbarrier_arrive(full);
    }
  } scales;
  Fp8Shape fp8;
  fp8.leaf_blocks = 3;
  int arrived = 0;
  machine.wait = [](std::uint32_t, std::uint32_t) {};
  machine.arrive = [&](std::uint32_t barrier) {
    EXPECT_EQ(barrier, shared.full + 8 * (arrived++ % T::kStages));
  };
  ScaleSlots<T> slots;
  slots.bring_tile(shared, fp8, 7, scales);  // leaves of 3, 3 and 1 stages
  slots.bring_tile(shared, fp8, 3, scales);  // the next tile begins behind them
  EXPECT_EQ(arrived, 10);
  std::vector<std::uint32_t> expected;
  for (const int stage : {0, 3, 6, 7}) expected.push_back(scale_slot(shared, stage % T::kStages));
  EXPECT_EQ(scales.slots, expected);
}

/// Both orders of the scales of lines differ, and each tile met them in the right one.
TEST(Fp8Machine, TheOrderOfScalesOfLinesIsSeen) {
  const Given x{64, 128, 300, {ReductionKind::fold, 128}, 1, 1, ScaleType::fp32, false, true};
  const Numbers numbers(x);
  LaunchOptions options;
  options.sms = 132;
  options.forced = 7;  // 128x128
  Recorded& seen = record();
  auto d = decide(numbers.p, options);
  ASSERT_TRUE(d.ok());
  ASSERT_EQ(enqueue(*d, numbers.p, options, nullptr), cudaSuccess);
  Recorded other = seen;
  other.shape.swapped = !other.shape.swapped;
  EXPECT_GT(run_tiles<7>(numbers.p, *d, other, 61).different, 0);
  EXPECT_EQ(run_tiles<7>(numbers.p, *d, seen, 61).different, 0);
}

/// The comparison sees one wrong scale, and one leaf of another length.
TEST(Fp8Machine, FaultsAreSeen) {
  const Given x{64, 128, 700, {ReductionKind::scaled, 128}};
  const Numbers numbers(x);
  LaunchOptions options;
  options.sms = 132;
  options.forced = 7;  // 128x128
  Recorded& seen = record();
  auto d = decide(numbers.p, options);
  ASSERT_TRUE(d.ok());
  ASSERT_EQ(enqueue(*d, numbers.p, options, nullptr), cudaSuccess);
  Recorded other = seen;
  other.fp8.x.stride += 1;
  EXPECT_GT(run_tiles<7>(numbers.p, *d, other, 61).different, 0);
  other = seen;
  other.fp8.leaf_blocks = 2;
  EXPECT_GT(run_tiles<7>(numbers.p, *d, other, 61).different, 0);
  EXPECT_EQ(run_tiles<7>(numbers.p, *d, seen, 61).different, 0);
}

}  // namespace
}  // namespace detgemm::cuda::sm90
