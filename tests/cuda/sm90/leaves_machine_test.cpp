// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The orders of leaves in the SM90 kernels of trees, on the host: what the producers bring, in
// which order, what one thread of each consumer group makes of it, and where its sums wait, against
// the contract. The headers of cuda/sm90/ptx are replaced (CMakeLists.txt).

#include "tests/cuda/sm90/leaves_machine.hpp"

#include <algorithm>
// The first one defines what the others are compiled with.
#include <gtest/gtest.h>

#include "core/contract/reduction.hpp"
#include "cuda/sm90/leaves/fold.cuh"
#include "cuda/sm90/leaves/orders.cuh"
#include "cuda/sm90/leaves/tree.cuh"

namespace detgemm::cuda::sm90 {
namespace {

using arithmetic::bits_of;
using arithmetic::canonical;
using test::ring;

/// The contract's sum of leaves [range.begin, range.end), as a tree of its own.
float expected(const LeafShape& leaf, LeafRange range, int k_blocks, int output) {
  const std::int64_t first = std::int64_t{range.begin} * leaf.leaf_blocks * 4;
  const std::int64_t last = std::min(range.end * leaf.leaf_blocks, k_blocks) * std::int64_t{4};
  const auto chain = [&](std::int64_t begin, std::int64_t end, float start) {
    for (std::int64_t step = first + begin; step < first + end; ++step) {
      start = arithmetic::add_rn(start, test::product(static_cast<int>(step), output));
    }
    return start;
  };
  const Reduction tree{ReductionKind::tree, std::int64_t{leaf.leaf_blocks} * 4};
  return reduce_leaves(tree, last - first, 0.0F, chain);
}

/// Resets the ring, and lets both producer warps bring the stages of a walk.
template <class T, class Walk, class Blocks>
void bring(const SharedLayout<T>& shared, const LaunchShape& shape, const Walk& walk,
           const Blocks& blocks) {
  ring = {};
  ring.stages = shared.stages;
  ring.full = shared.full;
  ring.empty = shared.empty;
  ring.count = T::kStages;
  ring.stage_bytes = T::kStageBytes;
  ring.x_bytes = T::kXBytes;
  ring.held.assign(T::kStages, -1);
  ring.turns.assign(T::kStages, 0);
  ring.freed.assign(T::kStages, 0);
  const LaunchMaps maps{};
  for (const int warp : {0, 1}) {
    threadIdx.x = static_cast<unsigned>(warp) * 32;
    run_producer<T>(shared, maps, shape, false, warp, walk, blocks);
  }
}

template <class T>
struct Check {
  SharedLayout<T> shared{nullptr};
  LeafShared<T> slots{shared};

