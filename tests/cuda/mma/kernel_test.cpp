// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The kernel of cuda/mma on the host, against the contract, bit for bit: indexing, the order of k,
// tails, layouts, epilogues, barriers. Executed on the host by an emulation.

#include <gtest/gtest.h>

#include <iterator>

#include "cuda/mma/choose.hpp"
#include "cuda/mma/tile.hpp"
#include "tests/cuda/mma/faults.hpp"
#include "tests/cuda/mma/host_kernel.hpp"
#include "tests/cuda/mma/scene.hpp"

namespace detgemm::test {
namespace {

using cuda::mma::kTileCount;
using cuda::mma::kTiles;

struct Outcome {
  std::string noticed;        ///< by the machine
  std::size_t different = 0;  ///< bytes of D and around it

  bool clean() const { return noticed.empty() && different == 0; }
};

Outcome run(const MmaProblem& p, int tile, ThreadOrder order = ThreadOrder::ascending,
            MmaFault fault = MmaFault::none, int ctas = 0) {
  MmaScene scene(p);
  Outcome outcome;
  outcome.noticed =
      run_mma_on_host(scene.arguments(), p.input, tile, {p.arithmetic, fault, order, ctas});
  for (std::size_t i = 0; i < scene.d().size(); ++i) {
    outcome.different += scene.d()[i] != scene.expected()[i];
  }
  return outcome;
}

/// Of a tile that takes one layout alone, with that layout.
MmaProblem drawn(std::uint64_t seed, int tile, bool leaves) {
  const cuda::mma::Tile& t = kTiles[static_cast<std::size_t>(tile)];
  MmaProblem p = draw_mma_problem(seed, t.m, t.n, leaves);
  if (!t.general) p.a = p.b = Lie::along;
  return p;
}

std::string told(const MmaProblem& p, int tile, const Outcome& outcome) {
  return name(kTiles[static_cast<std::size_t>(tile)]) + " " + p.text() + ": " + outcome.noticed +
         ", " + std::to_string(outcome.different) + " bytes differ";
}

/// Problems per tile: more of those that take less time.
int count_for(int tile) {
  const cuda::mma::Tile& t = kTiles[static_cast<std::size_t>(tile)];
  return t.m * t.n > 64 * 128 ? 6 : t.m * t.n > 64 * 64 ? 12 : 40;
}

TEST(MmaKernel, DrawnProblemsHaveTheBitsOfTheContract) {
  constexpr ThreadOrder kOrders[] = {ThreadOrder::ascending, ThreadOrder::descending,
                                     ThreadOrder::mixed};
  std::uint64_t seed = 1;
  for (int tile = 0; tile < kTileCount; ++tile) {
    for (int i = 0; i < count_for(tile); ++i, ++seed) {
      const bool leaves = i % 2 != 0 && kTiles[static_cast<std::size_t>(tile)].leaves;
      const MmaProblem p = drawn(seed, tile, leaves);
      const Outcome outcome = run(p, tile, kOrders[i % 3], MmaFault::none, i % 4);
      EXPECT_TRUE(outcome.clean()) << told(p, tile, outcome);
    }
  }
}

/// One or two CTAs compute all tiles, whose sums are stored from registers while the ring is filled
/// for the next one.
TEST(MmaKernel, TheRingGoesOnOverTiles) {
  std::uint64_t seed = 9000;
  for (int tile = 0; tile < kTileCount; ++tile) {
    const cuda::mma::Tile& t = kTiles[static_cast<std::size_t>(tile)];
    for (const DType output : {DType::bf16, DType::fp16, DType::fp32}) {
      ++seed;
      MmaProblem p = drawn(seed, tile, t.leaves && seed % 2 == 0);
      p.m = t.m + 5;
      p.n = 2 * t.n + 4;
      p.k = seed % 3 == 0 ? 3 * t.k : p.k + 1;
      p.output = output;
      p.d = Lie::along;
      p.epilogue = {};
      p.from_c = false;
      const int ctas = 1 + static_cast<int>(seed % 2);
      const Outcome outcome = run(p, tile, ThreadOrder::mixed, MmaFault::none, ctas);
      EXPECT_TRUE(outcome.clean()) << told(p, tile, outcome);
    }
  }
}

/// Tiles that are fewer columns apart than they are wide, over more blocks than there are stages:
/// each warp multiplies its share of the columns that count.
TEST(MmaKernel, WarpsShareOutTheColumnsThatCount) {
  std::uint64_t seed = 11000;
  for (int tile = 0; tile < kTileCount; ++tile) {
    const cuda::mma::Tile& t = kTiles[static_cast<std::size_t>(tile)];
    for (const int columns : {8, t.n / 2 + 8, t.n - 8}) {
      MmaProblem p = drawn(++seed, tile, false);
      p.m = t.m - 1;
      p.n = columns + 4;
      p.k = (t.stages + 2) * t.k + static_cast<int>(seed % 3) * 8;
      p.a = p.b = Lie::along;
      MmaScene scene(p);
      cuda::Decision d;
      d.input = p.input;
      d.kernel = tile;
      d.across = columns;
      d.grid = 1;
      const auto params = cuda::mma::make_params(scene.arguments(), d, nullptr);
      EXPECT_EQ(params.tiles_n, 2);
      EXPECT_EQ(run_mma_on_host(params, p.input, tile, false, 1,
                                {p.arithmetic, MmaFault::none, ThreadOrder::mixed}),
                "");
      EXPECT_TRUE(scene.d() == scene.expected()) << name(t) << " " << columns << " " << p.text();
    }
  }
}

/// Each layout of A with each of B, at every tile that takes them, with tails in all three extents;
/// in turn with each layout of D.
TEST(MmaKernel, EveryPairOfLayouts) {
  std::uint64_t seed = 1000;
  for (int tile = 0; tile < kTileCount; ++tile) {
    const cuda::mma::Tile& t = kTiles[static_cast<std::size_t>(tile)];
    if (!t.general) continue;
    for (const Lie a : kLies) {
      for (const Lie b : kLies) {
        ++seed;
        MmaProblem p = drawn(seed, tile, t.leaves && seed % 2 == 0);
        p.m = t.m - 3;
        p.n = t.n + (tile == kTileCount - 1 ? 11 : -5);
        p.k = 45;
        p.a = a;
        p.b = b;
        p.d = kLies[seed % std::size(kLies)];
        const Outcome outcome = run(p, tile, ThreadOrder::mixed);
        EXPECT_TRUE(outcome.clean()) << told(p, tile, outcome);
      }
    }
  }
}

/// A number of tf32 has 4 bytes, so all of its layouts but one run element by element.
TEST(MmaKernel, Tf32HasTheBitsOfTheContract) {
  std::uint64_t seed = 7000;
  for (int tile = 0; tile < kTileCount; ++tile) {
    const cuda::mma::Tile& t = kTiles[static_cast<std::size_t>(tile)];
    if (!t.general) continue;
    for (int i = 0; i < count_for(tile); ++i) {
      MmaProblem p = drawn(++seed, tile, t.leaves && i % 2 != 0);
      p.input = DType::tf32;
      if (i % 3 == 0) p.a = p.b = Lie::along;
      const Outcome outcome = run(p, tile, ThreadOrder::mixed);
      EXPECT_TRUE(outcome.clean()) << told(p, tile, outcome);
    }
  }
}

/// Every activation into every type, with all that may stand before it, and from fp32 C.
TEST(MmaKernel, EveryEpilogue) {
  const int tile = kTileCount - 1;
  std::uint64_t seed = 5000;
  for (const DType output : {DType::bf16, DType::fp16, DType::fp32}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu,
                                        Activation::gelu_tanh, Activation::silu}) {
      for (int parts = 0; parts < 8; ++parts) {
        MmaProblem p = drawn(++seed, tile, parts % 3 == 0);
        p.m = 17;
        p.n = 66;
        p.k = 40;
        p.output = output;
        p.from_c = parts >= 4 && p.reduction.kind != ReductionKind::tree;
        p.epilogue = {parts % 2 == 0 ? 1.0F : -0.75F, parts / 2 % 2 == 0 || p.from_c ? 0.0F : 0.5F,
                      parts % 4 > 1, activation};
        const Outcome outcome = run(p, tile);
        EXPECT_TRUE(outcome.clean()) << told(p, tile, outcome);
      }
    }
  }
}

