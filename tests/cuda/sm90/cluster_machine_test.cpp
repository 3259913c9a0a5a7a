// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The kernel of chains in clusters of two and four, and of two tiles in turn, on the host: whatever
// the CTAs' speeds and the order in which copies arrive, every wgmma reads the rows and blocks that
// it should from its start to its end, every CTA ends, and every output is stored.

#include "tests/cuda/sm90/cluster_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cuda/sm90/chain/kernel.cuh"
#include "cuda/sm90/host/boxes.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/launch.hpp"
#include "tests/cuda/sm90/problems.hpp"

namespace detgemm::cuda::sm90 {

unsigned char memory[1];  // what the kernel declares; addresses come from shared_address

namespace {

using test::machine;

struct Case {
  std::int64_t m, n, k;
  int clusters = 2;  ///< of the grid
  bool a_stable = false, b_stable = false;
  bool adds_c = false, from_c = false;
};

int index_of(const Geometry& t) {
  for (std::size_t i = 0; i < kPlainGeometries.size(); ++i) {
    if (name(kPlainGeometries[i]) == name(t)) return static_cast<int>(i);
  }
  return -1;
}

/// A launch of the kernel with N on the x side, as the host prepares it, and what it should do.
template <class T>
struct Launch {
  static constexpr const Geometry& kT = T::kGeometry;
  static constexpr int kParts = T::kN / T::kStepN;  ///< instructions per step
  const Case& c;
  GemmArguments g = arguments_of(c);
  LaunchOptions options = options_of(c);
  Decision d = decision();
  Call call{{g, Arithmetic::hopper, DType::bf16}, options, nullptr};
  Sides p = sides_of(d, call);
  LaunchShape shape = shape_of(d, p, call);
  LaunchMaps maps{};
  std::set<std::pair<int, int>> outputs;  ///< (x, y) that were stored

  explicit Launch(const Case& of) : c(of) {
    const Boxes x = x_boxes(kT, p), y = y_boxes(kT, p);
    const int slab = shape.c.slab_bytes / (shape.c.x_contiguous ? kT.x() / 64 : 1);
    maps.y.opaque[0] = 1;
    maps.c.opaque[0] = 2;
    machine.sources = {{0, static_cast<int>(p.x.rows), x.rows, x.rows * 128, p.x_stable},
                       {1, static_cast<int>(p.y.rows), y.rows, y.rows * 128, p.y_stable},
                       {2, 0, 0, slab, false}};
    machine.cluster = T::kCluster;
    machine.parts = kParts;
    machine.kernel = [this] { chain_kernel<T>(maps, shape, g); };
    machine.ended = [this](test::Actor& a, const test::Group& group) { check(a, group); };
    machine.stored = [this](test::Actor& a, int x0, int y0, std::uint32_t box) {
      store(a, x0, y0, box);
    };
  }

  static GemmArguments arguments_of(const Case& c) {
    GemmArguments g = test::arguments({c.m, c.n, c.k});
    g.c = reinterpret_cast<const void*>(std::uintptr_t{1} << 40);
    // An fp32 C runs along y, or TMA would not take it.
    g.cs = c.from_c ? Strides{1, (c.m + 3) / 4 * 4} : g.ds;
    g.c_type = c.from_c ? DType::fp32 : g.output;
    if (c.adds_c) g.epilogue.beta = 0.5F;
    g.continue_from_c = c.from_c;
    return g;
  }
  static LaunchOptions options_of(const Case& c) {
    LaunchOptions o;
    o.a_is_stable = c.a_stable;
    o.b_is_stable = c.b_stable;
    return o;
  }
  Decision decision() const {
    Decision one;
    one.family = Family::chain;
    one.kernel = index_of(kT);
    one.swapped = true;
    one.cluster = T::kCluster;
    one.raster = raster_of(kT, c.n, c.m, c.clusters);
    one.grid = T::kCluster * std::min(c.clusters, one.raster.tiles());
    return one;
  }

  /// Of a group's own tiles, the number among those of its CTA; and where its rows begin in one.
  static int number_of(const test::Actor& a, int own) {
    const int group = static_cast<int>(a.thread.x / 128 - 1);
    return own * T::kTurns + (T::kTurns > 1 ? group : 0);
  }
  static int row_of(const test::Actor& a) {
    return T::kTurns > 1 ? 0 : static_cast<int>(a.thread.x / 128 - 1) * T::kBlocks * 64;
  }

