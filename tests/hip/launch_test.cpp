// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/launch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "core/contract/cover.hpp"
#include "hip/choose.hpp"
#include "hip/parts.hpp"
#include "hip/raster.hpp"
#include "hip/reduction_walk.hpp"

namespace detgemm::hip {
namespace {

const LaunchOptions kOptions{Chip::gfx942, 304};

GemmArguments problem() {
  GemmArguments g;
  g.a = g.b = reinterpret_cast<const void*>(4096);
  g.d = reinterpret_cast<void*>(8192);
  g.m = 300;
  g.n = 200;
  g.k = 64;
  g.as = {64, 1};
  g.bs = {1, 64};
  g.ds = {200, 1};
  g.epilogue.alpha = 0.25F;
  return g;
}

TEST(HipLaunch, ArgumentsArePackedAsKernelsReadThem) {
  GemmArguments g = problem();
  g.reduction = {ReductionKind::tree, 8};
  LaunchOptions options = kOptions;
  options.forced = 1;
  ASSERT_EQ(kernels(Arithmetic::cdna3, ReductionKind::tree)[1].name, "128x128");
  auto* const workspace = reinterpret_cast<void*>(65536);
  const auto decision = decide(g, Arithmetic::cdna3, DType::fp16, options, 1 << 20);
  ASSERT_TRUE(decision);
  const auto launches = launches_of(*decision, g, options, workspace);
  ASSERT_EQ(launches.size(), 1U);
  const Launch& launch = launches[0];
  EXPECT_EQ(kernel_names(Chip::gfx942)[static_cast<std::size_t>(launch.kernel)],
            "mfma_fp16_128x128_leaves_k_k");
  EXPECT_EQ(launch.threads, 256U);
  EXPECT_EQ(launch.blocks, 6U);
  ASSERT_EQ(launch.bytes, sizeof(TileArguments));
  TileArguments packed;
  std::memcpy(&packed, launch.arguments, sizeof(packed));
  EXPECT_EQ(packed.g.d, g.d);
  EXPECT_EQ(packed.g.epilogue.alpha, 0.25F);
  EXPECT_EQ(packed.raster.tiles_m, 3);
  EXPECT_EQ(packed.raster.tiles_n, 2);
  EXPECT_EQ(packed.blocks, 6);
  EXPECT_EQ(packed.leaves, 8);
  EXPECT_EQ(packed.stack, workspace);
  EXPECT_EQ(packed.stack_stride, 2 * 128 * 128);  // 8 leaves: a stack of 4, 2 of them in registers
}

TEST(HipLaunch, FewRootsAreArgumentsManyAreCopied) {
  const GemmArguments g = problem();
  std::vector<Root> roots(4, Root{reinterpret_cast<const float*>(4096), {200, 1}, 0});
  auto launches = combine_launches(g, roots, kOptions, nullptr);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(kernel_names(Chip::gfx942)[static_cast<std::size_t>(launches[0].kernel)],
            "combine_roots");
  CombineArguments packed;
  ASSERT_EQ(launches[0].bytes, sizeof(packed));
  std::memcpy(&packed, launches[0].arguments, sizeof(packed));
  EXPECT_EQ(packed.count, 4);
  EXPECT_EQ(packed.table, nullptr);
  EXPECT_EQ(packed.threads, std::int64_t{launches[0].blocks} * launches[0].threads);

  roots.resize(64, roots[0]);
  auto* const workspace = reinterpret_cast<void*>(65536);
  launches = combine_launches(g, roots, kOptions, workspace);
  ASSERT_EQ(launches.size(), 3U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(launches[static_cast<std::size_t>(i)].kernel, place_index(Chip::gfx942));
    PlaceArguments place;
    std::memcpy(&place, launches[static_cast<std::size_t>(i)].arguments, sizeof(place));
    EXPECT_EQ(place.to, static_cast<Root*>(workspace) + i * kRootsByValue);
    EXPECT_EQ(place.count, kRootsByValue);
  }
}

TEST(HipKernels, NamesAreDistinctAndFoundAgain) {
  for (const Chip chip : chips()) {
    const auto& names = kernel_names(chip);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    for (const KernelKey& key : kernel_keys(chip)) {
      EXPECT_EQ(names[static_cast<std::size_t>(kernel_index(chip, key))], name(key));
    }
    EXPECT_EQ(names[static_cast<std::size_t>(combine_index(chip))], "combine_roots");
    EXPECT_EQ(chip_of(name(chip)), chip);
  }
  EXPECT_EQ(chip_of("gfx942:sramecc+:xnack-"), Chip::gfx942);
  EXPECT_EQ(chip_of("gfx90a"), Chip::gfx90a);
  EXPECT_EQ(chip_of("gfx950:sramecc+:xnack+"), Chip::gfx950);
  EXPECT_EQ(chip_of("gfx1201"), Chip::gfx1201);
  EXPECT_FALSE(chip_of("gfx908"));
  EXPECT_FALSE(chip_of("gfx9-4-generic"));
  EXPECT_FALSE(chip_of("gfx9421"));
  EXPECT_FALSE(chip_of(""));
}

/// The parts of K are nodes of the contract's tree, or leaves of a fold, and follow each other.
TEST(HipParts, AreNodesInOrder) {
  for (std::int64_t leaves = 2; leaves <= 100; ++leaves) {
    for (int parts = 2; parts <= 32 && parts <= leaves; parts *= 2) {
      std::int64_t at = 0;
      for (int p = 0; p < parts; ++p) {
        const Part part = part_of(ReductionKind::tree, leaves, parts, p);
        EXPECT_EQ(part.first, at);
        const LeafRange node{part.first, part.first + part.count};
        EXPECT_TRUE(is_node(node, leaves)) << leaves << " " << parts << " " << p;
        EXPECT_EQ(nodes_closed_by_part(p), nodes_closed_by(node, leaves));
        at += part.count;
      }
      EXPECT_EQ(at, leaves);
    }
    const Part leaf = part_of(ReductionKind::fold, leaves, static_cast<int>(leaves), 1);
    EXPECT_EQ(leaf.first, 1);
    EXPECT_EQ(leaf.count, 1);
  }
}

/// A spread K is two launches: the kernel with its parts, and the combine of their roots, which
/// under fold begins with C.
TEST(HipParts, AreJoinedByASecondLaunch) {
  GemmArguments g = problem();
  g.c = reinterpret_cast<const void*>(12288);
  g.cs = {200, 1};
  g.as.row = g.bs.col = g.k = 256;
  g.reduction = {ReductionKind::fold, 64};
  for (const bool continued : {false, true}) {
    g.continue_from_c = continued;
    LaunchOptions options = kOptions;
    for (const KernelInfo& kernel : kernels(Arithmetic::cdna3, ReductionKind::fold)) {
      ++options.forced;
      if (kernel.name == "stream64-parts") break;
    }
    auto* const workspace = reinterpret_cast<void*>(65536);
    const auto d = decide(g, Arithmetic::cdna3, DType::fp16, options, 1 << 20);
    ASSERT_TRUE(d) << d.status().message();
    EXPECT_EQ(name(*d), "gfx942/stream64-parts:4");
    EXPECT_EQ(d->blocks, 5 * 4 * 4);
    const auto launches = launches_of(*d, g, options, workspace);
    ASSERT_EQ(launches.size(), 2U);
    TileArguments tiles;
    std::memcpy(&tiles, launches[0].arguments, sizeof(tiles));
    EXPECT_EQ(tiles.parts, 4);
    EXPECT_EQ(tiles.roots, workspace) << "a fold has no stacks before its roots";
    CombineArguments combine;
    ASSERT_EQ(launches[1].bytes, sizeof(combine));
    std::memcpy(&combine, launches[1].arguments, sizeof(combine));
    const int first = continued ? 1 : 0;
    EXPECT_EQ(combine.count, 4 + first);
    EXPECT_EQ(combine.roots[0].data, continued ? g.c : tiles.roots);
    for (int p = 0; p < 4; ++p) {
      EXPECT_EQ(combine.roots[first + p].data, tiles.roots + p * 300 * 200);
      EXPECT_EQ(combine.roots[first + p].closes, first + p > 0 ? 1 : 0);
    }
    EXPECT_EQ(decide(g, Arithmetic::cdna3, DType::fp16, options, 100000).status().message(),
              "variant is \"stream64-parts\": it keeps a root of every part in the workspace, and "
              "these are more than 64 MiB or than the workspace holds; leave it empty for a kernel "
              "that takes these arrays");
    g.k = 64;
    EXPECT_EQ(decide(g, Arithmetic::cdna3, DType::fp16, options, 1 << 20).status().message(),
              "variant is \"stream64-parts\": it spreads K over workgroups, which needs 2 leaves "
              "or more, and under fold at most 31; this problem has 1; leave it empty for a kernel "
              "that takes these arrays");
    g.k = 256;
  }
}

TEST(HipKernels, OnlyTheTestedCompilerIsTheTestedCompiler) {
  EXPECT_TRUE(is_of("clang 19.1.7", "clang 19"));
  EXPECT_FALSE(is_of("AMD clang 19.0.0", "clang 19"));
  EXPECT_FALSE(is_of("clang 190.1", "clang 19"));
  EXPECT_FALSE(is_of("clang 18.1.8", "clang 19"));
  EXPECT_FALSE(is_of("clang 1", "clang 19"));
}

TEST(HipKernels, TheFp32MatrixCoresAreNotChosenByThemselves) {
  for (const Chip chip : chips()) {
    EXPECT_FALSE(may_be_chosen(Variant::fp32_128, chip)) << name(chip);
    EXPECT_TRUE(may_be_chosen(Variant::simt64, chip)) << name(chip);
    const KernelKey key{Variant::fp32_128, DType::fp32, true};
    EXPECT_EQ(kernel_index(chip, key) >= 0, has(chip, Variant::fp32_128)) << name(chip);
  }
}

/// Every tile exactly once, whatever the shape, stripes and dies.
TEST(HipRaster, IsOneToOne) {
  for (const int xcds : {1, 6, 8}) {
    for (const int group : {1, 3, 8}) {
      for (const auto& [m, n] : {std::pair{1, 1}, {5, 7}, {8, 8}, {33, 2}, {2, 33}}) {
        const Raster raster{m, n, group, xcds};
        std::set<std::pair<int, int>> seen;
        for (int i = 0; i < m * n; ++i) {
          const TilePlace place = tile_of(raster, i);
          EXPECT_TRUE(place.m >= 0 && place.m < m && place.n >= 0 && place.n < n);
          seen.insert({place.m, place.n});
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(m * n));
      }
    }
  }
}

/// The walk of the kernels: pieces in order that never cross a leaf. What the stack does with
/// leaves equals the contract's reduce_leaves.
TEST(HipWalk, PiecesCoverKInOrder) {
  for (const std::int64_t leaf : {0, 1, 8, 24, 32, 40, 512}) {
    for (const std::int64_t k : {0, 1, 7, 31, 32, 33, 64, 100, 520}) {
      GemmArguments g;
      g.k = k;
      g.reduction = leaf == 0 ? Reduction{} : Reduction{ReductionKind::fold, leaf};
      std::int64_t at = 0;
      std::int64_t leaves = 0;
      for (KWalk walk(g); walk.more(); walk.next(32)) {
        EXPECT_EQ(walk.k, at);
        const int length = walk.length(32);
        ASSERT_TRUE(length >= 1 && length <= 32);
        at += length;
        const std::int64_t own = leaf == 0 ? k : leaf;
        EXPECT_EQ((at - length) / own, (at - 1) / own) << "crosses a leaf";
        EXPECT_EQ(walk.ends_leaf(32), at == k || at % own == 0);
        leaves += walk.ends_leaf(32) ? 1 : 0;
      }
      EXPECT_EQ(at, k);
      EXPECT_EQ(leaves, k == 0 ? 0 : (leaf == 0 ? 1 : (k - 1) / leaf + 1));
    }
  }
}

TEST(HipWalk, TheStackAddsAsTheContractDoes) {
  for (const ReductionKind kind : {ReductionKind::fold, ReductionKind::tree}) {
    for (std::int64_t count = 1; count <= 70; ++count) {
      GemmArguments g;
      g.k = count;
      g.reduction = {kind, 1};
      const auto leaf = [](std::int64_t i) {  // sums of these round differently in every order
        return 1.0F + static_cast<float>(i * i % 13) * 0x1p-23F * static_cast<float>(1 + i % 5);
      };
      const float expected = reduce_leaves(
          g.reduction, count, 0.0F, [&](std::int64_t i, std::int64_t, float) { return leaf(i); });
      float top = 0.0F;
      std::vector<float> waiting;
      for (std::int64_t i = 0; i < count; ++i) {
        const LeafStep step = leaf_step(g, count, i);
        if (step.push) waiting.push_back(top);
        ASSERT_LE(static_cast<int>(waiting.size()), waiting_sums(g));
        top = step.first || step.push ? leaf(i) : top + leaf(i);
        for (int more = step.more; more > 0; --more) {
          top = waiting.back() + top;
          waiting.pop_back();
        }
      }
      EXPECT_TRUE(waiting.empty());
      EXPECT_EQ(top, expected) << count;
    }
  }
}

/// Copies lie one after the other, in whole lines; what is promised to be snapped stays in place.
TEST(HipSnapping, CopiesReplaceOperands) {
  GemmArguments g = problem();
  g.k = 100;
  g.as = {1, 300};  // along the rows
  g.reduction = {ReductionKind::tree, 64};
  auto* const workspace = reinterpret_cast<void*>(65536);
  const std::int64_t a_bytes = 300 * 128 * 2;
  EXPECT_EQ(copies_bytes({true, true}, 300, 200, 100), a_bytes + 200 * 128 * 2);
  EXPECT_EQ(copies_bytes({false, true}, 300, 200, 100), 200 * 128 * 2);
  EXPECT_EQ(copies_bytes({}, 300, 200, 100), 0);
  constexpr std::int64_t kHuge = std::int64_t{1} << 61;
  EXPECT_EQ(copies_bytes({true, true}, kHuge, 1, kHuge), SIZE_MAX);
  EXPECT_EQ(copies_bytes({true, false}, 1, 1, INT64_MAX), SIZE_MAX);
  EXPECT_EQ(copies_bytes({false, true}, 1, 1, INT64_MAX), SIZE_MAX);
  const GemmArguments copied = with_copies(g, {true, true}, workspace);
  EXPECT_EQ(copied.a, workspace);
  EXPECT_EQ(copied.b, static_cast<const std::byte*>(workspace) + a_bytes);
  EXPECT_EQ(copied.as.row, 128);
  EXPECT_EQ(copied.bs.col, 128);
  EXPECT_EQ(with_copies(g, {true, false}, workspace).b, g.b);

  const auto launches = copy_launches(g, {true, true}, workspace, kOptions);
  ASSERT_EQ(launches.size(), 2U);
  const auto& names = kernel_names(Chip::gfx942);
  EXPECT_EQ(names[static_cast<std::size_t>(launches[0].kernel)], "snap_along_rows");
  EXPECT_EQ(names[static_cast<std::size_t>(launches[1].kernel)], "snap_along_k");
  SnapArguments arguments;
  ASSERT_EQ(launches[0].bytes, sizeof(arguments));
  std::memcpy(&arguments, launches[0].arguments, sizeof(arguments));
  EXPECT_EQ(arguments.row_blocks, 5);
  EXPECT_EQ(arguments.units, 10);
  EXPECT_EQ(arguments.tries, 5);  // leaves of 64: 4^4 is 4 * 64
  EXPECT_EQ(arguments.from_chunks, 0);
  EXPECT_EQ(arguments.to_chunks, 1);
  EXPECT_TRUE(copy_launches(g, {}, workspace, kOptions).empty());
}

TEST(HipSnapping, EveryChipComputesIt) {
  const auto contract = *Contract::parse("snap/bf16/fold:128->fp32");
  for (const Chip chip : chips()) {
    EXPECT_TRUE(computes(chip, contract));
    LaunchOptions options = kOptions;
    options.chip = chip;
    GemmArguments g = problem();
    g.k = 512;
    g.reduction = contract.reduction;
    const GemmArguments copied = with_copies(g, {true, true}, nullptr);
    const auto decision = decide(copied, Arithmetic::snap, DType::bf16, options, SIZE_MAX);
    ASSERT_TRUE(decision) << name(chip) << ": " << decision.status().message();
    EXPECT_EQ(is_simt(decision->key.variant), !has_matrix_kernels(chip)) << name(*decision);
    EXPECT_LE(static_cast<std::size_t>(decision->workspace),
              fast_workspace_bytes(contract, g.m, g.n, g.k, options));
  }
}

}  // namespace
}  // namespace detgemm::hip