/// Trees of every small number of leaves: which sums wait, and for how long.
TEST(MmaKernel, TreesOfEverySmallNumberOfLeaves) {
  for (std::int64_t leaves = 1; leaves <= 17; ++leaves) {
    MmaProblem p = drawn(static_cast<std::uint64_t>(2000 + leaves), kTileCount - 1, false);
    p.m = 20;
    p.n = 70;
    p.reduction = {ReductionKind::tree, 16};
    p.k = leaves * 16 - 5;
    p.from_c = false;
    const Outcome outcome = run(p, kTileCount - 1);
    EXPECT_TRUE(outcome.clean()) << told(p, kTileCount - 1, outcome);
  }
}

/// The same bits on the GPUs of two arithmetics would show nothing about the order of steps.
TEST(MmaKernel, TheDataTellsOneArithmeticFromAnother) {
  MmaProblem p = drawn(3000, kTileCount - 1, false);
  p.arithmetic = Arithmetic::hopper;
  p.m = 16;
  p.n = 64;
  p.k = 96;
  p.data = 3;
  p.output = DType::fp32;
  p.epilogue = {};
  MmaScene scene(p);
  for (const Arithmetic on : {Arithmetic::hopper, Arithmetic::ampere, Arithmetic::blackwell}) {
    scene.reset_d();
    EXPECT_EQ(run_mma_on_host(scene.arguments(), p.input, kTileCount - 1, {on}), "");
    EXPECT_EQ(scene.d() == scene.expected(), on != Arithmetic::ampere) << name(on);
  }
}

