// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/packing.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cuda/sm90/host/launch.hpp"
#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/problems.hpp"
#include "tests/support/random_bits.hpp"

// When operands are copied into the workspace, where the copies lie, and what is launched on them.

namespace detgemm::test {
namespace {

using namespace cuda;
using namespace cuda::sm90;

constexpr auto kBf16 = DType::bf16;
constexpr std::uintptr_t kBase = std::uintptr_t{1} << 40;

/// A problem whose operands often lie at odd addresses.
GemmArguments draw(Random& random) {
  Layout l;
  l.m = 1 + random.below(random.below(2) != 0 ? 100 : 3000);
  l.n = 1 + random.below(random.below(2) != 0 ? 100 : 5000);
  l.a_mn = random.below(3) == 0;
  l.b_mn = random.below(3) == 0;
  l.d_col = random.below(4) == 0;
  l.unit = random.below(4) == 0 ? 8 : 1 + random.below(8);
  l.k = random.below(4000);
  if (random.below(8) == 0) l.k = random.below(9);
  GemmArguments g = arguments(l);
  if (random.below(4) == 0) g.a = reinterpret_cast<const void*>(l.address + 2);
  if (random.below(4) == 0) g.b = reinterpret_cast<const void*>(l.address + 6);
  if (random.below(3) != 0) {
    g.reduction = {random.below(2) != 0 ? ReductionKind::tree : ReductionKind::fold,
                   16 * (1 + random.below(random.below(2) != 0 ? 8 : 60))};
  }
  g.epilogue.has_bias = random.below(4) == 0;
  g.continue_from_c = g.reduction.kind != ReductionKind::tree && random.below(4) == 0;
  g.cs = g.ds;
  return g;
}

LaunchOptions options(std::size_t workspace_bytes = 0, int forced = -1) {
  LaunchOptions o;
  o.sms = 132;
  o.forced = forced;
  o.workspace_bytes = workspace_bytes;
  return o;
}

std::size_t needed(const GemmArguments& g, int sms = 132) {
  return leaf_workspace(g.reduction, g.m, g.n, g.k, sms);
}
std::size_t fast(const GemmArguments& g, const LaunchOptions& o = options()) {
  return fast_workspace_bytes({g, Arithmetic::hopper, kBf16}, o);
}

Ran run_with(const GemmArguments& g, const LaunchOptions& o) {
  return run(g, kBf16, o, reinterpret_cast<void*>(kBase));
}

/// One operand: A, or B where `rows` is N.
void expect_copy(const PackOperand& o, const void* from, std::int64_t rows, std::int64_t k,
                 std::int64_t ld, bool mn, const Recorded& r, bool is_x, std::size_t begin,
                 std::size_t end) {
  EXPECT_EQ(o.from, from);
  EXPECT_EQ(o.lines, mn ? k : rows);
  EXPECT_EQ(o.length, mn ? rows : k);
  EXPECT_EQ(o.along_k, !mn);
  if (o.lines > 1) EXPECT_EQ(o.ld, ld);
  EXPECT_EQ(o.pitch % 64, 0);
  EXPECT_EQ(o.chunks * 8, o.pitch);
  EXPECT_EQ(o.room % 64, 0);
  EXPECT_GE(o.room, o.leaf);
  const auto at = reinterpret_cast<std::uintptr_t>(o.to);
  EXPECT_EQ(at % 256, 0U);
  EXPECT_GE(at, kBase + begin);
  EXPECT_LE(at + static_cast<std::size_t>(o.copies * o.pitch) * 2, kBase + end);
  const TensorShape& map = r.maps.at(is_x ? 0 : 1);
  EXPECT_EQ(map.data, o.to) << "the kernel reads the copy";
  if (o.lines > 1) EXPECT_EQ(map.stride[0], static_cast<std::uint64_t>(o.pitch) * 2);
  EXPECT_FALSE(is_x ? r.shape.x_stable : r.shape.y_stable) << "the copy is not stable";
}

TEST(Sm90Packing, LaunchesOnCopiesAreThoseOfAlignedOperands) {
  Random random(20261122);
  int copied = 0, both = 0, padded = 0, as_they_lie = 0, short_of_one_byte = 0;
  for (int i = 0; i < 6000; ++i) {
    const GemmArguments g = draw(random);
    LaunchOptions o = options();
    if (random.below(4) == 0) o.sms = 1 + static_cast<int>(random.below(40));
    o.a_is_stable = random.below(2) != 0;
    o.b_is_stable = !o.a_is_stable;
    o.workspace_bytes = fast(g, o);
    SCOPED_TRACE(std::to_string(g.m) + " x " + std::to_string(g.n) + " x " + std::to_string(g.k) +
                 ", leaf " + std::to_string(g.reduction.leaf_k));
    Recorded& r = record();
    Ran ran = run_with(g, o);
    ASSERT_TRUE(ran.ok());
    const Decision d = ran.decision;
    ASSERT_EQ(r.launches, 1);
    ASSERT_EQ(r.packs, packs_a(d) || packs_b(d) ? 1 : 0);
    const std::string said = cuda::name(d);
    EXPECT_EQ(said.find("/pack") != std::string::npos, r.packs == 1) << said;
    if (r.packs == 0) {
      ++as_they_lie;
      EXPECT_EQ(o.workspace_bytes, needed(g, o.sms));
      EXPECT_EQ(d.steps.find(Step::pack), nullptr);
      continue;
    }
    ++copied;
    const std::size_t begin = aligned_workspace(needed(g, o.sms));
    EXPECT_EQ(o.workspace_bytes, begin + d.steps.find(Step::pack)->bytes);
    const Sides p = make_sides(g, false, false, false);
    const PackOperand& a = r.pack.operand[0];
    const PackOperand& b = r.pack.operand[1];
    EXPECT_EQ(a.copies > 0, packs_a(d));
    EXPECT_EQ(b.copies > 0, packs_b(d));
    if (packs_a(d)) {
      const std::int64_t ld = p.x.mn_major ? g.as.col : g.as.row;
      expect_copy(a, g.a, g.m, g.k, ld, p.x.mn_major, r, !d.swapped, begin, o.workspace_bytes);
    }
    if (packs_b(d)) {
      const std::int64_t ld = p.y.mn_major ? g.bs.row : g.bs.col;
      expect_copy(b, g.b, g.n, g.k, ld, p.y.mn_major, r, d.swapped, begin, o.workspace_bytes);
    }
    if (packs_a(d) && packs_b(d)) {
      ++both;
      EXPECT_LE(static_cast<const char*>(a.to) + a.copies * a.pitch * 2, b.to);
      EXPECT_EQ(r.arguments.k % 64, 0);
    } else {
      EXPECT_EQ(r.arguments.k, g.k);
      // What is not copied is read as it lies, and stays as stable as it was.
      const bool x_copied = packs_a(d) != d.swapped;
      EXPECT_EQ(r.maps.at(x_copied ? 1 : 0).data, packs_a(d) ? g.b : g.a);
      EXPECT_EQ(x_copied ? r.shape.y_stable : r.shape.x_stable,
                packs_a(d) ? o.b_is_stable : o.a_is_stable);
    }
    EXPECT_EQ(r.shape.k_blocks, ceil_div(r.arguments.k, std::int64_t{64}));
    EXPECT_EQ(r.arguments.d, g.d);
    if (r.kernel.leaves) {
      EXPECT_EQ(r.leaf.leaves, cuda::sm90::leaves_of(g.reduction, g.k));
      EXPECT_EQ(r.leaf.leaf_blocks * 64, r.arguments.reduction.leaf_k);
      if (g.reduction.leaf_k % 64 != 0) {
        ++padded;
        ASSERT_TRUE(packs_a(d) && packs_b(d));
        EXPECT_EQ(cuda::sm90::leaves_of(r.arguments.reduction, r.arguments.k), r.leaf.leaves);
      }
    }
    // With a byte less everything is read as it lies.
    --o.workspace_bytes;
    Recorded& less = record();
    ran = run_with(g, o);
    ASSERT_TRUE(ran.ok());
    EXPECT_EQ(less.packs, 0);
    EXPECT_EQ(less.launches, 1);
    ++short_of_one_byte;
  }
  EXPECT_GE(copied, 1000);
  EXPECT_GE(both, 500);
  EXPECT_GE(padded, 300);
  EXPECT_GE(as_they_lie, 500);
  EXPECT_EQ(short_of_one_byte, copied);
}

TEST(Sm90Packing, TheBoundHoldsForAllArraysAndGrows) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const GemmArguments g = draw(random);
    Contract contract = *Contract::make(Arithmetic::hopper, kBf16, g.reduction, DType::bf16);
    const auto bound = [&](std::int64_t max_m) {
      return fast_workspace_bound(contract, max_m, g.n, g.k, options());
    };
    EXPECT_GE(bound(g.m), fast(g));
    EXPECT_GE(bound(g.m + 1 + random.below(5000)), bound(g.m));
    EXPECT_GE(bound(g.m), needed(g));
  }
  const Contract chain = *Contract::parse("hopper/bf16/chain->bf16");
  EXPECT_EQ(fast_workspace_bound(chain, 0, 64, 64, options()), 0U);
  EXPECT_EQ(fast_workspace_bound(chain, 64, 64, 0, options()), 0U);
  EXPECT_EQ(fast_workspace_bound(chain, 100, 4095, 4095, options()), (128U + 4096U) * 4096U * 2U);
  // No number overflows, whatever M, N and K are.
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(fast_workspace_bound(chain, kMax, kMax, kMax, options()), 0U);
  EXPECT_LT(fast_workspace_bound(chain, kMax, (1 << 30) - 1, (1 << 30) - 64, options()),
            std::size_t{1} << 63);
  const Contract fma = *Contract::parse("ieee_fma/bf16/chain->bf16");
  EXPECT_EQ(fast_workspace_bound(fma, 100, 4095, 4095, options()), 0U) << "it takes any address";
}

