// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "cuda/host/snapped.hpp"
#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/problems.hpp"
#include "tests/support/random_bits.hpp"

// Contracts of snap: what is snapped, where the copies lie, and which kernels multiply them.

namespace detgemm::test {
namespace {

using namespace cuda;

constexpr std::uintptr_t kBase = std::uintptr_t{1} << 40;

/// A problem whose operands lie anywhere.
GemmArguments draw(Random& random) {
  Layout l;
  l.m = 1 + random.below(random.below(2) != 0 ? 64 : 3000);
  l.n = 1 + random.below(random.below(2) != 0 ? 100 : 5000);
  l.k = random.below(16) == 0 ? 0 : 1 + random.below(4000);
  l.a_mn = random.below(3) == 0;
  l.b_mn = random.below(3) == 0;
  l.d_col = random.below(4) == 0;
  l.unit = random.below(3) == 0 ? 8 : 1 + random.below(8);
  GemmArguments g = arguments(l);
  if (random.below(3) == 0) g.a = reinterpret_cast<const void*>(l.address + 2);
  if (random.below(3) == 0) g.b = reinterpret_cast<const void*>(l.address + 6);
  g.reduction = {random.below(2) != 0 ? ReductionKind::tree : ReductionKind::fold,
                 64 * (1 + random.below(10))};
  g.continue_from_c = g.reduction.kind == ReductionKind::fold && random.below(4) == 0;
  g.epilogue.has_bias = random.below(4) == 0;
  g.cs = g.ds;
  return g;
}

LaunchOptions draw_options(Random& random) {
  LaunchOptions o;
  o.sms = random.below(3) == 0 ? 1 + static_cast<int>(random.below(60)) : 132;
  o.wgmma = random.below(3) != 0;
  o.mma = random.below(2) != 0;
  o.a_is_snapped = random.below(3) == 0;
  o.b_is_snapped = random.below(2) == 0;
  o.a_is_stable = random.below(2) == 0;
  o.b_is_stable = !o.a_is_stable;
  o.overlap = random.below(4) != 0;
  return o;
}

Contract contract_of(const GemmArguments& g) {
  return *Contract::make(Arithmetic::snap, DType::bf16, g.reduction, g.output);
}

Ran run_snap(const GemmArguments& g, const LaunchOptions& o) {
  return run(g, DType::bf16, o, reinterpret_cast<void*>(kBase), Arithmetic::snap);
}

std::string text(const GemmArguments& g, const LaunchOptions& o) {
  return std::to_string(g.m) + " x " + std::to_string(g.n) + " x " + std::to_string(g.k) +
         ", leaf " + std::to_string(g.reduction.leaf_k) +
         (o.wgmma ? ""
          : o.mma ? ", mma.sync"
                  : ", CUDA cores") +
         (o.a_is_snapped ? ", A snapped" : "") + (o.b_is_snapped ? ", B snapped" : "");
}

/// One operand of `vectors`, whose copy begins at `begin` bytes of the workspace.
void expect_snapped(const snap::Operand& s, const void* from, std::int64_t vectors,
                    std::int64_t vector, std::int64_t along, const GemmArguments& g,
                    std::size_t begin, std::size_t end) {
  EXPECT_EQ(s.from, from);
  EXPECT_EQ(s.vectors, vectors);
  EXPECT_EQ(s.k, g.k);
  EXPECT_EQ(s.leaf, std::min(g.reduction.leaf_k, (g.k + 63) / 64 * 64));
  EXPECT_EQ(s.leaves, leaves_of(g.k, g.reduction.leaf_k));
  EXPECT_EQ(s.from_vector, vectors > 1 ? vector : 0);
  EXPECT_EQ(s.from_k, g.k > 1 ? along : 1);
  const auto at = reinterpret_cast<std::uintptr_t>(s.to);
  EXPECT_EQ(at, kBase + begin);
  EXPECT_EQ(at % 256, 0U);
  if (vectors > 1) {
    EXPECT_EQ(s.to_bytes, 16) << "every kernel takes the copy as it lies";
  } else {
    EXPECT_EQ(s.to_k, 1);
  }
  const std::int64_t last = (vectors - 1) * s.to_vector + (g.k - 1) * s.to_k;
  EXPECT_LE(begin + static_cast<std::size_t>(last + 1) * 2, end);
}

TEST(CudaSnap, CopiesAreMultipliedAsAlignedOperandsAre) {
  Random random(20261122);
  int snapped[3] = {}, on_cores = 0, by_mma = 0, packed = 0, stable = 0;
  for (int i = 0; i < 6000; ++i) {
    const GemmArguments g = draw(random);
    LaunchOptions o = draw_options(random);
    const std::size_t needed = workspace_bytes(contract_of(g), g.m, g.n, g.k, o);
    const std::size_t fast = fast_workspace_bytes({g, Arithmetic::snap, DType::bf16}, o);
    ASSERT_GE(fast, needed);
    ASSERT_GE(fast_workspace_bound(contract_of(g), g.m, g.n, g.k, o), fast);
    o.workspace_bytes = random.below(2) != 0 ? fast : needed;
    SCOPED_TRACE(text(g, o));
    Recorded& r = record();
    const Ran ran = run_snap(g, o);
    ASSERT_TRUE(ran.ok());
    const Decision& d = ran.decision;
    EXPECT_EQ(snaps_a(d), !o.a_is_snapped && g.k > 0);
    EXPECT_EQ(snaps_b(d), !o.b_is_snapped && g.k > 0);
    const std::size_t count = static_cast<std::size_t>(snaps_a(d)) + snaps_b(d);
    ++snapped[count];
    ASSERT_EQ(r.snaps.size(), count);
    ASSERT_EQ(r.launches, 1);
    EXPECT_EQ(r.kernel.simt, !o.wgmma && !o.mma);
    EXPECT_EQ(r.kernel.mma, !o.wgmma && o.mma);
    by_mma += r.kernel.mma;
    on_cores += r.kernel.simt;
    packed += r.packs;
    EXPECT_EQ(r.snaps_overlapping, o.overlap && o.wgmma ? static_cast<int>(count) : 0);
    const std::string name = cuda::name(d);
    EXPECT_EQ(name.ends_with("/snap-a"), snaps_a(d) && !snaps_b(d)) << name;
    EXPECT_EQ(name.ends_with("/snap-b"), !snaps_a(d) && snaps_b(d)) << name;
    EXPECT_EQ(name.ends_with("/snap"), snaps_a(d) && snaps_b(d)) << name;
    const std::size_t copies = snap::copies_bytes(g.m, g.n, g.k, o);
    LaunchOptions a_alone = o;
    a_alone.b_is_snapped = true;
    const std::size_t of_a = snap::copies_bytes(g.m, g.n, g.k, a_alone);
    std::size_t next = 0;
    if (snaps_a(d)) {
      expect_snapped(r.snaps[next++], g.a, g.m, g.as.row, g.as.col, g, 0, copies);
    }
    if (snaps_b(d)) {
      expect_snapped(r.snaps[next++], g.b, g.n, g.bs.col, g.bs.row, g, of_a, copies);
    }
    // The multiplication is that of hopper or ieee_fma on arrays that lie like the copies.
    const snap::SnappedCall call({g, Arithmetic::snap, DType::bf16}, o,
                                 reinterpret_cast<void*>(kBase));
    EXPECT_EQ(call.problem().arithmetic,
              o.wgmma || o.mma ? Arithmetic::hopper : Arithmetic::ieee_fma);
    const auto plain = decide(call.problem(), call.options());
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(cuda::name(*plain), name.substr(0, name.find("/snap")));
    EXPECT_EQ(plain->grid, d.grid);
    if (r.kernel.simt) {
      EXPECT_EQ(r.params.g.a, snaps_a(d) ? static_cast<const void*>(r.snaps[0].to) : g.a);
      EXPECT_EQ(r.params.g.b, snaps_b(d) ? static_cast<const void*>(r.snaps.back().to) : g.b);
      EXPECT_EQ(r.params.g.reduction.leaf_k, g.reduction.leaf_k);
    } else if (g.k > 0 && r.packs == 0 && r.maps.size() == 2 &&
               (d.family == Family::chain || d.family == Family::leaves)) {
      const std::size_t a = d.swapped ? 1 : 0;
      EXPECT_EQ(r.maps.at(a).data, snaps_a(d) ? static_cast<const void*>(r.snaps[0].to) : g.a);
      EXPECT_EQ(r.maps.at(1 - a).data,
                snaps_b(d) ? static_cast<const void*>(r.snaps.back().to) : g.b);
      // A promise about an operand speaks of it alone, not of its copy.
      const bool a_stable = d.swapped ? r.shape.y_stable : r.shape.x_stable;
      const bool b_stable = d.swapped ? r.shape.x_stable : r.shape.y_stable;
      EXPECT_EQ(a_stable, o.a_is_stable && o.a_is_snapped);
      EXPECT_EQ(b_stable, o.b_is_stable && o.b_is_snapped);
      stable += a_stable || b_stable;
    }
    if (d.family == Family::leaves) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(r.leaf.arrived), kBase + copies);
    }
  }
  for (const int times : snapped) EXPECT_GE(times, 500);
  EXPECT_GE(on_cores, 500);
  EXPECT_GE(by_mma, 500);
  EXPECT_GE(packed, 50);
  EXPECT_GE(stable, 100);
}

