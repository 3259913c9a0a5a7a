// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "hip/choose.hpp"

#include <gtest/gtest.h>

#include "hip/reduction_walk.hpp"

namespace detgemm::hip {
namespace {

using gfx9::Major;

const LaunchOptions kMi300x{Chip::gfx942, 304};
constexpr std::size_t kPlenty = std::size_t{1} << 30;  // bytes of workspace

/// The options with the kernel of that name forced.
LaunchOptions forcing(std::string_view kernel, Arithmetic arithmetic = Arithmetic::cdna3,
                      ReductionKind reduction = ReductionKind::chain) {
  LaunchOptions options = kMi300x;
  for (const KernelInfo& info : kernels(arithmetic, reduction)) {
    ++options.forced;
    if (info.name == kernel) return options;
  }
  ADD_FAILURE() << "no kernel " << kernel;
  return options;
}

/// Packed arrays at an aligned address, A m x k and B n x k along k.
GemmArguments problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmArguments g;
  g.a = g.b = reinterpret_cast<const void*>(4096);
  g.m = m;
  g.n = n;
  g.k = k;
  g.as = {m > 1 ? k : 0, k > 1 ? 1 : 0};
  g.bs = {k > 1 ? 1 : 0, n > 1 ? k : 0};
  g.ds = {n, 1};
  return g;
}

std::string chosen(const GemmArguments& g, const LaunchOptions& options = kMi300x) {
  const auto decision = decide(g, Arithmetic::cdna3, DType::bf16, options, kPlenty);
  return decision ? name(*decision) : decision.status().message();
}

TEST(HipChoose, ShapesGetTheirKernels) {
  EXPECT_EQ(chosen(problem(16384, 16384, 4096)), "gfx942/256x256");
  EXPECT_EQ(chosen(problem(1, 4096, 4096)), "gfx942/stream");
  EXPECT_EQ(chosen(problem(16, 4096, 4096)), "gfx942/stream");
  EXPECT_EQ(chosen(problem(32, 8192, 8192)), "gfx942/stream32");
  EXPECT_EQ(chosen(problem(48, 28672, 8192)), "gfx942/stream48x128");
  EXPECT_EQ(chosen(problem(64, 28672, 8192)), "gfx942/stream64x128");
  EXPECT_EQ(chosen(problem(80, 28672, 8192)), "gfx942/stream80x128");
  EXPECT_EQ(chosen(problem(96, 28672, 8192)), "gfx942/stream96x128");
  EXPECT_EQ(chosen(problem(256, 8192, 8192)), "gfx942/stream64x128");
}

TEST(HipChoose, ForcedKernelsAreTaken) {
  for (const char* variant :
       {"256x256", "256x224", "256x192", "160x256", "256x128", "128x128", "64x64", "stream",
        "stream32", "stream64", "stream48x128", "stream64x128", "stream80x128", "stream96x128"}) {
    EXPECT_EQ(chosen(problem(100, 100, 64), forcing(variant)), std::string("gfx942/") + variant);
  }
  const auto portable = decide(problem(5, 5, 5), Arithmetic::ieee_fma, DType::fp32,
                               forcing("simt-64x64", Arithmetic::ieee_fma), kPlenty);
  ASSERT_TRUE(portable);
  EXPECT_EQ(name(*portable), "gfx942/simt-64x64");
}

TEST(HipChoose, OddArraysGetSlowLoadsOrARefusal) {
  GemmArguments g = problem(1000, 1000, 100);  // rows of 200 bytes
  EXPECT_EQ(chosen(g), "gfx942/stream64");     // whole packets of 8 bytes
  EXPECT_EQ(
      chosen(g, forcing("128x128")),
      "variant is \"128x128\": it reads A and B in aligned chunks of 16 bytes along K, or of 8 "
      "bytes along M or N, and one of them is not aligned so; leave it empty for a kernel that "
      "takes these arrays");
  EXPECT_EQ(chosen(g, forcing("stream")), "gfx942/stream");
  g.a = reinterpret_cast<const void*>(4098);
  EXPECT_EQ(chosen(g), "gfx942/64x64/any-strides");
  EXPECT_EQ(chosen(g, forcing("stream")), "gfx942/stream/any-strides");
}

/// What KernelInfo says of a kernel is what it does: those for any strides take the oddest arrays,
/// the others refuse them.
TEST(HipChoose, KernelsTakeWhatTheyAreListedFor) {
  GemmArguments g = problem(100, 100, 64);
  g.as = {65, 3};
  for (const ReductionKind reduction : {ReductionKind::chain, ReductionKind::fold}) {
    for (const Arithmetic arithmetic : {Arithmetic::cdna3, Arithmetic::ieee_fma}) {
      g.reduction = {reduction, reduction == ReductionKind::chain ? 0 : 16};
      LaunchOptions options = kMi300x;
      for (const KernelInfo& kernel : kernels(arithmetic, reduction)) {
        ++options.forced;
        EXPECT_EQ(bool{decide(g, arithmetic, DType::bf16, options, kPlenty)}, kernel.any_strides)
            << kernel.name;
      }
      EXPECT_GE(options.forced, 1);
      ++options.forced;
      EXPECT_FALSE(decide(g, arithmetic, DType::bf16, options, kPlenty))
          << "forced beyond the list";
    }
  }
}

TEST(HipChoose, WhatNoKernelDoesIsASentence) {
  const std::int64_t huge = std::int64_t{1} << 24;
  EXPECT_EQ(chosen(problem(huge, huge, 64)),
            "d has 65536 x 65536 tiles: this backend counts at most 2146435071");
  EXPECT_EQ(
      decide(problem(64, 64, 64), Arithmetic::cdna3, DType::bf16, {Chip::gfx1100, 40}, kPlenty)
          .status()
          .message(),
      "gfx1100 has no kernels for cdna3");
}

TEST(HipChoose, LeavesNeedAligned) {
  GemmArguments g = problem(256, 256, 512);
  const auto major = [&](ReductionKind kind, std::int64_t leaf) {
    g.reduction = {kind, leaf};
    return facts_of(g.a, g.m, g.as.row, g.as.col, g);
  };
  EXPECT_EQ(major(ReductionKind::chain, 0).tile, Major::k);
  EXPECT_EQ(major(ReductionKind::tree, 8).tile, Major::k);
  EXPECT_EQ(major(ReductionKind::tree, 12).tile, Major::any);
  EXPECT_TRUE(major(ReductionKind::tree, 12).streams);
  for (const KernelInfo& kernel : kernels(Arithmetic::cdna3, ReductionKind::fold)) {
    EXPECT_NE(kernel.name, "256x256") << "it has no registers for a second sum";
  }
}

/// Facts of an operand of 64 x 64 with one thing about it changed.
TEST(HipChoose, OperandFacts) {
  const GemmArguments g = problem(64, 64, 64);
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  const auto tile = [&](std::uintptr_t address, std::int64_t rows, std::int64_t row,
                        std::int64_t k) { return facts_of(at(address), rows, row, k, g).tile; };
  EXPECT_EQ(tile(4096, 64, 64, 1), Major::k);
  EXPECT_EQ(tile(4104, 64, 64, 1), Major::any);  // address not a multiple of 16
  EXPECT_EQ(tile(4096, 64, 68, 1), Major::any);  // rows not
  EXPECT_EQ(tile(4096, 64, (std::int64_t{1} << 22) + 8, 1), Major::any);  // offsets overflow
  EXPECT_EQ(tile(4096, 64, 1, 64), Major::mn);
  EXPECT_EQ(tile(4104, 64, 1, 64), Major::mn);
  EXPECT_EQ(tile(4100, 64, 1, 64), Major::any);
  EXPECT_EQ(tile(4096, 62, 1, 64), Major::any);  // the last quad is not whole
  EXPECT_EQ(tile(4096, 64, 1, 66), Major::any);
  EXPECT_EQ(tile(4096, 64, 1, (std::int64_t{1} << 24) + 4), Major::any);
}

TEST(HipChoose, WorkersLimitTheGrid) {
  LaunchOptions options = forcing("64x64");
  const auto blocks = [&](const GemmArguments& g) {
    return decide(g, Arithmetic::cdna3, DType::bf16, options, kPlenty)->blocks;
  };
  EXPECT_EQ(blocks(problem(640, 640, 64)), 100);
  options.max_units = 5;
  EXPECT_EQ(blocks(problem(640, 640, 64)), 15);
  options.max_units = 1000;
  EXPECT_EQ(blocks(problem(64, 64, 64)), 1);
}

/// Whatever is chosen for an m, its scratch lies within what was promised for any larger m.
TEST(HipChoose, WorkspaceCoversEveryChoice) {
  for (const Arithmetic arithmetic : {Arithmetic::cdna3, Arithmetic::ieee_fma}) {
    const Contract contract =
        *Contract::make(arithmetic, DType::bf16, {ReductionKind::tree, 16}, DType::bf16);
    for (const std::int64_t k : {16, 32, 48, 1000}) {
      std::size_t before = 0;
      for (std::int64_t m = 1; m < 2000; m = m * 3 / 2 + 1) {
        const std::size_t promised = workspace_bytes(contract, m, 300, k, kMi300x);
        EXPECT_GE(promised, before);
        before = promised;
        for (const bool odd : {false, true}) {
          GemmArguments g = problem(m, 300, k);
          g.reduction = contract.reduction;
          if (odd) g.a = reinterpret_cast<const void*>(4098);
          const auto least = decide(g, arithmetic, DType::bf16, kMi300x, promised);
          ASSERT_TRUE(least);
          EXPECT_LE(static_cast<std::size_t>(least->workspace), promised) << m << " " << k;
          const std::size_t fast = fast_workspace_bytes(contract, m, 300, k, kMi300x);
          const auto best = decide(g, arithmetic, DType::bf16, kMi300x, fast);
          ASSERT_TRUE(best);
          EXPECT_LE(static_cast<std::size_t>(best->workspace), fast) << m << " " << k;
          EXPECT_EQ(decide(g, arithmetic, DType::bf16, kMi300x, kPlenty)->parts, best->parts);
        }
      }
    }
    EXPECT_EQ(workspace_bytes(contract, 0, 300, 1000, kMi300x), 0U);
  }
}

}  // namespace
}  // namespace detgemm::hip
