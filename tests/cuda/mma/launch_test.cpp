// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The family in the launch pipeline, on the fake runtime: for which problems it is decided, what is
// launched, which memory it is given.

#include <gtest/gtest.h>

#include "cuda/mma/choose.hpp"
#include "tests/cuda/sm90/fakes.hpp"

namespace detgemm::test {
namespace {

using cuda::Family;
using cuda::LaunchOptions;

Problem problem(Arithmetic arithmetic, ReductionKind kind = ReductionKind::chain,
                DType input = DType::bf16) {
  GemmArguments g;
  g.m = 64;
  g.n = 256;
  g.k = 512;
  g.as = {512, 1};
  g.bs = {1, 512};
  g.ds = {256, 1};
  g.output = DType::bf16;
  if (kind != ReductionKind::chain) g.reduction = {kind, 64};
  return {g, arithmetic, input};
}

LaunchOptions options(bool wgmma) {
  LaunchOptions o;
  o.sms = 108;
  o.wgmma = wgmma;
  return o;
}

TEST(MmaLaunch, WithoutWgmmaHopperIsComputedByMma) {
  for (const ReductionKind kind :
       {ReductionKind::chain, ReductionKind::fold, ReductionKind::tree}) {
    for (const bool wgmma : {true, false}) {
      const Problem p = problem(Arithmetic::hopper, kind);
      const Ran ran = run(p, options(wgmma));
      ASSERT_TRUE(ran.ok()) << ran.refusal.message();
      EXPECT_EQ(ran.decision.family == Family::mma, !wgmma);
      const std::string name = cuda::name(ran.decision);
      EXPECT_EQ(name.find(wgmma ? "sm90/" : "mma/"), 0U) << name;
    }
  }
}

TEST(MmaLaunch, AmpereAndBlackwellAreComputedByMmaAlone) {
  for (const Arithmetic arithmetic : {Arithmetic::ampere, Arithmetic::blackwell}) {
    for (const DType input : {DType::bf16, DType::fp16, DType::tf32}) {
      for (const ReductionKind kind :
           {ReductionKind::chain, ReductionKind::fold, ReductionKind::tree}) {
        Recorded& r = record();
        const Ran ran = run(problem(arithmetic, kind, input), options(false));
        ASSERT_TRUE(ran.ok()) << ran.refusal.message();
        EXPECT_EQ(r.launches, 1);
        EXPECT_TRUE(r.kernel.mma);
        EXPECT_EQ(r.kernel.input, input);
        EXPECT_EQ(r.kernel.leaves, kind != ReductionKind::chain);
        EXPECT_FALSE(r.overlap) << "8.x has no programmatic dependent launch";
        EXPECT_GE(r.grid, 1U);
        const cuda::mma::Tile& t = cuda::mma::kTiles[static_cast<std::size_t>(r.kernel.geometry)];
        EXPECT_EQ(r.shared_bytes, static_cast<std::size_t>(t.ring_bytes()));
        EXPECT_EQ(r.mma.leaves, kind == ReductionKind::chain ? 1 : 8);
      }
    }
  }
}

/// wgmma of tf32 is not compiled, so mma.sync computes it on 9.0 too, in groups as well.
TEST(MmaLaunch, Tf32IsComputedByMmaEverywhere) {
  for (const bool wgmma : {true, false}) {
    Recorded& r = record();
    const Problem p = problem(Arithmetic::hopper, ReductionKind::chain, DType::tf32);
    const Ran ran = run(p, options(wgmma));
    ASSERT_TRUE(ran.ok()) << ran.refusal.message();
    EXPECT_EQ(ran.decision.family, Family::mma);
    EXPECT_EQ(r.kernel.input, DType::tf32);
    EXPECT_EQ(r.mma.k, 2 * p.g().k) << "in units of 2 bytes";
    EXPECT_EQ(r.mma.a.line_stride, 1024);
    EXPECT_EQ(r.mma.a.way, cuda::mma::Way::along);
    const cuda::mma::Tile& t = cuda::mma::kTiles[static_cast<std::size_t>(r.kernel.geometry)];
    const int each = static_cast<int>(r.grid + 107) / 108;
    const int room = r.overlap ? cuda::mma::shared_for(t, each) : t.ring_bytes();
    EXPECT_EQ(r.overlap, wgmma);
    EXPECT_EQ(r.shared_bytes, static_cast<std::size_t>(room)) << "as many CTAs per processor";
    EXPECT_EQ(cuda::set_of(Arithmetic::hopper, DType::tf32, true, wgmma),
              cuda::KernelSet::groups_of_mma);
  }
}

/// By its name, on 9.0 too; nothing else is launched in its place.
TEST(MmaLaunch, EveryTileCanBeForced) {
  for (const Arithmetic arithmetic :
       {Arithmetic::hopper, Arithmetic::ampere, Arithmetic::blackwell}) {
    for (const ReductionKind kind : {ReductionKind::chain, ReductionKind::tree}) {
      const Problem p = problem(arithmetic, kind);
      for (int tile = 0; tile < cuda::mma::kTileCount; ++tile) {
        const cuda::mma::Tile& t = cuda::mma::kTiles[static_cast<std::size_t>(tile)];
        LaunchOptions o = options(arithmetic == Arithmetic::hopper);
        o.forced = forced_index(p, cuda::mma::name(t));
        ASSERT_EQ(o.forced, forced_index(p, Family::mma, tile));
        Recorded& r = record();
        std::vector<char> workspace(
            cuda::workspace_bytes(p.contract(), p.g().m, p.g().n, p.g().k, o));
        const Ran ran = run(p, o, workspace.data());
        if (kind == ReductionKind::tree && !t.leaves) {
          EXPECT_EQ(ran.refusal.message().find("variant is \"" + cuda::mma::name(t) +
                                               "\": it computes chains only"),
                    0U);
          EXPECT_EQ(r.launches, 0);
          continue;
        }
        ASSERT_TRUE(ran.ok()) << ran.refusal.message();
        EXPECT_EQ(cuda::name(ran.decision).find(cuda::mma::name(t)), 0U);
        EXPECT_EQ(r.kernel.geometry, tile);
        EXPECT_EQ(r.overlap, o.wgmma) << "programmatic dependent launch, on 9.0 alone";
        const std::size_t waiting = static_cast<std::size_t>(r.mma.levels) * r.grid *
                                    static_cast<std::size_t>(t.waiting_bytes());
        EXPECT_LE(waiting, workspace.size());
        EXPECT_EQ(waiting > 0, kind == ReductionKind::tree);
      }
    }
  }
}

TEST(MmaLaunch, AKernelOfWgmmaIsRefusedWithoutWgmma) {
  const Problem p = problem(Arithmetic::hopper);
  LaunchOptions o = options(false);
  o.forced = forced_index(p, Family::chain, 0);
  const Status status = cuda::decide(p, o).status();
  EXPECT_EQ(status.code(), Errc::unsupported);
  EXPECT_NE(status.message().find("it needs tensor cores of compute capability 9.0"),
            std::string::npos)
      << status.message();
  GemmSpec spec;
  spec.n = 256;
  spec.k = 512;
  spec.contract = p.contract();
  for (const Op op : {Op::none, Op::transpose}) {
    spec.op_b = op;  // either takes arrays that run along k
    for (const cuda::KernelInfo& kernel : cuda::kernels(spec.contract)) {
      const bool of_mma = kernel.family == Family::mma;
      EXPECT_TRUE(!of_mma || cuda::takes(kernel, spec, true)) << kernel.name;
      EXPECT_EQ(cuda::takes(kernel, spec, false), of_mma) << kernel.name;
    }
  }
}

/// A launch per group of a batch; kinds with offsets are one launch of ordinary loads.
TEST(MmaLaunch, BatchesAreLoopsAndOtherGroupsAreOneLaunch) {
  for (const Arithmetic arithmetic : {Arithmetic::ampere, Arithmetic::hopper}) {
    GroupedArguments p;
    p.all = problem(arithmetic).g();
    p.groups = 3;
    p.a_bytes = p.d_bytes = 2;
    p.distance = {64 * 512, 256 * 512, 64 * 256};
    for (const GroupKind kind :
         {GroupKind::batched, GroupKind::m_grouped, GroupKind::m_masked, GroupKind::k_grouped}) {
      p.kind = kind;
      Recorded& r = record();
      const Ran ran = run(Problem{p, arithmetic, DType::bf16}, options(false));
      ASSERT_TRUE(ran.ok()) << ran.refusal.message();
      const bool loop = kind == GroupKind::batched;
      EXPECT_EQ(r.launches, loop ? 3 : 1);
      EXPECT_FALSE(r.overlap);
      EXPECT_EQ(cuda::name(ran.decision).find(loop ? "loop of 3: mma/" : "sm90/gather"), 0U);
    }
  }
}

TEST(MmaLaunch, WorkspaceOfAForcedKernelIsItsOwn) {
  const Problem p = problem(Arithmetic::hopper, ReductionKind::tree);
  LaunchOptions o = options(true);
  const auto bytes = [&] { return cuda::workspace_bytes(p.contract(), 64, 256, 512, o); };
  const std::size_t by_wgmma = bytes();
  o.forced = forced_index(p, Family::mma, 1);
  EXPECT_EQ(bytes(), cuda::mma::workspace_bytes(p.g().reduction, 64, 256, 512, 108));
  o.forced = forced_index(p, Family::leaves, 0);
  EXPECT_EQ(bytes(), by_wgmma);
}

}  // namespace
}  // namespace detgemm::test