TEST(CudaSnap, TheWorkspaceGrowsWithMAndNothingOverflows) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const GemmArguments g = draw(random);
    const LaunchOptions o = draw_options(random);
    const auto bytes = [&](std::int64_t m) {
      return workspace_bytes(contract_of(g), m, g.n, g.k, o);
    };
    const std::int64_t more = g.m + 1 + random.below(5000);
    EXPECT_GE(bytes(more), bytes(g.m));
    const std::size_t least = (o.a_is_snapped ? 0U : static_cast<std::size_t>(g.m * g.k) * 2) +
                              (o.b_is_snapped ? 0U : static_cast<std::size_t>(g.n * g.k) * 2);
    EXPECT_GE(bytes(g.m), least);
    // Not much more than the copies and what the multiplication itself wants.
    LaunchOptions both = o;
    both.a_is_snapped = both.b_is_snapped = true;
    const std::size_t multiplies = workspace_bytes(contract_of(g), g.m, g.n, g.k, both);
    EXPECT_LE(bytes(g.m) - multiplies, static_cast<std::size_t>(((o.a_is_snapped ? 0 : g.m + 63) +
                                                                 (o.b_is_snapped ? 0 : g.n + 63)) *
                                                                (g.k + 63)) *
                                           2);
  }
  const Contract contract = *Contract::parse("snap/bf16/fold:128->fp32");
  LaunchOptions o;
  o.sms = 132;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t huge : {std::int64_t{1} << 40, kMax}) {
    EXPECT_GE(workspace_bytes(contract, huge, huge, huge, o), std::size_t{1} << 59);
    EXPECT_GE(fast_workspace_bound(contract, huge, huge, huge, o), std::size_t{1} << 59);
  }
  EXPECT_EQ(workspace_bytes(contract, 0, 64, 64, o), 0U);
}