  /// The first rows of tile `number` of a CTA.
  std::pair<int, int> origin(int cta, int number) const {
    int tile_x = 0, tile_y = 0;
    shape.raster.locate(cta / T::kCluster + number * (d.grid / T::kCluster), tile_x, tile_y);
    (T::kSharesX ? tile_y : tile_x) *= T::kCluster;
    (T::kSharesX ? tile_y : tile_x) += cta % T::kCluster;
    return {std::min(tile_x * T::kX, shape.x_last), std::min(tile_y * T::kN, shape.y_last)};
  }

  void check_rows(std::uint32_t base, int operand, int rows, int first, int of, int block) const {
    for (int r = 0; r < rows && first + r < of; ++r) {
      for (int chunk = 0; chunk < 8; ++chunk) {
        const auto at = base / 16 + static_cast<std::uint32_t>(r * 8 + (chunk ^ r % 8));
        if (machine.own().chunks.at(at) == test::tag_of(operand, first + r, block, chunk)) continue;
        return machine.fail("a wgmma read something else than row " + std::to_string(first + r) +
                            " of operand " + std::to_string(operand) + ", block " +
                            std::to_string(block));
      }
    }
  }
  void check(const test::Actor& a, const test::Group& group) const {
    if (a.thread.x % 128 != 0) return;
    const auto [x0, y0] = origin(a.cta, number_of(a, a.groups_ended / shape.k_blocks));
    const int block = a.groups_ended % shape.k_blocks;
    constexpr int kOfStep = T::kBlocks * kParts;
    if (group.reads.size() != 4 * kOfStep) return machine.fail("a stage is four steps");
    for (int i = 0; i < kOfStep; ++i) {  // the steps after the first read the same rows
      const auto [x, y] = group.reads[static_cast<std::size_t>(i)];
      const int row = x0 + row_of(a) + i / kParts * 64;
      check_rows(x, 0, 64, row, shape.x_rows, block);
      check_rows(y, 1, T::kStepN, y0 + i % kParts * T::kStepN, shape.y_rows, block);
    }
  }

  /// D has its neighbours along x, since N is there: boxes of (slab, 64).
  void store(test::Actor& a, int x, int y, std::uint32_t box) {
    const int number = number_of(a, a.groups_ended / shape.k_blocks - 1);
    const auto [x0, y0] = origin(a.cta, number);
    auto& staged = machine.staged[{a.cta, 0}];
    for (const auto& [to, column] : staged) {
      if (to < box || to >= box + T::kBoxBytes || shape.finishes) continue;
      if (y + static_cast<int>((to - box) / 128) != y0 + column) {
        return machine.fail("a column of the accumulators is stored as another");
      }
    }
    std::erase_if(staged,
                  [&](const auto& s) { return s.first >= box && s.first < box + T::kBoxBytes; });
    if (x < x0 || y < y0 || y + T::kDSlab > y0 + T::kN) machine.fail("a box outside of its tile");
    for (int i = x; i < std::min(x + 64, shape.x_rows); ++i) {
      for (int j = y; j < std::min(y + T::kDSlab, shape.y_rows); ++j) outputs.emplace(i, j);
    }
  }