  /// One part of a tile whose last leaf is `missing` blocks short.
  void part(LeafShape leaf, int part, int missing) {
    const LeafRange range = part_of(leaf, part);
    LaunchShape shape;
    shape.raster = {1, 1, 1};
    shape.k_blocks = leaf.leaves * leaf.leaf_blocks - missing;
    const int per_part = (leaf.leaves + leaf.parts - 1) / leaf.parts;
    leaf.levels = run_levels(per_part);
    leaf.shared_levels = std::min(leaf.levels, T::kSlots);
    std::vector<float> waiting(static_cast<std::size_t>(leaf.levels * T::kSlotBytes / 4 + 4), NAN);
    leaf.waiting =
        waiting.data() + (16 - reinterpret_cast<std::uintptr_t>(waiting.data()) % 16) % 16 / 4;
    std::fill(test::shared_memory.begin(), test::shared_memory.end(), 0xff);
    gridDim.x = static_cast<unsigned>(leaf.parts * T::kCluster);
    for (int group = 0; group < T::kGroups; ++group) {
      for (const unsigned thread : {0U, 97U}) {
        if (static_cast<int>(thread) >= T::kHolding) continue;
        const LaunchMaps maps{};
        blockIdx.x = static_cast<unsigned>(part);
        // The walk of a launch of this one tile.
        bring<T>(shared, shape, PartWalk<T>(leaf), PartStages<T>{leaf, shape.k_blocks});
        threadIdx.x = 128 + static_cast<unsigned>(group) * 128 + thread;
        blockIdx.x = 0;  // there are slots for one CTA
        Accumulators<T> sums[T::kSums];
        for (auto& v : sums[0][0]) v = NAN;
        IncomingC<T> c(slots, maps.c, false, group, 0, 0, sums[0]);
        RingCursor<T::kStages> cursor;
        Leaves<T> leaves{leaf, range, group, {leaf, slots, group}, sums};
        run_leaves_in_runs<T>({shared, shape.k_blocks, group, cursor, c}, leaves);
        EXPECT_EQ(ring.faults, 0);
        EXPECT_TRUE(ring.pending.empty() && ring.open.empty());
        const BlockRange blocks = blocks_of(leaf, range, shape.k_blocks);
        EXPECT_EQ(ring.taken, static_cast<std::size_t>(blocks.end - blocks.begin));
        EXPECT_EQ(ring.x.size(), ring.taken);
        for (int s = 0; s < T::kStages && thread == 0; ++s) {
          EXPECT_EQ(ring.freed[static_cast<std::size_t>(s)],
                    ring.turns[static_cast<std::size_t>(s)]);
        }
        int wrong = 0;
        for (int i = 0; i < T::kN / 2; ++i) {
          wrong += bits_of(canonical(sums[0][0][i])) !=
                   bits_of(expected(leaf, range, shape.k_blocks, i));
        }
        ASSERT_EQ(wrong, 0) << name(T::kGeometry) << ", leaves " << range.begin << " .. "
                            << range.end << " of " << leaf.leaves << " with " << leaf.leaf_blocks
                            << " blocks, " << missing << " missing";
      }
    }
  }