TEST(Sm90Packing, LeavesArePaddedOneByOne) {
  PackedShape s = packed_shape(true, true, false, true, 10, 20, 100, 48);
  EXPECT_EQ(s.leaf, 48);
  EXPECT_EQ(s.room, 64);
  EXPECT_EQ(s.leaf_k, 64);
  EXPECT_EQ(s.k, 64 + 64 + 64);  // leaves of 48, 48 and 4
  EXPECT_EQ(s.a_copies, 10);
  EXPECT_EQ(s.a_pitch, 192);
  EXPECT_EQ(s.b_copies, 192);
  EXPECT_EQ(s.b_pitch, 64);
  // A single leaf is as long as k, however long it might be.
  s = packed_shape(true, true, false, false, 10, 20, 100, 16 * 12345678901);
  EXPECT_EQ(s.k, 128);
  EXPECT_EQ(s.leaf_k, 128);
  // Leaves of whole blocks stay, and so does k where only one operand is copied.
  s = packed_shape(true, false, false, false, 10, 20, 100, 64);
  EXPECT_EQ(s.k, 100);
  EXPECT_EQ(s.leaf_k, 64);
  EXPECT_EQ(s.b_bytes, 0U);
}

TEST(Sm90Packing, AForcedKernelRunsOnCopiesWhereItDoesNotTakeTheOperandsAsTheyLie) {
  const Contract contract = *Contract::parse("hopper/bf16/chain->bf16");
  Layout l{512, 512, 509};
  l.unit = 1;
  GemmArguments g = arguments(l);
  int taken = 0;
  for (std::size_t i = 0; i < kernels_of_wgmma(contract).size(); ++i) {
    const int forced = static_cast<int>(i);
    const LaunchOptions o = options(fast(g, options(0, forced)), forced);
    const Ran without = run_with(g, options(0, forced));
    const Ran with = run_with(g, o);
    if (!with.ok()) {
      EXPECT_FALSE(without.ok());
      continue;
    }
    ++taken;
    EXPECT_EQ(cuda::name(with.decision).find("sm90/" + kernels(contract)[i].name + "/"), 0U);
  }
  EXPECT_GE(taken, 20);
}