  /// What goes wrong with this seed, or nothing.
  std::string run(unsigned seed) {
    outputs.clear();
    const std::string said = machine.run(seed, d.grid, T::kGroups);
    if (!said.empty()) return said;
    const auto all =
        static_cast<std::size_t>(shape.x_rows) * static_cast<std::size_t>(shape.y_rows);
    return outputs.size() == all ? "" : "outputs are missing";
  }
};

template <Geometry kG>
void expect_runs(const Case& c, int seeds) {
  Launch<Tile<DType::bf16, kG, false, false>> launch(c);
  int early = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    ASSERT_EQ(launch.run(static_cast<unsigned>(seed)), "")
        << name(kG) << ", " << c.m << " x " << c.n << " x " << c.k << ", seed " << seed;
    early += machine.early_copies;
  }
  // A C from which chains start is never promised, and is first.
  EXPECT_EQ(early > 0, (c.a_stable || c.b_stable) && !c.from_c) << "promises are made use of";
}

/// Weight tiles that four divide and that they do not, several tiles per CTA, fewer tokens than a
/// tile, promises, and C by both ways.
template <Geometry kG>
void expect_all_run() {
  constexpr int kSeeds = 3;
  const std::int64_t tile = kG.x();
  expect_runs<kG>({kG.n * 2 + 3, tile * 9 + 8, 700, 2, false, true}, kSeeds);
  expect_runs<kG>({kG.n * 2, tile * 4, 64 * 20, 1, true, false}, kSeeds);
  expect_runs<kG>({kG.n - 5, tile * 5, 640, 2, true, true}, kSeeds);
  expect_runs<kG>({3, tile, 100, 2}, kSeeds);
  expect_runs<kG>({kG.n + 1, tile * 6, 400, 1, false, false, true}, kSeeds);
  expect_runs<kG>({kG.n + 8, tile * 6, 400, 2, false, true, false, true}, kSeeds);
}

TEST(Sm90ClusterMachine, Quads) {
  expect_all_run<geometry::quad(64)>();
  expect_all_run<geometry::quad(72)>();
  expect_all_run<geometry::quad(88)>();
  expect_all_run<geometry::quad(136)>();
}
TEST(Sm90ClusterMachine, Pairs) {
  expect_all_run<geometry::pair(1, 1, 96, false)>();
  expect_all_run<geometry::pair(1, 2, 96, true)>();
}
/// Without a cluster: two instructions share the columns of a step.
TEST(Sm90ClusterMachine, TwoInstructionsOfAStep) {
  using T = Tile<DType::bf16, geometry::tile(3, 1, 208), false, false>;
  static_assert(T::kStepN == 104);
  const Case c{T::kN * 2 + 3, T::kX * 3 + 8, 640, 2, false, true};
  Launch<T> launch(c);
  EXPECT_EQ(launch.run(1), "");
  machine.parts = 1;  // as if the second one wrote the accumulators of the first
  EXPECT_TRUE(launch.run(1).starts_with("a column of the accumulators is stored as another"));
}

/// One tile, an even and an odd number of them, a K shorter than the ring and longer.
template <Geometry kG>
void expect_turns_run() {
  const std::int64_t tile = kG.x();
  expect_runs<kG>({kG.n - 5, tile - 8, 200, 1}, 3);
  expect_runs<kG>({kG.n * 2 + 3, tile * 3, 64 * 20, 1, true, false}, 3);
  expect_runs<kG>({kG.n * 3, tile * 3 + 16, 64 * 3, 2, true, true}, 3);
  expect_runs<kG>({kG.n * 5 + 1, tile, 64, 1, false, true}, 3);
}
TEST(Sm90ClusterMachine, TilesInTurn) {
  expect_turns_run<geometry::in_turn(96)>();
  expect_turns_run<geometry::in_turn(128)>();
  expect_turns_run<geometry::in_turn(192)>();
}

/// A group that does not wait for its turn takes a stage of the round before for its own.
TEST(Sm90ClusterMachine, AGroupOutOfTurnIsFound) {
  using T = Tile<DType::bf16, geometry::in_turn(128), false, false>;
  Launch<T> launch({128 * 3, 128 * 3, 64 * 9, 1});
  machine.no_turns = true;
  int found = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) found += launch.run(seed).empty() ? 0 : 1;
  machine.no_turns = false;
  EXPECT_GE(found, 8);
  EXPECT_EQ(launch.run(1), "");
}

/// A stage that is handed back by three CTAs of four, or by all and once more, is a fault that the
/// machine finds.
TEST(Sm90ClusterMachine, WrongCountsAreFound) {
  using T = Tile<DType::bf16, geometry::quad(88), false, false>;
  const Case c{180, 64 * 8, 64 * 30};
  for (const std::uint32_t wrong : {3U, 5U}) {
    Launch<T> launch(c);
    machine.count = [wrong](std::uint32_t n) { return n == 4 ? wrong : n; };
    int found = 0;
    for (unsigned seed = 1; seed <= 10; ++seed) found += launch.run(seed).empty() ? 0 : 1;
    machine.count = [](std::uint32_t n) { return n; };
    EXPECT_GE(found, 8) << wrong;
    EXPECT_EQ(launch.run(1), "");
  }
}

}  // namespace
}  // namespace detgemm::cuda::sm90