  void all(int leaves, int leaf_blocks, int parts, int missing) {
    LeafShape leaf;
    leaf.leaf_blocks = leaf_blocks;
    leaf.leaves = leaves;
    leaf.tree = true;
    leaf.parts = parts;
    leaf.split = parts > 1 ? Split::grid : Split::none;
    for (int i = 0; i < parts; ++i) part(leaf, i, missing);
  }
};

template <Geometry kG>
void check_all() {
  using T = LeafTile<DType::bf16, kG, false, false, true>;
  static_assert(T::kRegisters.order == Order::runs);
  Check<T> check;
  for (int leaves = 2; leaves <= 70; ++leaves) {
    check.all(leaves, 1 + leaves % 3, 1, 0);
    check.all(leaves, 2, 1, 1);
    for (const int parts : {2, 4, 8}) {
      // A pair shares an operand, and no leaves.
      if (leaves > 2 * parts && T::kCluster == 1) check.all(leaves, 1, parts, 0);
    }
  }
  for (const int leaves : {1, 127, 128, 255, 300}) check.all(leaves, 1, 1, 0);
}

TEST(Sm90LeafOrder, RunsHaveTheBitsOfTheContractsTree) {
  using namespace geometry;
  check_all<tile(2, 1, 128)>();
  check_all<tile(2, 1, 80)>();
  check_all<tile(1, 1, 96)>();
}

TEST(Sm90LeafOrder, SoTheyHaveWhereThreadsHoldNoRowsOrPairsShareAnOperand) {
  using namespace geometry;
  check_all<stream(16, 112)>();
  check_all<pair(2, 1, 128, true)>();
  check_all<pair(1, 1, 128, false)>();
}

/// One thread of each group of a kernel of folds, over a tile.
template <Geometry kG>
void check_folds() {
  using T = FoldTile<DType::bf16, kG, false, false>;
  const SharedLayout<T> shared{nullptr};
  int outputs = 0;
  for (const int leaf_blocks : {1, 2, 3, 4, 16}) {
    for (const int k_blocks : {1, 2, 3, 7, 8, 31, 32, 48, 65}) {
      for (int group = 0; group < T::kGroups; ++group) {
        LaunchShape shape;
        shape.raster = {1, 1, 1};
        shape.k_blocks = k_blocks;
        blockIdx.x = 0;
        gridDim.x = T::kCluster;
        bring<T>(shared, shape, TileWalk<T>{}, BlockRange{0, k_blocks});
        threadIdx.x = 128 + static_cast<unsigned>(group) * 128;
        Accumulators<T> sum = {};
        RingCursor<T::kStages> cursor;
        FoldedLeaves<T>{shared, k_blocks, leaf_blocks, group, cursor, sum}.run();
        EXPECT_EQ(ring.faults, 0);
        EXPECT_TRUE(ring.pending.empty() && ring.open.empty());
        EXPECT_EQ(ring.taken, static_cast<std::size_t>(k_blocks));
        EXPECT_EQ(ring.freed, ring.turns);
        const Reduction fold{ReductionKind::fold, std::int64_t{leaf_blocks} * 4};
        for (int i = 0; i < T::kN / 2; ++i) {
          const auto chain = [&](std::int64_t begin, std::int64_t end, float start) {
            for (std::int64_t step = begin; step < end; ++step) {
              start = arithmetic::add_rn(start, test::product(static_cast<int>(step), i));
            }
            return start;
          };
          const float want = reduce_leaves(fold, std::int64_t{k_blocks} * 4, 0.0F, chain);
          ASSERT_EQ(bits_of(canonical(sum[0][i])), bits_of(want))
              << name(kG) << ", " << k_blocks << " blocks in leaves of " << leaf_blocks;
          ++outputs;
        }
      }
    }
  }
  EXPECT_GT(outputs, 1000);
}

TEST(Sm90LeafOrder, FoldsHaveTheBitsOfTheContract) {
  using namespace geometry;
  check_folds<tile(1, 1, 64)>();
  check_folds<tile(2, 1, 128)>();
  check_folds<tile(2, 1, 160)>();
  check_folds<tile(2, 1, 192)>();
  check_folds<pair(2, 1, 128, true)>();
}

/// The first thread of each group of a kernel of trees in wide tiles, over two tiles: between them
/// D is where the sums waited.
template <Geometry kG>
void check_trees() {
  using T = TreeTile<DType::bf16, kG, false, false>;
  const SharedLayout<T> shared{nullptr};
  int outputs = 0;
  const auto check = [&](int leaves, int leaf_blocks, int missing) {
    LeafShape leaf;
    leaf.leaf_blocks = leaf_blocks;
    leaf.leaves = leaves;
    leaf.tree = true;
    leaf.levels = run_levels(leaves);
    std::vector<float4> waiting(static_cast<std::size_t>(leaf.levels * T::kSlotBytes / 16 + 1),
                                float4{NAN, NAN, NAN, NAN});
    leaf.waiting = waiting.data();
    LaunchShape shape;
    shape.raster = {1, 1, 1};
    shape.k_blocks = leaves * leaf_blocks - missing;
    test::bulk_turns.clear();
    for (int group = 0; group < T::kGroups; ++group) {
      TreeSlot<T> slot{shared, leaf, group};
      for (const int tile : {0, 1}) {
        std::fill(test::shared_memory.begin(), test::shared_memory.end(), 0xff);
        blockIdx.x = 0;
        gridDim.x = T::kCluster;
        bring<T>(shared, shape, TileWalk<T>{},
                 LeavesFromTheRight{leaves, leaf_blocks, shape.k_blocks});
        threadIdx.x = 128 + static_cast<unsigned>(group) * 128;
        Accumulators<T> sum;
        for (float& v : sum[0]) v = NAN;
        RingCursor<T::kStages> cursor;
        TreeOfLeaves<T>{shared, leaf, shape.k_blocks, group, cursor, slot, sum}.run();
        EXPECT_EQ(ring.faults, 0) << "tile " << tile << ", " << leaves << " leaves";
        EXPECT_TRUE(ring.pending.empty() && ring.open.empty() && test::bulk_loads.empty());
        EXPECT_TRUE(test::bulk_stores.empty()) << "D would overwrite a sum on its way";
        EXPECT_EQ(ring.taken, static_cast<std::size_t>(shape.k_blocks));
        EXPECT_EQ(ring.freed, ring.turns);
        int wrong = 0;
        for (int i = 0; i < T::kN / 2; ++i, ++outputs) {
          wrong += bits_of(canonical(sum[0][i])) !=
                   bits_of(expected(leaf, {0, leaves}, shape.k_blocks, i));
        }
        ASSERT_EQ(wrong, 0) << name(kG) << ", tile " << tile << ", " << leaves << " leaves of "
                            << leaf_blocks << " blocks, " << missing << " missing";
      }
    }
  };
  for (int leaves = 3; leaves <= 70; ++leaves) {
    check(leaves, 1 + leaves % 3, 0);
    check(leaves, 2, 1);
  }
  for (const int leaves : {127, 128, 255, 300}) check(leaves, 1, 0);
  EXPECT_GT(outputs, 1000);
}

TEST(Sm90LeafOrder, WideTreesHaveTheBitsOfTheContract) {
  using namespace geometry;
  check_trees<tile(2, 1, 160)>();
  check_trees<tile(2, 1, 192)>();
}

/// A tree of two leaves runs as a fold, which begins with +0: no leaf is -0.
TEST(Sm90LeafOrder, ATreeOfTwoLeavesIsAFold) {
  for (std::int64_t steps = 2; steps < 400; ++steps) {
    const std::int64_t leaf = (steps + 1) / 2;
    const auto chain = [](std::int64_t begin, std::int64_t end, float start) {
      for (std::int64_t step = begin; step < end; ++step) {
        start = arithmetic::add_rn(start, test::product(static_cast<int>(step), 3));
      }
      return start;
    };
    EXPECT_EQ(bits_of(reduce_leaves({ReductionKind::tree, leaf}, steps, 0.0F, chain)),
              bits_of(reduce_leaves({ReductionKind::fold, leaf}, steps, 0.0F, chain)));
  }
}

/// Every part of every tile is some CTA's, once, and the producers bring as much as it has.
TEST(Sm90LeafOrder, CtasTakeAllPartsInRounds) {
  using T = LeafTile<DType::bf16, geometry::tile(2, 1, 128), false, false, true>;
  for (const int tiles : {1, 5, 160}) {
    for (const int parts : {1, 2, 4, 8}) {
      for (const int ctas : {1, 7, 132, 1280}) {
        if (ctas > tiles * parts) continue;
        LeafShape leaf;
        leaf.leaf_blocks = 3;
        leaf.leaves = 50;
        leaf.tree = true;
        leaf.parts = parts;
        std::vector<int> taken(static_cast<std::size_t>(tiles * parts), 0);
        int blocks = 0;
        gridDim.x = static_cast<unsigned>(ctas);
        for (int cta = 0; cta < ctas; ++cta) {
          blockIdx.x = static_cast<unsigned>(cta);
          PartWalk<T> walk(leaf);
          int x = 0, y = 0;
          while (walk.next(Raster{1, tiles, 1}, x, y)) {
            EXPECT_EQ(y, walk.tile);
            ++taken.at(static_cast<std::size_t>(walk.tile * parts + walk.part));
            PartStages<T>{leaf, 149}.template for_stages<1>(walk, [&](int) { ++blocks; });
          }
        }
        for (const int count : taken) EXPECT_EQ(count, 1);
        EXPECT_EQ(blocks, 149 * tiles);
      }
    }
  }
}

}  // namespace
}  // namespace detgemm::cuda::sm90
