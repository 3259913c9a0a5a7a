// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/tile/geometry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cuda/sm90/leaves/geometry.hpp"
#include "cuda/sm90/realign/realign.hpp"
#include "cuda/sm90/tile/c_slabs.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::test {
namespace {

using namespace cuda::sm90;

constexpr int kAMultiprocessorHas = 228 * 1024;
constexpr int kReserved = 1024;  ///< of it, for every CTA
constexpr int kSwizzleAtom = 1024;

/// Bytes in which the epilogue stages D, written a second time: two boxes of 64 rows per group, at
/// most 64 columns of 16 bits or 32 of 32.
int epilogue_bytes(const Geometry& t) {
  return t.groups * 2 * std::max(64 * t.d_slab() * 2, 64 * t.d_fp32_slab() * 4);
}

void expect_runs(const Geometry& t) {
  SCOPED_TRACE(name(t));
  // What the instructions and TMA want.
  EXPECT_TRUE(t.n >= 8 && t.n <= 256 && t.n % 8 == 0);
  EXPECT_TRUE(t.groups >= 1 && t.groups <= 3);
  EXPECT_GE(t.depth, 1);
  EXPECT_GE(t.ctas, 1);
  // Three groups and a producer share 64 K registers: 160 per thread hold fewer accumulators.
  EXPECT_LE(t.blocks * t.n / 2, t.groups == 3 ? 104 : 192) << "accumulators a thread";
  EXPECT_TRUE(t.load > 0 && t.load <= t.x());
  EXPECT_TRUE(t.load == t.x() || (t.x() == 64 && t.cluster == 1));
  EXPECT_LE(t.x_share(), 256);
  EXPECT_LE(t.y_share(), 256);
  // A cluster: whole shares, neighbours along one side alone, whose maps have two dimensions.
  EXPECT_GE(t.cluster, 1);
  EXPECT_EQ(t.cluster_x() * t.cluster_y(), t.cluster);
  EXPECT_EQ(t.x_share() * (t.shares_x ? t.cluster : 1), t.load);
  EXPECT_EQ(t.y_share() * (t.shares_x ? 1 : t.cluster), t.n);
  EXPECT_EQ(t.shares_x ? t.cluster_x() : t.cluster_y(), 1);
  if (t.cluster > 1) {
    EXPECT_EQ(t.depth, 1);
    EXPECT_EQ(t.ctas, 1);
  }
  // Every operand begins at an atom of the 128-byte swizzle, and so do the shares of pairs. Those
  // of quads begin at any row (multicast_stage).
  for (const int rows : {t.load, t.n}) EXPECT_EQ(rows * 128 % kSwizzleAtom, 0);
  for (const int rows : {t.x_share(), t.y_share()}) {
    EXPECT_TRUE(rows * 128 % kSwizzleAtom == 0 || t.cluster == 4);
  }
  // The epilogue's slabs cut the tile evenly; their rows are 16 to 128 bytes.
  for (const auto& [slab, size] : {std::pair{t.slab(), 2}, std::pair{t.fp32_slab(), 4}}) {
    EXPECT_EQ(t.n % slab, 0);
    EXPECT_TRUE(slab * size == 16 || slab * size == 32 || slab * size == 64 || slab * size == 128);
  }
  // Boxes of D cover the tile; where they do not cut it evenly, the last one begins earlier, at a
  // multiple of 16 bytes.
  for (const auto& [slab, size] : {std::pair{t.d_slab(), 2}, std::pair{t.d_fp32_slab(), 4}}) {
    EXPECT_TRUE(slab * size == 16 || slab * size == 32 || slab * size == 64 || slab * size == 128);
    EXPECT_GE(t.n, slab);
    EXPECT_EQ((t.n - slab) * size % 16, 0);
    EXPECT_EQ(slab % 8, 0);
  }
  EXPECT_EQ(t.d_slabs(), (t.n + t.d_slab() - 1) / t.d_slab());
  // Wide boxes cost little: but in quads, one of 16 bits has no more bytes than fp32 needs.
  if (t.cluster <= 2) {
    EXPECT_LE(t.d_slab() * 2, std::max(t.d_fp32_slab(), 16) * 4);
    EXPECT_GE(t.d_slab(), t.slab());
  }
  EXPECT_TRUE(t.n % t.activated_slab() == 0 || t.activated_slab() == 16);
  EXPECT_GE(t.n, t.activated_slab());
  // Shared memory: the ring is deep enough to hide latency and everything fits a multiprocessor.
  for (const bool y_mn : {false, true}) {
    if (y_mn && !t.takes_mn_major()) continue;
    const int epilogue = epilogue_bytes(t);
    const int stages = t.stages(y_mn, epilogue);
    EXPECT_GE(stages, 3);
    EXPECT_GE(t.stage_bytes(y_mn), t.depth * 128 * (t.load + t.n));
    EXPECT_EQ(t.stage_bytes(y_mn) % kSwizzleAtom, 0);
    const int cta = stages * (t.stage_bytes(y_mn) + 2 * 8) + epilogue + kSwizzleAtom;
    EXPECT_LE(cta, 227 * 1024);
    EXPECT_LE(t.ctas * (cta + kReserved), kAMultiprocessorHas);
    // What the tensor core reads behind the rows that were loaded is still the CTA's memory.
    const int last_x = (stages - 1) * t.stage_bytes(y_mn) + (t.depth - 1) * t.load * 128;
    EXPECT_LE(last_x + t.x() * 128, stages * t.stage_bytes(y_mn) + epilogue);
  }
}

TEST(Sm90Geometry, PlainOnesRun) {
  for (const Geometry& t : kPlainGeometries) expect_runs(t);
}

/// C is loaded in whole slabs, as many as fit a stage, in boxes that TMA can take.
template <std::size_t kCount>
void expect_c_fits(const std::array<Geometry, kCount>& geometries) {
  for (const Geometry& t : geometries) {
    for (const bool y_mn : {false, true}) {
      for (const bool is_16 : {false, true}) {
        SCOPED_TRACE(name(t) + (y_mn ? " y-mn" : "") + (is_16 ? " 16" : " 32"));
        const CLayout c(t, y_mn, is_16);
        const int slabs = t.n / c.slab;
        ASSERT_GE(c.per_stage, 1);
        EXPECT_EQ(c.slab * slabs, t.n);
        EXPECT_EQ(c.bytes, t.x() * c.slab * (is_16 ? 2 : 4));
        EXPECT_LE(c.per_stage * c.bytes, t.stage_bytes(y_mn));
        EXPECT_GE(c.per_stage * c.stages, slabs);
        EXPECT_LT(c.per_stage * (c.stages - 1), slabs);
        EXPECT_EQ(c.bytes % 1024, 0) << "the swizzle of the next slab begins anew";
        EXPECT_LE(t.load, 256) << "rows of a box";
      }
    }
  }
}

TEST(Sm90Geometry, StagesHoldC) {
  expect_c_fits(kPlainGeometries);
  expect_c_fits(kLeafGeometries);
}

/// Raw rows as TMA brings them are one chunk of 16 bytes longer than what is asked, in boxes of at
/// most 256 elements. RealignTile asserts what it needs of shared memory where it is compiled.
TEST(Sm90Geometry, RealigningOnesRun) {
  std::set<std::string> names;
  for (const Geometry& t : kRealignGeometries) {
    SCOPED_TRACE(name(t));
    EXPECT_TRUE(names.insert(name(t)).second);
    EXPECT_TRUE(t.n >= 8 && t.n <= 256 && t.n % kClasses == 0);
    EXPECT_LE(t.blocks * t.n / 2, 192) << "accumulators a thread";
    EXPECT_EQ(t.load, t.x());
    EXPECT_EQ(t.x() % kClasses, 0);
    EXPECT_EQ(t.cluster, 1);
    EXPECT_EQ(t.ctas, 1);
    EXPECT_LE(t.depth * 64 + 8, 256);
  }
  EXPECT_TRUE(std::any_of(kRealignGeometries.begin(), kRealignGeometries.end(),
                          [](const Geometry& t) { return t.takes_mn_major(); }));
}

/// Names are how a kernel is forced: one geometry each.
TEST(Sm90Geometry, NamesAreUnique) {
  std::set<std::string> names;
  for (const Geometry& t : kPlainGeometries) {
    EXPECT_TRUE(names.insert(name(t)).second) << name(t) << " twice";
  }
  for (const std::string& text : names) {
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
        << text;
  }
}

TEST(Sm90Geometry, NamesSayWhatIsUnusual) {
  EXPECT_EQ(name(geometry::tile(2, 1, 192)), "128x192");
  EXPECT_EQ(name(geometry::stream(8, 32)), "64x32-load8-depth4");
  EXPECT_EQ(name(geometry::narrow(16, 4, 1)), "64x16-depth4");
  EXPECT_EQ(name(geometry::narrow(16, 4, 2)), "64x16-depth4-ctas2");
  EXPECT_EQ(name(geometry::pair(1, 1, 192, true)), "64x192-pair-x");
  EXPECT_EQ(name(geometry::pair(1, 1, 192, false)), "64x192-pair-y");
  EXPECT_EQ(name(geometry::quad(88)), "64x88-quad-y");
}

TEST(Sm90Geometry, MnMajorNeedsWholeSlabsOfEveryShare) {
  EXPECT_TRUE(geometry::tile(2, 2, 192).takes_mn_major());
  EXPECT_FALSE(geometry::tile(2, 1, 96).takes_mn_major());
  EXPECT_FALSE(geometry::stream(8, 128).takes_mn_major());
  EXPECT_FALSE(geometry::narrow(64, 2, 1).takes_mn_major());
  EXPECT_TRUE(geometry::pair(1, 1, 128, false).takes_mn_major());
  EXPECT_FALSE(geometry::pair(1, 1, 64, false).takes_mn_major());
  EXPECT_FALSE(geometry::pair(1, 1, 128, true).takes_mn_major());
  EXPECT_TRUE(geometry::pair(2, 1, 64, true).takes_mn_major());
}

/// Every layout and every number of tokens has a kernel: some geometry takes each.
TEST(Sm90Geometry, SomeGeometryTakesEverything) {
  EXPECT_TRUE(std::any_of(kPlainGeometries.begin(), kPlainGeometries.end(),
                          [](const Geometry& t) { return t.takes_mn_major(); }));
}

}  // namespace
}  // namespace detgemm::test