TEST(Sm90Packing, WithoutOverlapNoLaunchHasTheAttribute) {
  Layout l{4096, 4096, 4095};
  l.unit = 1;
  const GemmArguments g = arguments(l);
  for (const bool overlap : {true, false}) {
    LaunchOptions o = options(fast(g));
    o.overlap = overlap;
    Recorded& r = record();
    ASSERT_TRUE(run_with(g, o).ok());
    EXPECT_EQ(r.packs + r.launches, 2);
    EXPECT_EQ(r.overlapping, overlap ? 2 : 0);
  }
}

TEST(Sm90Packing, AContextWithoutRoomForClustersCopiesAndRunsWithout) {
  for (std::int64_t m = 1; m <= 512; ++m) {
    Layout l{m, 4096, 4095};
    l.unit = 1;
    GemmArguments g = arguments(l);
    g.reduction = {ReductionKind::tree, 512};
    const LaunchOptions o = options(fast(g));
    record();
    const Ran with = run_with(g, o);
    ASSERT_TRUE(with.ok());
    if (with.decision.cluster == 1) continue;
    Recorded& r = record();
    r.max_cluster = 1;
    r.context = fresh_context();
    const Ran alone = run_with(g, o);
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(alone.decision.cluster, 1);
    EXPECT_EQ(r.launches, 1);
    EXPECT_EQ(r.packs, packs_a(alone.decision) || packs_b(alone.decision) ? 1 : 0);
    return;
  }
  FAIL() << "no cluster was chosen";
}

}  // namespace
}  // namespace detgemm::test