struct Plant {
  MmaFault fault;
  const char* name;
  bool changes_bits;  ///< and is not only noticed
};

TEST(MmaKernel, PlantedFaultsAreFound) {
  for (const Plant& plant :
       {Plant{MmaFault::wrong_lane, "wrong lane", true},
        Plant{MmaFault::swapped_halves, "swapped halves", true},
        Plant{MmaFault::no_zeros, "no zeros", true},
        Plant{MmaFault::wrong_rounding, "wrong rounding", true},
        Plant{MmaFault::no_wait, "no wait", true}, Plant{MmaFault::no_barrier, "no barrier", false},
        Plant{MmaFault::no_warp_barrier, "no barrier of a warp", false}}) {
    for (const int tile : {kTileCount - 1, 3, 7}) {  // 7 has a loop of its own
      MmaProblem p = drawn(4000, tile, false);
      p.arithmetic = Arithmetic::ampere;
      p.m = 60;
      p.n = 75;
      p.k = 333;
      p.a = Lie::along;
      p.b = kTiles[static_cast<std::size_t>(tile)].general ? Lie::across : Lie::along;
      p.data = 3;
      p.output = DType::fp32;
      const Outcome clean = run(p, tile, ThreadOrder::mixed);
      EXPECT_TRUE(clean.clean()) << told(p, tile, clean);
      const Outcome outcome = run(p, tile, ThreadOrder::mixed, plant.fault);
      EXPECT_FALSE(outcome.clean()) << plant.name;
      if (plant.changes_bits) {
        EXPECT_GT(outcome.different, 0U) << plant.name;
      } else {
        EXPECT_NE(outcome.noticed, "") << plant.name;
      }
    }
  }
}

}  // namespace
}  // namespace detgemm::test
