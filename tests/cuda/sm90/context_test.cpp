// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/host/context.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "cuda/families.hpp"
#include "cuda/simt/tile.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/leaves/tile.hpp"
#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/problems.hpp"

// What a context remembers about kernels, and clusters for which it has no room.

namespace detgemm::test {
namespace {

using namespace cuda;
using namespace cuda::sm90;

constexpr auto kBf16 = DType::bf16;

LaunchOptions options(int forced = -1) {
  LaunchOptions o;
  o.sms = 132;
  o.forced = forced;
  return o;
}

/// Problems for which a chooser prefers a cluster: a chain in pairs, leaves in a cluster of 2 or
/// more.
GemmArguments with_cluster(bool leaves) {
  for (std::int64_t m = 16; m <= 4096; m += 16) {
    for (const std::int64_t n : {512, 1024, 2048, 4096}) {
      GemmArguments g = arguments({m, n, 4096});
      if (leaves) g.reduction = {ReductionKind::tree, 512};
      if (choose(g, 132, -1).decision.cluster > 1) return g;
    }
  }
  ADD_FAILURE() << "no problem is given a cluster";
  return {};
}

void* workspace() { return reinterpret_cast<void*>(1 << 20); }

/// Every kernel that exists gets its shared-memory limit raised, once per context.
TEST(CudaContext, PreparingRaisesEveryKernel) {
  Recorded& r = record();
  r.context = fresh_context();
  ASSERT_EQ(prepare(Arithmetic::hopper), cudaSuccess);
  const std::set<std::string> raised(r.raised.begin(), r.raised.end());
  std::size_t expected = 0;
  for (const Path path : {Path::plain, Path::realign}) {
    for (const Geometry& t : test::geometries_of(path)) {
      expected += (t.takes_mn_major() ? 4U : 1U) * (path == Path::plain ? 1U : 2U);
    }
  }
  for (const Geometry& t : kLeafGeometries) {  // shallow and deep, and of folds from +0 and from C
    expected +=
        (t.takes_mn_major() ? 4U : 1U) * ((has_fold(t) ? 3U : 2U) + (has_tree(t) ? 1U : 0U));
    expected += t.takes_mn_major() && has_fold_from_c(t, true, true) ? 1U : 0U;
  }
  EXPECT_EQ(raised.size(), 2 * expected);  // two types
  r.raised.clear();
  ASSERT_EQ(prepare(Arithmetic::hopper), cudaSuccess);
  EXPECT_TRUE(r.raised.empty()) << "that context was prepared already";
  ASSERT_EQ(prepare(Arithmetic::ieee_fma), cudaSuccess);
  // fp32 has its large tiles for four pairs of ways.
  const std::set<std::string> portable(r.raised.begin(), r.raised.end());
  std::size_t compiled = 0;
  for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
    for (int tile = 0; tile < simt::kTileCount; ++tile) {
      if (!simt::has_tile(input, tile)) continue;
      compiled += input == DType::fp32 && tile < simt::kLargeTiles ? 4 : 1;
    }
  }
  EXPECT_EQ(portable.size(), compiled);
}

/// Kernels over groups and of e4m3 likewise: once per context, and a failure is not remembered.
TEST(CudaContext, GroupsAndE4m3ArePreparedOncePerContext) {
  for (const char* contract :
       {"hopper/bf16/chain->bf16", "ieee_fma/bf16/chain->bf16", "hopper/e4m3/fold:128->bf16"}) {
    GroupedSpec spec;
    spec.kind = GroupKind::m_grouped;
    spec.gemm.contract = *Contract::parse(contract);
    const auto prepare = [&] { return prepare_kernels(spec); };
    Recorded& r = record();
    const std::uint64_t first = fresh_context(), second = fresh_context();
    r.context = first;
    r.fail_raise = true;
    EXPECT_EQ(prepare(), cudaErrorInvalidValue);
    r.fail_raise = false;
    EXPECT_EQ(prepare(), cudaSuccess);
    EXPECT_FALSE(r.raised.empty());
    r.raised.clear();
    r.context = second;
    EXPECT_EQ(prepare(), cudaSuccess);
    EXPECT_FALSE(r.raised.empty());
    r.raised.clear();
    for (const std::uint64_t context : {second, first, second}) {
      r.context = context;
      EXPECT_EQ(prepare(), cudaSuccess);
      std::thread([&] { EXPECT_EQ(prepare(), cudaSuccess); }).join();
    }
    EXPECT_TRUE(r.raised.empty()) << "both contexts were prepared already";
  }
}

TEST(CudaContext, AFailureOfPreparingIsReturnedAndNotRemembered) {
  Recorded& r = record();
  r.context = fresh_context();
  r.fail_raise = true;
  EXPECT_EQ(prepare(Arithmetic::hopper), cudaErrorInvalidValue);
  EXPECT_EQ(run(arguments({64, 64, 64}), kBf16, options()).error, cudaErrorInvalidValue);
  EXPECT_EQ(r.launches, 0);
  r.fail_raise = false;
  EXPECT_TRUE(run(arguments({64, 64, 64}), kBf16, options()).ok());
}

/// The fake runtime refuses kernels whose limit was not raised in the current context, as the real
/// one does. A device reset ends a context, and the next call gets another one.
TEST(CudaContext, CallsSurviveResetsAndOtherContexts) {
  const GemmArguments g = arguments({64, 4096, 4096});
  Recorded& r = record();
  r.context = fresh_context();
  const std::uint64_t first = r.context;
  EXPECT_TRUE(run(g, kBf16, options()).ok());
  EXPECT_FALSE(r.raised.empty());
  r.raised.clear();
  EXPECT_TRUE(run(g, kBf16, options()).ok());
  EXPECT_TRUE(r.raised.empty());
  r.context = 0;  // cudaDeviceReset
  EXPECT_TRUE(run(g, kBf16, options()).ok());
  EXPECT_NE(r.context, first);
  EXPECT_FALSE(r.raised.empty());
  r.raised.clear();
  r.context = first;  // contexts in turn, as with cuCtxSetCurrent
  EXPECT_TRUE(run(g, kBf16, options()).ok());
  EXPECT_TRUE(r.raised.empty()) << "that context is still there";
  r.context = fresh_context();
  EXPECT_TRUE(run(g, DType::fp32, options(), nullptr, Arithmetic::ieee_fma).ok());
  EXPECT_FALSE(r.raised.empty());
  EXPECT_EQ(r.failed_launches, 0);
}

TEST(CudaContext, ThreadsShareWhatWasPrepared) {
  Recorded& r = record();
  r.context = fresh_context();
  ASSERT_EQ(prepare(Arithmetic::hopper), cudaSuccess);
  r.raised.clear();
  std::thread([] { EXPECT_EQ(prepare(Arithmetic::hopper), cudaSuccess); }).join();
  EXPECT_TRUE(r.raised.empty());
}

/// Where there is no room for a cluster, another kernel with the same bits runs and is reported.
TEST(CudaContext, WithoutRoomForAClusterAnotherKernelRuns) {
  for (const bool leaves : {false, true}) {
    for (const bool knows_fits : {true, false}) {
      SCOPED_TRACE(std::string(leaves ? "leaves" : "chain") +
                   (knows_fits ? ", the driver says so" : ", the launch says so"));
      const GemmArguments g = with_cluster(leaves);
      Recorded& r = record();
      r.context = fresh_context();
      const Ran with_room = run(g, kBf16, options(), workspace());
      ASSERT_TRUE(with_room.ok());
      EXPECT_GT(r.cluster, 1U);
      EXPECT_EQ(r.fits_asked, 1);
      r.context = fresh_context();
      r.max_cluster = 1;
      r.knows_fits = knows_fits;
      for (int call = 0; call < 3; ++call) {
        r.launches = 0;
        const Ran ran = run(g, kBf16, options(), workspace());
        ASSERT_TRUE(ran.ok());
        EXPECT_EQ(r.launches, 1);
        EXPECT_EQ(r.cluster, 1U);
        EXPECT_EQ(ran.decision.cluster, 1);
        EXPECT_NE(name(ran.decision), name(with_room.decision));
        EXPECT_EQ(name(ran.decision).find("cluster"), std::string::npos);
        EXPECT_EQ(name(ran.decision).find("pair"), std::string::npos);
        EXPECT_EQ(r.kernel.leaves, leaves);
      }
      EXPECT_EQ(r.fits_asked, 2) << "once per context and kernel";
      EXPECT_EQ(r.failed_launches, knows_fits ? 0 : 1) << "a failed launch is not tried again";
      // Another context may have room.
      r.context = fresh_context();
      r.max_cluster = 16;
      EXPECT_EQ(name(run(g, kBf16, options(), workspace()).decision), name(with_room.decision));
    }
  }
}

/// The maximum is a number of CTAs: pairs may fit where clusters of 8 do not.
TEST(CudaContext, EveryForcedClusterRunsOrIsRefusedInASentence) {
  const GemmArguments chain = arguments({128, 4096, 4096});
  GemmArguments tree = arguments({16, 512, 8192});
  tree.reduction = {ReductionKind::tree, 512};
  for (const GemmArguments& g : {chain, tree}) {
    int ran_here = 0, refused = 0;
    Contract contract;
    contract.arithmetic = Arithmetic::hopper;
    contract.input = kBf16;
    contract.reduction = g.reduction;
    const auto all = kernels(contract);
    for (std::size_t i = 0; i < all.size(); ++i) {
      LaunchOptions o = options(static_cast<int>(i));
      const auto wanted = decide({g, Arithmetic::hopper, kBf16}, o);
      if (!wanted || wanted->cluster == 1) continue;
      Recorded& r = record();
      r.context = fresh_context();
      r.max_cluster = 2;
      const Ran ran = run(g, kBf16, o, workspace());
      if (wanted->cluster <= 2) {
        EXPECT_TRUE(ran.ok()) << all[i].name;
        EXPECT_EQ(r.cluster, 2U);
        ++ran_here;
        continue;
      }
      ++refused;
      EXPECT_EQ(ran.error, cudaErrorInvalidClusterSize) << all[i].name;
      EXPECT_EQ(r.launches, 0) << "a forced kernel is never replaced";
      o.clusters = false;
      const Status why = decide({g, Arithmetic::hopper, kBf16}, o).status();
      EXPECT_EQ(why.code(), Errc::unsupported);
      EXPECT_EQ(why.message().find("variant is \"" + all[i].name + "\": it runs in clusters"), 0U)
          << why.message();
    }
    EXPECT_GE(ran_here, 1);
    EXPECT_GE(refused, 1);
  }
}

/// The grid of a forced quad: whole clusters, no more than the driver says run at once, whatever
/// the number of multiprocessors makes the chooser hope for. Pairs keep theirs.
TEST(CudaContext, QuadsTakeNoMoreClustersThanRunAtOnce) {
  Contract contract;
  contract.arithmetic = Arithmetic::hopper;
  contract.input = kBf16;
  const auto all = kernels(contract);
  const GemmArguments many = arguments({300, 28672, 4096}), few = arguments({100, 1024, 4096});
  int quads = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const LaunchOptions o = options(static_cast<int>(i));
    const auto wanted = decide({many, Arithmetic::hopper, kBf16}, o);
    ASSERT_TRUE(wanted.ok() || wanted.status().code() == Errc::unsupported);
    if (!wanted || wanted->cluster == 1) continue;
    for (const int held : {1, 29, 32, 40}) {
      Recorded& r = record();
      r.context = fresh_context();
      r.clusters_held = held;
      const Ran ran = run(many, kBf16, o, workspace());
      ASSERT_TRUE(ran.ok()) << all[i].name;
      const int clusters = wanted->grid / wanted->cluster;
      const int expected = wanted->cluster == 2 ? clusters : std::min(held, clusters);
      EXPECT_EQ(r.grid, static_cast<unsigned>(expected * wanted->cluster)) << all[i].name;
      EXPECT_EQ(ran.decision.grid, static_cast<int>(r.grid));
    }
    if (wanted->cluster == 2) continue;
    ++quads;
    EXPECT_EQ(wanted->grid, 132) << "33 clusters are hoped for";
    const auto small = decide({few, Arithmetic::hopper, kBf16}, o);
    EXPECT_LE(small->grid, 4 * small->raster.tiles());
  }
  EXPECT_GE(quads, 9);
}

/// Every problem can do without clusters.
TEST(CudaContext, WithoutClustersEverythingHasAKernel) {
  for (const bool leaves : {false, true}) {
    for (const std::int64_t m : {1, 16, 17, 64, 100, 128, 300, 512, 8191}) {
      for (const std::int64_t n : {8, 512, 4096, 28672}) {
        GemmArguments g = arguments({m, n, 4096});
        if (leaves) g.reduction = {ReductionKind::fold, 512};
        LaunchOptions o = options();
        o.clusters = false;
        const auto d = decide({g, Arithmetic::hopper, kBf16}, o);
        ASSERT_TRUE(d.ok());
        EXPECT_EQ(d->cluster, 1);
      }
    }
  }
}

}  // namespace
}  // namespace detgemm::test
