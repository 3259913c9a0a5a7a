// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cuda/sm90/host/launch.hpp"
#include "cuda/sm90/leaves/shape.hpp"
#include "cuda/sm90/leaves/tile.hpp"
#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/problems.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::test {
namespace {

using namespace cuda;
using namespace cuda::sm90;

/// The contract's tree over leaves [begin, end), written out.
std::string tree(int begin, int end) {
  if (end - begin == 1) return std::to_string(begin);
  const int middle = begin + (end - begin) / 2;
  return "(" + tree(begin, middle) + "+" + tree(middle, end) + ")";
}

/// Every pair of C that a tile loads lies at a multiple of 8 bytes, also in a segment that begins
/// at an odd row.
TEST(Sm90Leaves, PairsOfCLieAtMultiplesOf8Bytes) {
  int pairs = 0;
  for (const std::uintptr_t address : {4096U, 4100U}) {
    for (const std::int64_t along_x : {100, 101}) {
      for (int y0 = 0; y0 < 20; ++y0) {
        for (const int y_rows : {64, 65}) {
          const auto* c = reinterpret_cast<const void*>(address);
          if (!c_lies_in_pairs(c, along_x, 1, y0, y_rows)) continue;
          ++pairs;
          for (int x = 0; x < 3; ++x) {
            for (int y = y0; y < y0 + 64; y += 2) {
              const int at = std::min(y, y_rows - 2);
              EXPECT_EQ((address + static_cast<std::uintptr_t>(x * along_x + at) * 4) % 8, 0U);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(pairs, 10);
  EXPECT_FALSE(c_lies_in_pairs(nullptr, 100, 2, 0, 64));
}

/// Parts joined as a full tree.
std::string joined(const LeafShape& s, int first, int count) {
  if (count == 1) {
    const auto r = part_of(s, first);
    return tree(r.begin, r.end);
  }
  return "(" + joined(s, first, count / 2) + "+" + joined(s, first + count / 2, count / 2) + ")";
}

TEST(Sm90Leaves, PartsJoinToTheContractsTree) {
  for (int leaves = 1; leaves <= 70; ++leaves) {
    for (const int parts : {1, 2, 4, 8}) {
      if (parts > leaves) continue;
      LeafShape s;
      s.leaves = leaves;
      s.tree = true;
      s.parts = parts;
      EXPECT_EQ(joined(s, 0, parts), tree(0, leaves)) << leaves << " leaves, " << parts;
    }
  }
}

TEST(Sm90Leaves, PartsOfAFoldAreItsLeaves) {
  LeafShape s;
  s.leaves = 4;
  s.parts = 4;
  for (int part = 0; part < 4; ++part) {
    EXPECT_EQ(part_of(s, part).begin, part);
    EXPECT_EQ(part_of(s, part).end, part + 1);
  }
  s.parts = 1;
  EXPECT_EQ(part_of(s, 0).end, 4);
}

TEST(Sm90Leaves, NoMoreSumsWaitThanAreCounted) {
  for (int leaves = 1; leaves <= 3000; ++leaves) {
    int held = 0;
    int most = 0;
    for (int leaf = 0; leaf < leaves; ++leaf) {
      held += 1 - nodes_closed_by(leaf, leaves);
      most = std::max(most, held);
    }
    EXPECT_EQ(held, 1);
    EXPECT_LE(most, waiting_sums(leaves) + 1) << leaves;
  }
}

/// Walks a part run by run and returns the sum as a text. `waited[i]` counts the sums that waited
/// at level i.
std::string run_by_run(sm90::LeafRange part, std::vector<int>& waited) {
  waited.assign(static_cast<std::size_t>(run_levels(part.end - part.begin)), 0);
  std::vector<std::string> levels(waited.size());
  for (int end = part.end;;) {
    const LeafRun run = run_before(part, end);
    EXPECT_LE(end - run.begin, kRunLeaves);
    EXPECT_GE(end - run.begin, std::min(4, part.end - part.begin));
    std::string sum = tree(run.begin, end);
    for (int join = 0; join < run.joins; ++join) {
      std::string& right = levels.at(static_cast<std::size_t>(join));
      EXPECT_FALSE(right.empty());
      sum = "(" + sum + "+" + std::exchange(right, "") + ")";
    }
    end = run.begin;
    if (run.level < 0 || end == part.begin) {
      EXPECT_TRUE(run.level < 0 && end == part.begin);
      for (const std::string& one : levels) EXPECT_TRUE(one.empty());
      return sum;
    }
    std::string& slot = levels.at(static_cast<std::size_t>(run.level));
    EXPECT_TRUE(slot.empty()) << "two sums wait at one level";
    slot = sum;
    ++waited[static_cast<std::size_t>(run.level)];
  }
}

TEST(Sm90Leaves, RunsFromRightToLeftMakeTheContractsTree) {
  std::vector<int> waited;
  for (int leaves = 1; leaves <= 700; ++leaves) {
    ASSERT_EQ(run_by_run({0, leaves}, waited), tree(0, leaves));
    ASSERT_EQ(run_by_run({13, 13 + leaves}, waited), tree(13, 13 + leaves));
    EXPECT_LE(run_levels(leaves), waiting_sums(leaves)) << "the workspace is made for these";
  }
}

/// By runs of at most four leaves from left to right it was 23 sums for 56 leaves and 29 for 50.
TEST(Sm90Leaves, FewSumsWaitAndMostOfThemAtTheLowestLevel) {
  std::vector<int> waited;
  run_by_run({0, 56}, waited);
  EXPECT_EQ(waited, (std::vector<int>{4, 2, 1}));
  run_by_run({0, 50}, waited);
  EXPECT_EQ(waited, (std::vector<int>{4, 2, 1}));
  run_by_run({0, 7}, waited);
  EXPECT_TRUE(waited.empty());
}

std::span<const KernelInfo> list() {
  return kernels_of_wgmma(*Contract::parse("hopper/bf16/tree:64->bf16"));
}

/// A random problem of fold or tree.
GemmArguments draw(Random& random) {
  Layout l;
  l.m = 1 + random.below(random.below(2) != 0 ? 80 : 3000);
  l.n = 8 * (1 + random.below(random.below(2) != 0 ? 40 : 1500));
  l.a_mn = random.below(4) == 0;
  l.b_mn = random.below(4) == 0;
  l.d_col = random.below(4) == 0;
  if (random.below(4) == 0) l.unit = 1 + random.below(8);
  l.output = random.below(3) == 0 ? DType::fp32 : DType::bf16;
  const std::int64_t leaf =
      random.below(5) == 0 ? 16 * (1 + random.below(40)) : 64 * (1 + random.below(20));
  l.k = 1 + random.below(leaf * (1 + random.below(40)));
  GemmArguments g = arguments(l);
  g.reduction = {random.below(2) != 0 ? ReductionKind::tree : ReductionKind::fold, leaf};
  g.epilogue.has_bias = random.below(4) == 0;
  g.continue_from_c = g.reduction.kind == ReductionKind::fold && random.below(3) == 0;
  g.cs = g.ds;
  return g;
}

/// [from, from + bytes) of the workspace, which begins at address `base`.
void expect_inside(const void* from, std::size_t bytes, std::uintptr_t base, std::size_t size) {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  EXPECT_GE(at, base);
  EXPECT_LE(at + bytes, base + size);
  EXPECT_EQ(at % 16, 0U);
}

TEST(Sm90Leaves, ALaunchIsWhatIsSaidAndStaysInItsWorkspace) {
  constexpr std::uintptr_t kBase = 1 << 20;
  Random random(3);
  std::set<std::string> ways;
  int in_rounds = 0;
  for (int i = 0; i < 6000; ++i) {
    const GemmArguments g = draw(random);
    LaunchOptions o;
    o.sms = random.below(4) == 0 ? 1 + static_cast<int>(random.below(40)) : 132;
    if (random.below(2) != 0) {
      o.forced = static_cast<int>(random.below(static_cast<std::int64_t>(kLeafKernels)));
    }
    Recorded& r = record();
    const Ran ran = run(g, DType::bf16, o, reinterpret_cast<void*>(kBase));
    const std::string said = ran.ok() ? cuda::name(ran.decision) : ran.refusal.message();
    SCOPED_TRACE(said + ", " + std::to_string(g.m) + " x " + std::to_string(g.n) + " x " +
                 std::to_string(g.k) + ", leaf " + std::to_string(g.reduction.leaf_k));
    const std::size_t size = leaf_workspace(g.reduction, g.m, g.n, g.k, o.sms);
    if (!ran.refusal.ok()) {
      EXPECT_GE(o.forced, 0);
      EXPECT_EQ(r.launches, 0);
      continue;
    }
    ASSERT_EQ(ran.error, cudaSuccess);
    ASSERT_EQ(r.launches, 1);
    if (o.forced >= 0) {
      const auto& forced = list()[static_cast<std::size_t>(o.forced)];
      EXPECT_EQ(said.find("sm90/" + forced.name + "/"), 0U);
    }
    if (r.kernel.path == Path::gather) {
      const auto ctas = static_cast<std::size_t>(r.grid);
      const auto levels = static_cast<std::size_t>(r.gather_leaves.levels);
      if (levels > 0) {
        expect_inside(r.gather_leaves.waiting, ctas * levels * kGatherSlotBytes, kBase, size);
      }
      continue;
    }
    if (!r.kernel.leaves) {  // one leaf, or none: the chain
      EXPECT_LE(cuda::sm90::leaves_of(g.reduction, g.k), 1);
      continue;
    }
    const LeafShape& s = r.leaf;
    const Geometry& t = kLeafGeometries.at(static_cast<std::size_t>(r.kernel.geometry));
    const auto grid = static_cast<std::size_t>(r.grid);
    const auto slot = static_cast<std::size_t>(slot_bytes(t));
    EXPECT_EQ(s.leaves, cuda::sm90::leaves_of(g.reduction, g.k));
    EXPECT_EQ(s.leaf_blocks * 64, g.reduction.leaf_k);
    EXPECT_EQ(s.leaf_blocks % t.depth, 0);
    EXPECT_EQ(s.from_c, g.continue_from_c);
    const std::size_t units = static_cast<std::size_t>(r.shape.raster.tiles() * s.parts);
    const bool rounds = s.split == Split::grid && units > grid;
    EXPECT_TRUE(rounds || grid % static_cast<std::size_t>(s.parts) == 0U);
    EXPECT_TRUE(!rounds || (o.forced >= 0 && r.grid == static_cast<unsigned>(o.sms)));
    in_rounds += rounds ? 1 : 0;
    EXPECT_LE(r.grid, static_cast<unsigned>(std::max(o.sms, 1)));
    EXPECT_TRUE(t.cluster == 1 || s.parts == 1) << "a pair shares an operand, not a tile";
    EXPECT_EQ(r.cluster, static_cast<unsigned>(s.split == Split::cluster ? s.parts : t.cluster));
    EXPECT_EQ(r.grid % r.cluster, 0U);
    const int waiting_in_workspace = s.levels - s.shared_levels;
    if (waiting_in_workspace > 0) {
      expect_inside(s.waiting, grid * static_cast<std::size_t>(s.levels) * slot, kBase, size);
    }
    if (s.split == Split::grid) {
      EXPECT_EQ(grid, std::min(units, static_cast<std::size_t>(o.sms)));
      expect_inside(s.slices, units * slot, kBase, size);
      if (waiting_in_workspace > 0) {
        EXPECT_EQ(static_cast<const char*>(s.waiting),
                  static_cast<const char*>(s.slices) + units * slot);
      }
      expect_inside(s.arrived, static_cast<std::size_t>(r.shape.raster.tiles()) * 8, kBase, size);
      EXPECT_TRUE(s.launch > 0 && s.launch < std::uint64_t{1} << 56);
      const char* words = reinterpret_cast<const char*>(s.arrived);
      EXPECT_TRUE(static_cast<const char*>(s.slices) >= words + r.shape.raster.tiles() * 8 ||
                  static_cast<const char*>(s.waiting) +
                          grid * static_cast<std::size_t>(s.levels) * slot <=
                      words);
    }
    ways.insert(said.substr(said.find("/leaves-")));
  }
  EXPECT_GE(ways.size(), 6U) << "three ways, both epilogues";
  EXPECT_GE(in_rounds, 5);
}

/// Contracts may declare leaves longer than memory. From C their only leaf is still added to C.
TEST(Sm90Leaves, NumbersThatDoNotFitAnIntAreNotCut) {
  Layout l{64, 64, 4096};
  l.output = DType::fp32;
  GemmArguments g = arguments(l);
  g.reduction = {ReductionKind::fold, std::int64_t{1} << 40};
  g.continue_from_c = true;
  g.cs = g.ds;
  g.c = g.d;
  LaunchOptions o;
  o.sms = 132;
  Recorded& r = record();
  ASSERT_TRUE(run(g, DType::bf16, o, reinterpret_cast<void*>(1 << 20)).ok());
  ASSERT_TRUE(r.kernel.leaves);
  EXPECT_EQ(r.leaf.leaves, 1);
  EXPECT_GE(r.leaf.leaf_blocks, r.shape.k_blocks);
  // 2^32 leaves: the levels of the tree on which sums wait.
  EXPECT_EQ(waiting_sums(std::int64_t{1} << 32), 31);
  GemmArguments many = arguments({1, 1, std::int64_t{1} << 36});
  many.reduction = {ReductionKind::tree, 16};
  Recorded& gathered = record();
  ASSERT_TRUE(run(many, DType::bf16, o, reinterpret_cast<void*>(1 << 20)).ok());
  EXPECT_EQ(gathered.kernel.path, Path::gather);
  EXPECT_EQ(gathered.gather_leaves.levels, 31);
}

TEST(Sm90Leaves, ARememberedChoiceKnowsWhetherItStartsFromC) {
  int differ = 0;
  for (const std::int64_t m : {4096, 8192, 28672}) {
    Layout l;
    l.m = m;
    l.n = 4096;
    l.k = 8192;
    l.a_mn = l.b_mn = true;
    l.output = DType::fp32;
    GemmArguments g = arguments(l);
    g.reduction = {ReductionKind::fold, 1024};
    g.c = g.d;
    g.cs = g.ds;
    LaunchOptions o;
    o.sms = 132;
    std::set<std::string> kernels;
    for (const bool from_c : {false, true, false, true}) {
      g.continue_from_c = from_c;
      Recorded& r = record();
      ASSERT_TRUE(run(g, DType::bf16, o, reinterpret_cast<void*>(1 << 20)).ok());
      EXPECT_EQ(r.kernel.geometry,
                choose(g, o.sms, -1).decision.kernel / static_cast<int>(kSharings.size()));
      const Geometry& t = kLeafGeometries.at(static_cast<std::size_t>(r.kernel.geometry));
      EXPECT_EQ(r.kernel.folds, !from_c || has_fold_from_c(t, true, true));
      EXPECT_EQ(r.kernel.from_c, from_c && r.kernel.folds);
      if (r.kernel.from_c) {  // the ring brings C ahead of the first leaf
        EXPECT_TRUE(r.shape.c.stages > 0 && !r.shape.c.copied);
        EXPECT_FALSE(r.leaf.c_by_tma);
      }
      kernels.insert(r.kernel.text());
    }
    differ += kernels.size() > 1;
  }
  EXPECT_GE(differ, 1) << "else nothing was shown";
}

/// A tree of two leaves runs in the kernel of folds, a longer one and one in parts do not. In wide
/// tiles a longer one has a kernel of its own.
TEST(Sm90Leaves, ATreeOfTwoLeavesRunsAsAFold) {
  const auto names = list();
  for (const char* kernel : {"64x128", "128x128", "128x192", "128x128-pair-x", "64x64-cluster2"}) {
    for (const std::int64_t leaves : {2, 3}) {
      Layout l{512, 512, 1024 * leaves - 64};
      GemmArguments g = arguments(l);
      g.reduction = {ReductionKind::tree, 1024};
      LaunchOptions o;
      o.sms = 132;
      const auto at = std::find_if(names.begin(), names.end(),
                                   [&](const KernelInfo& one) { return one.name == kernel; });
      o.forced = static_cast<int>(at - names.begin());
      Recorded& r = record();
      ASSERT_TRUE(run(g, DType::bf16, o, reinterpret_cast<void*>(1 << 20)).ok()) << kernel;
      const bool in_parts = std::string(kernel).ends_with("cluster2");
      EXPECT_EQ(r.kernel.folds, leaves == 2 && !in_parts) << kernel << ", " << leaves;
      const bool wide = std::string(kernel).starts_with("128x192");
      EXPECT_EQ(r.kernel.trees, leaves > 2 && wide) << kernel << ", " << leaves;
    }
  }
}

TEST(Sm90Leaves, CComesThroughTmaWhereItLiesLikeD) {
  struct Case {
    const char* what;
    const char* kernel;
    bool by_tma;
    void (*change)(Layout&, GemmArguments&);
  };
  constexpr auto nothing = [](Layout&, GemmArguments&) {};
  const Case cases[] = {
      {"like D", "128x128", true, nothing},
      {"in pairs", "128x128-pair-x", true, nothing},
      {"wide", "128x192", true, nothing},
      {"one group", "64x128", false, nothing},
      {"narrow", "128x64", false, nothing},
      {"16 bits, slabs of 64", "128x192", true,
       [](Layout&, GemmArguments& g) { g.output = DType::bf16; }},
      {"16 bits, slabs of 32", "128x96", false,
       [](Layout&, GemmArguments& g) { g.output = DType::bf16; }},
      {"32 bits, slabs of 32", "128x96", true, nothing},
      {"an odd address", "128x128", false,
       [](Layout&, GemmArguments& g) { g.c = reinterpret_cast<const void*>(4096 + 4); }},
      {"rows of 16 bytes", "128x128", true, [](Layout&, GemmArguments& g) { g.cs.row += 4; }},
      {"rows at odd places", "128x128", false, [](Layout&, GemmArguments& g) { g.cs.row += 2; }},
      {"rows that overlap", "128x128", false, [](Layout&, GemmArguments& g) { g.cs.row = 8; }},
      {"a last tile that begins at 16 bytes", "128x128", true,
       [](Layout&, GemmArguments& g) {
         g.c = reinterpret_cast<const void*>(std::uintptr_t{1} << 40);
         g.n = 1020;
       }},
      {"a last tile that begins elsewhere", "128x128", false,
       [](Layout&, GemmArguments& g) {
         g.c = reinterpret_cast<const void*>(std::uintptr_t{1} << 40);
         g.n = 1021;
       }},
      {"in place, where the last tile begins where the raster says", "128x128", true,
       [](Layout&, GemmArguments& g) { g.n = 1021; }},
      {"along m", "128x128", false,
       [](Layout&, GemmArguments& g) {
         g.cs = {1, 1024};
       }},
      {"another epilogue", "64x64", false,
       [](Layout&, GemmArguments& g) { g.epilogue.has_bias = true; }},
  };
  const auto names = list();
  for (const Case& c : cases) {
    Layout l;
    l.m = l.n = l.k = 1024;
    l.output = DType::fp32;
    GemmArguments g = arguments(l);
    g.reduction = {ReductionKind::fold, 256};
    g.continue_from_c = true;
    g.c = g.d;
    g.cs = g.ds;
    c.change(l, g);
    LaunchOptions o;
    o.sms = 132;
    const auto at = std::find_if(names.begin(), names.end(),
                                 [&](const KernelInfo& kernel) { return kernel.name == c.kernel; });
    o.forced = static_cast<int>(at - names.begin());
    Recorded& r = record();
    ASSERT_TRUE(run(g, DType::bf16, o, nullptr).ok()) << c.what;
    EXPECT_TRUE(r.leaf.from_c) << c.what;
    EXPECT_EQ(r.leaf.c_by_tma, c.by_tma) << c.what;
    g.continue_from_c = false;
    record();
    ASSERT_TRUE(run(g, DType::bf16, o, nullptr).ok()) << c.what;
    EXPECT_FALSE(r.leaf.c_by_tma) << c.what;
  }
}

TEST(Sm90Leaves, TheWorkspaceGrowsWithM) {
  for (const ReductionKind kind : {ReductionKind::fold, ReductionKind::tree}) {
    std::size_t last = 0;
    for (std::int64_t m = 0; m < 3000; m += 7) {
      const std::size_t now = leaf_workspace({kind, 512}, m, 4096, 8192, 132);
      EXPECT_GE(now, last);
      last = now;
    }
    EXPECT_EQ(leaf_workspace({kind, 512}, 64, 4096, 512, 132), 0U) << "one leaf needs none";
  }
}

TEST(Sm90Leaves, EveryLaunchHasANumberOfItsOwn) {
  Layout l;
  l.m = 16;
  l.n = 64;
  l.k = 4096;
  GemmArguments g = arguments(l);
  g.reduction = {ReductionKind::tree, 512};
  std::set<std::uint64_t> numbers;
  const auto names = list();
  LaunchOptions o;
  o.sms = 132;
  const auto at = std::find_if(names.begin(), names.end(), [](const KernelInfo& kernel) {
    return kernel.name.find("load16-depth4") != std::string::npos &&
           kernel.name.find("-grid8") != std::string::npos;
  });
  ASSERT_NE(at, names.end());
  o.forced = static_cast<int>(at - names.begin());
  for (int i = 0; i < 100; ++i) {
    Recorded& r = record();
    ASSERT_TRUE(run(g, DType::bf16, o, reinterpret_cast<void*>(4096)).ok());
    numbers.insert(r.leaf.launch);
  }
  EXPECT_EQ(numbers.size(), 100U);
}

}  // namespace
}  // namespace detgemm::test
