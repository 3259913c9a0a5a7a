// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The host half of groups: which kernel takes them, with how many workgroups and how much scratch.

#include <gtest/gtest.h>

#include "hip/choose.hpp"
#include "hip/reduction_walk.hpp"

namespace detgemm::hip {
namespace {

using gfx9::Major;

const LaunchOptions kMi300x{Chip::gfx942, 304, 8};

/// Experts as vLLM and training lay them: tokens x k, weights n x k for each expert, everything
/// along k; for k_grouped tokens x m and tokens x n.
Problem experts(GroupKind kind, std::int64_t groups, std::int64_t rows, std::int64_t n,
                std::int64_t k, Reduction reduction = {},
                Arithmetic arithmetic = Arithmetic::cdna3) {
  GroupedArguments p;
  p.kind = kind;
  p.groups = groups;
  p.a_bytes = p.c_bytes = p.d_bytes = p.bias_bytes = 2;
  GemmArguments& g = p.all;
  g.a = g.b = reinterpret_cast<const void*>(4096);
  g.m = rows;
  g.n = n;
  g.k = k;
  g.reduction = reduction;
  g.as = {k, 1};
  g.bs = {1, k};
  g.ds = {n, 1};
  p.distance.b = n * k;
  if (kind == GroupKind::batched || kind == GroupKind::m_masked) p.distance.a = rows * k;
  if (kind == GroupKind::k_grouped) {
    p.distance = {};
    p.distance.d = rows * n;
    g.as = {1, rows};
    g.bs = {n, 1};
  }
  return {p, arithmetic, DType::bf16};
}

std::string chosen(const Problem& problem, const LaunchOptions& options = kMi300x) {
  const auto d = decide_groups(problem, options);
  return d ? name(*d) + " " + name(d->key) : d.status().message();
}

LaunchOptions forcing(std::string_view kernel) {
  LaunchOptions options = kMi300x;
  for (const KernelInfo& info : group_kernels(Arithmetic::cdna3, ReductionKind::chain)) {
    ++options.forced;
    if (info.name == kernel) return options;
  }
  ADD_FAILURE() << "no kernel " << kernel;
  return options;
}

TEST(HipGroups, LayoutsGetTheirKernels) {
  EXPECT_EQ(chosen(experts(GroupKind::m_grouped, 128, 8192, 2048, 1536)),
            "gfx942/stream64/grouped mfma_bf16_stream64_chain_k_k_groups");
  EXPECT_EQ(chosen(experts(GroupKind::m_grouped, 8, 16384, 2048, 1536)),
            "gfx942/128x128/grouped mfma_bf16_128x128_chain_k_k_groups");
  EXPECT_EQ(chosen(experts(GroupKind::k_grouped, 8, 2048, 1536, 16384)),
            "gfx942/128x128/grouped mfma_bf16_128x128_chain_mn_mn_groups");
  EXPECT_EQ(chosen(experts(GroupKind::m_grouped, 8, 16384, 2048, 1536, {ReductionKind::tree, 256})),
            "gfx942/128x128/grouped mfma_bf16_128x128_leaves_k_k_groups");
  EXPECT_EQ(chosen(experts(GroupKind::m_grouped, 8, 64, 64, 64, {}, Arithmetic::ieee_fma)),
            "gfx942/simt-64x64/grouped simt_bf16_64x64_chain_groups");
}

/// One thing about experts changed at a time, and what it makes of the kernels that need chunks.
TEST(HipGroups, WhatSegmentsAndDistancesForbid) {
  const auto takes = [](const Problem& p, std::string_view kernel) {
    return bool{decide_groups(p, forcing(kernel))};
  };
  const auto check = [&](const char* what, const Problem& p, bool tile, bool stream) {
    EXPECT_EQ(takes(p, "128x128"), tile) << what;
    EXPECT_EQ(takes(p, "stream32"), stream) << what;
    EXPECT_TRUE(takes(p, "64x64")) << what;
  };
  check("rows", experts(GroupKind::m_grouped, 4, 64, 64, 64), true, true);
  check("masked", experts(GroupKind::m_masked, 4, 64, 64, 64), true, true);
  check("batched", experts(GroupKind::batched, 4, 64, 64, 64), true, true);
  check("products", experts(GroupKind::k_grouped, 4, 64, 64, 64), true, false);
  Problem p = experts(GroupKind::m_grouped, 4, 64, 64, 64);
  p.gemms.distance.b += 4;
  check("8 bytes between weights", p, false, true);
  p.gemms.distance.b += 1;
  check("2 bytes between weights", p, false, false);
  p = experts(GroupKind::batched, 4, 64, 64, 64);
  p.gemms.distance.a += 4;
  check("8 bytes between batches of A", p, false, true);
  p = experts(GroupKind::m_grouped, 4, 64, 64, 64);
  p.gemms.all.as = {1, 64};
  check("segments along the neighbours of A", p, false, false);
  p.gemms.kind = GroupKind::batched;
  p.gemms.distance.a = 64 * 64;
  check("no segments along them, B along k", p, false, false);
  p.gemms.all.bs = {64, 1};
  check("no segments along them, B along N", p, true, false);
  p.gemms.kind = GroupKind::m_masked;
  check("counted rows along them", p, false, false);
  p = experts(GroupKind::k_grouped, 4, 64, 64, 64);
  p.gemms.all.as = {64, 1};
  check("segments along k", p, false, false);
  EXPECT_EQ(
      chosen(p, forcing("128x128")),
      "variant is \"128x128\": it reads A and B of every group in aligned chunks, of 8 bytes "
      "(streams) or 16 along K, or of 8 along N or along both M and N, and one of them is not "
      "aligned so; "
      "leave it empty for a kernel that takes these arrays");
}

/// One launch, whatever the number of groups, of no more workgroups than there are places.
TEST(HipGroups, OneLaunchHasAllGroups) {
  const auto d = decide_groups(experts(GroupKind::m_grouped, 128, 8192, 2048, 1536), kMi300x);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->blocks, 304 * 2);
  const auto few = decide_groups(experts(GroupKind::m_grouped, 3, 5, 64, 64), kMi300x);
  ASSERT_TRUE(few);
  EXPECT_EQ(few->blocks, 3) << "each group may have a tile";
  const GroupedArguments groups = experts(GroupKind::m_grouped, 3, 5, 64, 64).gemms;
  const Launch launch = group_launch(*few, groups, nullptr);
  GroupTileArguments packed;
  ASSERT_EQ(launch.bytes, sizeof packed);
  std::memcpy(&packed, launch.arguments, sizeof packed);
  EXPECT_EQ(packed.groups.groups, 3);
  EXPECT_EQ(packed.tile.raster.tiles_n, 1);
  EXPECT_EQ(packed.tile.parts, 1);
}

/// By the model, one launch of 128 experts beats 128 launches.
TEST(HipGroups, ALaunchForAllIsShorterThanOneForEach) {
  const Problem all = experts(GroupKind::m_grouped, 128, 4096, 2048, 1536);
  GemmArguments one = all.g();
  one.m = 32;
  const Candidate stream{Variant::stream32, {}, 1};
  const double grouped = cost_of(stream, one, kMi300x, 128).total;
  const double each = cost_of(stream, one, kMi300x).total;
  EXPECT_LT(grouped, 128 * each / 3);
  EXPECT_GE(grouped, each);
}

TEST(HipGroups, WorkspaceCoversEveryChoice) {
  for (const GroupKind kind : {GroupKind::batched, GroupKind::m_grouped, GroupKind::k_grouped}) {
    GroupedSpec spec;
    spec.kind = kind;
    spec.groups = 5;
    spec.gemm.contract =
        *Contract::make(Arithmetic::cdna3, DType::bf16, {ReductionKind::tree, 16}, DType::bf16);
    spec.gemm.n = 300;
    const bool by_k = kind == GroupKind::k_grouped;
    std::size_t before = 0;
    for (std::int64_t size = 1; size < 3000; size = size * 3 / 2 + 1) {
      spec.gemm.k = by_k ? 0 : size;
      const Problem p = experts(kind, 5, 100, 300, size, spec.gemm.contract.reduction);
      const auto d = decide_groups(p, kMi300x);
      ASSERT_TRUE(d);
      const std::size_t promised = group_workspace_bytes(spec, 100, by_k ? size : 0, kMi300x);
      EXPECT_GE(promised, before);
      before = promised;
      EXPECT_LE(static_cast<std::size_t>(d->workspace), promised) << size;
    }
  }
}

TEST(HipGroups, SnapNeedsTwoPromisesAndSnap3HasNone) {
  GroupedSpec spec;
  spec.gemm.contract = *Contract::parse("snap/bf16/fold:64->fp32");
  EXPECT_FALSE(computes_groups(Chip::gfx942, spec));
  spec.gemm.a_snapped = spec.gemm.b_snapped = true;
  EXPECT_TRUE(computes_groups(Chip::gfx942, spec));
  EXPECT_TRUE(computes_groups(Chip::gfx1100, spec));
  spec.gemm.contract = *Contract::parse("snap3/bf16/fold:64->fp32");
  EXPECT_FALSE(computes_groups(Chip::gfx942, spec));
  spec.gemm.contract = *Contract::parse("cdna3/bf16/chain->fp32");
  EXPECT_TRUE(computes_groups(Chip::gfx942, spec));
  EXPECT_FALSE(computes_groups(Chip::gfx1100, spec));
}

}  // namespace
}  // namespace detgemm::hip