TEST(CudaSnap, KernelsOfBothArithmeticsCanBeForced) {
  const Contract contract = *Contract::parse("snap/bf16/tree:128->fp32");
  const auto all = kernels(contract);
  Contract other = contract;
  other.arithmetic = Arithmetic::hopper;
  const auto tensor = kernels_of_wgmma(other);
  other.arithmetic = Arithmetic::ieee_fma;
  const auto cores = kernels(other);
  ASSERT_EQ(all.size(), tensor.size() + cores.size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(names.insert(all[i].name).second) << all[i].name;
    const bool first = i < tensor.size();
    EXPECT_EQ(all[i].name, first ? tensor[i].name : cores[i - tensor.size()].name);
    EXPECT_EQ(all[i].family, first ? Family::leaves : Family::simt);
  }
  GemmArguments g = arguments({16, 256, 2048});
  g.reduction = contract.reduction;
  int taken[2] = {}, refused[2] = {};
  for (const bool wgmma : {true, false}) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      LaunchOptions o;
      o.sms = 132;
      o.wgmma = wgmma;
      o.forced = static_cast<int>(i);
      Recorded& r = record();
      const Ran ran = run_snap(g, o);
      const bool on_cores = all[i].family == Family::simt;
      if (!ran.ok()) {
        ++refused[on_cores];
        EXPECT_NE(ran.refusal.message().find(all[i].name), std::string::npos)
            << ran.refusal.message();
        EXPECT_TRUE(r.snaps.empty()) << "what is refused enqueues nothing";
        if (!wgmma && !on_cores) {
          EXPECT_NE(ran.refusal.message().find("tensor cores of compute capability 9.0"),
                    std::string::npos);
        }
        continue;
      }
      ++taken[on_cores];
      EXPECT_TRUE(wgmma || on_cores);
      EXPECT_EQ(r.kernel.simt, on_cores);
      EXPECT_EQ(cuda::name(ran.decision).find((on_cores ? "simt/" : "sm90/") + all[i].name), 0U)
          << cuda::name(ran.decision);
    }
  }
  EXPECT_GE(taken[0], 20);
  EXPECT_GE(taken[1], 8);
  EXPECT_GE(refused[0], static_cast<int>(tensor.size()));
  EXPECT_TRUE(kernels(*Contract::parse("snap/bf16/fold:64->bf16")).size() == all.size());
}

TEST(CudaSnap, AContextWithoutRoomForClustersSnapsAndRunsWithout) {
  for (std::int64_t m = 1; m <= 512; ++m) {
    GemmArguments g = arguments({m, 4096, 4096});
    g.reduction = {ReductionKind::tree, 512};
    LaunchOptions o;
    o.sms = 132;
    record();
    const Ran with = run_snap(g, o);
    ASSERT_TRUE(with.ok());
    if (with.decision.cluster == 1) continue;
    for (const bool knows : {true, false}) {
      Recorded& r = record();
      r.max_cluster = 1;
      r.knows_fits = knows;
      r.context = fresh_context();
      const Ran alone = run_snap(g, o);
      ASSERT_TRUE(alone.ok());
      EXPECT_EQ(alone.decision.cluster, 1);
      EXPECT_EQ(r.launches, 1);
      // Where only the launch tells, the operands have been snapped by then: twice is as once.
      EXPECT_EQ(r.snaps.size(), knows ? 2U : 4U);
      EXPECT_TRUE(cuda::name(alone.decision).ends_with("/snap"));
    }
    return;
  }
  FAIL() << "no cluster was chosen";
}

/// The kernels that snap are loaded with those that multiply, ahead of captures.
TEST(CudaSnap, AllItsKernelsArePrepared) {
  for (const bool wgmma : {true, false}) {
    Recorded& r = record();
    r.context = fresh_context();
    ASSERT_EQ(prepare(Arithmetic::snap, wgmma), cudaSuccess);
    int snaps = 0, tensor = 0, cores = 0;
    for (const std::string& text : r.raised) {
      (text.starts_with("snap") ? snaps : text.starts_with("simt") ? cores : tensor)++;
    }
    EXPECT_EQ(snaps, snap::kVariantCount);
    EXPECT_EQ(tensor > 0, wgmma);
    EXPECT_EQ(cores > 0, !wgmma);
  }
}

TEST(CudaSnap, AMatrixIsSnappedByOneLaunch) {
  alignas(16) static std::uint16_t from[64], to[64];
  for (const bool overlap : {true, false}) {
    Recorded& r = record();
    LaunchOptions o;
    o.sms = 132;
    o.overlap = overlap;
    ASSERT_EQ(snap_operand(from, {300, 1}, to, {1, 40}, 40, 300, 128, o), cudaSuccess);
    ASSERT_EQ(r.snaps.size(), 1U);
    EXPECT_EQ(r.launches, 0);
    EXPECT_EQ(r.snaps_overlapping, overlap ? 1 : 0);
    EXPECT_EQ(r.snaps[0].leaves, 3);
    EXPECT_EQ(r.snaps[0].from_k, 1);
    EXPECT_EQ(r.snaps[0].to_vector, 1);
    EXPECT_EQ(snap::kVariants[r.snap_variants[0]].longest, 0) << "memory runs both ways";
    EXPECT_GE(r.snap_grids[0], 1U);
  }
  Recorded& r = record();
  ASSERT_EQ(snap_operand(from, {1, 1}, to, {1, 1}, 0, 5, 64, {}), cudaSuccess);
  EXPECT_TRUE(r.snaps.empty());
}

}  // namespace
}  // namespace detgemm::test
