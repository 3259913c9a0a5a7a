// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <set>
#include <vector>

#include "cuda/sm90/fp8/kernels.hpp"
#include "cuda/sm90/fp8/segments.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "tests/cuda/sm90/fakes.hpp"

namespace detgemm::cuda::sm90 {
namespace {

using test::record;
using test::Recorded;

constexpr int kElements = static_cast<int>(kFp8Geometries.size());  // forces "elements"

struct Given {
  std::int64_t m = 256, n = 384, k = 512;
  Reduction reduction{ReductionKind::scaled, 128};
  DType output = DType::bf16;
  std::int64_t per_a = 1, per_b = 128;
  ScaleType type = ScaleType::fp32;
};

/// Row-major A, and B stored as N rows of K, as e4m3 wants them; addresses are never followed.
Problem arguments(const Given& x) {
  const auto round = [](std::int64_t v) { return (v + 15) / 16 * 16; };
  Problem p;
  p.input = DType::e4m3;
  p.gemms.all.a = p.gemms.all.b = reinterpret_cast<const void*>(4096);
  p.gemms.all.d = reinterpret_cast<void*>(8192);
  p.gemms.all.m = x.m;
  p.gemms.all.n = x.n;
  p.gemms.all.k = x.k;
  p.gemms.all.as = {x.m > 1 ? round(x.k) : 0, x.k > 1 ? 1 : 0};
  p.gemms.all.bs = {x.k > 1 ? 1 : 0, x.n > 1 ? round(x.k) : 0};
  p.gemms.all.ds = {x.m > 1 ? (x.n + 7) / 8 * 8 : 0, x.n > 1 ? 1 : 0};
  p.gemms.all.output = x.output;
  p.gemms.all.reduction = x.reduction;
  if (x.reduction.kind != ReductionKind::scaled) return p;
  const std::int64_t leaves = leaves_of(x.reduction, x.k);
  const auto* scales = reinterpret_cast<const void*>(16384);
  p.scales.a = {scales, x.per_a, leaves, 1, x.type};
  p.scales.b = {scales, x.per_b, leaves, 1, x.type};
  return p;
}

std::span<const KernelInfo> all_kernels() { return kernels(arguments({}).contract()); }

LaunchOptions options(int forced = -1, int sms = 132) {
  LaunchOptions o;
  o.sms = sms;
  o.forced = forced;
  return o;
}

/// Decides, enqueues and says what reached the runtime.
Decision run(const Problem& p, int forced = -1, int sms = 132) {
  auto d = decide(p, options(forced, sms));
  EXPECT_TRUE(d.ok()) << d.status().message();
  if (!d.ok()) return {};
  EXPECT_EQ(enqueue(*d, p, options(forced, sms), nullptr), cudaSuccess);
  return *d;
}

std::string refusal(const Problem& p, int forced = 0) {
  auto d = decide(p, options(forced));
  return d.ok() ? "" : d.status().message();
}

TEST(Fp8, BoxesAreSpansOf128Numbers) {
  Recorded& seen = record();
  const Given x{100, 2112, 7168};
  const Decision d = run(arguments(x));
  ASSERT_EQ(d.family, Family::fp8);
  ASSERT_EQ(seen.launches, 1);
  ASSERT_EQ(seen.maps.size(), 3U);  // X, Y and D
  const Geometry& t = kFp8Geometries[static_cast<std::size_t>(d.kernel)];
  const std::int64_t rows[] = {d.swapped ? x.n : x.m, d.swapped ? x.m : x.n};
  const int tile[] = {t.x(), t.n};
  for (const int i : {0, 1}) {
    const TensorShape& map = seen.maps[static_cast<std::size_t>(i)];
    EXPECT_EQ(map.type, DType::e4m3);
    EXPECT_EQ(map.rank, 2);
    EXPECT_EQ(map.extent[0], 7168U);
    EXPECT_EQ(map.extent[1], static_cast<std::uint64_t>(rows[i]));
    EXPECT_EQ(map.stride[0], 7168U);  // bytes
    EXPECT_EQ(map.box[0], 128U);
    EXPECT_EQ(map.box[1], std::min<std::int64_t>(rows[i], tile[i]));
  }
  EXPECT_EQ(seen.shape.k_blocks, 56);
  EXPECT_EQ(seen.shape.x_stage_bytes, static_cast<int>(seen.maps[0].box[1]) * 128);
  EXPECT_EQ(seen.shape.y_stage_bytes, static_cast<int>(seen.maps[1].box[1]) * 128);
  EXPECT_EQ(seen.fp8.leaf_blocks, 1);
  EXPECT_TRUE(seen.shape.d_by_tma);
}

TEST(Fp8, LeavesAreWholeBlocksOrAllOfK) {
  const auto blocks = [](Reduction r, std::int64_t k) {
    Recorded& seen = record();
    Given x;
    x.reduction = r;
    x.k = k;
    EXPECT_EQ(run(arguments(x)).family, Family::fp8) << k;
    return seen.fp8.leaf_blocks;
  };
  EXPECT_EQ(blocks({ReductionKind::fold, 128}, 1000), 1);
  EXPECT_EQ(blocks({ReductionKind::scaled, 384}, 1000), 3);
  EXPECT_EQ(blocks({}, 1000), 8);                           // a chain
  EXPECT_EQ(blocks({ReductionKind::fold, 1024}, 1000), 8);  // ends within its first leaf
  EXPECT_EQ(blocks({ReductionKind::scaled, 160}, 100), 1);
  EXPECT_EQ(blocks({ReductionKind::fold, std::int64_t{1} << 31}, 4096), 32);
}

/// For every output of every tile and every leaf, what the kernel will multiply with: the row's
/// scale, and the column's or the one that it takes for all columns.
TEST(Fp8, EveryOutputTakesItsOwnScales) {
  std::vector<std::uint8_t> memory(1 << 16);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 7919);
  int by_one = 0, by_columns = 0;
  std::set<int> seen_tiles;
  for (const std::int64_t m : {1, 15, 64, 100, 128, 200, 256}) {
    for (const std::int64_t n : {1, 96, 128, 130, 384, 576}) {
      for (const int layout : {0, 1, 2, 3, 4}) {
        Given x{m, n, 300};
        x.type = ScaleType::e8m0;
        x.per_a = layout == 2 ? 128 : 1;
        x.per_b = layout == 1 ? 1 : 128;
        Problem p = arguments(x);
        p.scales.a.data = memory.data();
        p.scales.b.data = memory.data() + 20000;
        if (layout == 3) p.scales.a.stride = p.scales.b.stride = 0;
        if (layout == 4) p.scales.a = {memory.data(), 1, 1, m, ScaleType::e8m0};
        for (int forced = -1; forced < kElements; ++forced) {
          Recorded& seen = record();
          if (!refusal(p, forced).empty()) {  // no registers for a scale per column
            ASSERT_GE(forced, 0);
            ASSERT_GT(kFp8Geometries[static_cast<std::size_t>(forced)].blocks, 1);
            continue;
          }
          const Decision d = run(p, forced, 5);
          ASSERT_EQ(d.family, Family::fp8);
          const Geometry& t = kFp8Geometries[static_cast<std::size_t>(d.kernel)];
          ASSERT_NE(fp8_kernel(d).function, nullptr) << name(d);
          (d.join == Join::one ? by_one : by_columns) += 1;
          seen_tiles.insert(d.kernel);
          const auto at = [&](const SideScales& s, int line, int leaf) {
            return static_cast<const std::uint8_t*>(s.data)[scale_index(s, line, leaf)];
          };
          const auto bits = [](std::uint8_t v) { return arithmetic::bits_of(e8m0_value(v)); };
          const auto expected = [&](const LeafScales& s, int line, int leaf) {
            return arithmetic::bits_of(load_scale(s, line, leaf));
          };
          for (int tile = 0; tile < d.raster.tiles(); ++tile) {
            int tx = 0, ty = 0;
            d.raster.locate(tile, tx, ty);
            const int x0 = std::min(tx * t.x(), seen.shape.x_last);
            const int y0 = std::min(ty * t.n, seen.shape.y_last);
            const LeafScales& of_x = d.swapped ? p.scales.b : p.scales.a;
            const LeafScales& of_y = d.swapped ? p.scales.a : p.scales.b;
            for (int leaf = 0; leaf < 3; ++leaf) {
              for (int i = x0; i < std::min(x0 + t.x(), seen.shape.x_rows); ++i) {
                ASSERT_EQ(bits(at(seen.fp8.x, i, leaf)), expected(of_x, i, leaf)) << name(d);
              }
              for (int j = y0; j < std::min(y0 + t.n, seen.shape.y_rows); ++j) {
                // Of 192 columns two: those of the 128 that the tile begins in, and of the next.
                const int next = std::min(y0 + 128, seen.shape.y_rows - 1);
                const int from = d.join != Join::one ? j : j / 128 == y0 / 128 ? y0 : next;
                ASSERT_EQ(bits(at(seen.fp8.y, from, leaf)), expected(of_y, j, leaf))
                    << name(d) << " m " << m << " n " << n << " layout " << layout;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(seen_tiles.size(), kFp8Geometries.size());
  EXPECT_GT(by_one, 100);  // both ways were looked at
  EXPECT_GT(by_columns, 100);
}

TEST(Fp8, EveryJoinOfTheListIsCompiledWhereItIsChosen) {
  for (std::size_t i = 0; i < kFp8Geometries.size(); ++i) {
    const Geometry& t = kFp8Geometries[i];
    EXPECT_TRUE(has_join(t, Join::add) && has_join(t, t.blocks > 1 ? Join::one : Join::columns))
        << name(t);
    EXPECT_EQ(t.depth, 1) << name(t);
    EXPECT_LE((t.blocks + 1) * t.n, 384) << name(t);  // a leaf and the sums fit the registers
  }
  EXPECT_EQ(all_kernels().size(), kFp8Geometries.size() + 1);
  EXPECT_EQ(all_kernels().back().name, "elements");
}

/// Slots for scales lie in what the ring of stages leaves over, in kernels of one product and in
/// those of groups.
template <int kReserved, std::size_t... kI>
void expect_free_slots(std::index_sequence<kI...>) {
  const auto one = []<class T>(const T&) {
    EXPECT_EQ(T::kStages, T::ring_stages(0, T::kBoxes)) << T::kX << "x" << T::kN;
    EXPECT_LE(T::kSharedBytes + kReserved, kSharedBytes) << T::kX << "x" << T::kN;
    EXPECT_EQ(T::kEpilogueBytes % 16, 0) << T::kX << "x" << T::kN;
  };
  (one(Fp8Tile<kFp8Geometries[kI], Join::add, kReserved>()), ...);
}
TEST(Fp8, ScalesOfLinesCostNoStage) {
  constexpr auto kAll = std::make_index_sequence<kFp8Geometries.size()>();
  expect_free_slots<0>(kAll);
  expect_free_slots<kMaxSegments* int{sizeof(RowSegment)}>(kAll);
}

TEST(Fp8, WhatTilesDoNotTakeIsComputedByElements) {
  const auto expect = [](const Problem& p, const char* why) {
    Recorded& seen = record();
    EXPECT_EQ(run(p).family, Family::elements) << why;
    EXPECT_EQ(seen.kernel.join, kJoins) << why;
    EXPECT_EQ(seen.scales.b.per, p.scales.b.per);
    EXPECT_EQ(run(p, kElements).family, Family::elements);
    for (int forced = 0; forced < kElements; ++forced) {
      auto d = decide(p, options(forced));
      EXPECT_EQ(d.status().code(), Errc::unsupported);
      EXPECT_NE(d.status().message().find(why), std::string::npos) << d.status().message();
      EXPECT_NE(d.status().message().find(all_kernels()[static_cast<std::size_t>(forced)].name),
                std::string::npos);
    }
  };
  Problem p = arguments({});
  p.gemms.all.bs = {384, 1};
  expect(p, "K-major alone");
  p = arguments({});
  p.gemms.all.as = {1, 256};
  expect(p, "K-major alone");
  p = arguments({});
  p.gemms.all.a = reinterpret_cast<const void*>(4104);
  expect(p, "multiples of 16 bytes");
  p = arguments({});
  p.gemms.all.bs.col = 520;
  expect(p, "multiples of 16 bytes");
  p = arguments({});
  p.gemms.all.as.row = 16;  // rows that overlap
  expect(p, "multiples of 16 bytes");
  Given x;
  x.reduction.leaf_k = 96;
  expect(arguments(x), "LEAF is not a multiple of 128");
  x.reduction = {};
  p = arguments(x);
  p.gemms.all.continue_from_c = true;
  p.gemms.all.c = p.gemms.all.d;
  expect(p, "continues from C");
  x = {};
  x.k = 0;
  expect(arguments(x), "k is 0");
}

TEST(Fp8, EpiloguesGoTheWayOfFolds) {
  const auto shape = [](const Problem& p) {
    Recorded& seen = record();
    EXPECT_EQ(run(p).family, Family::fp8);
    return seen.shape;
  };
  Problem p = arguments({});
  EXPECT_FALSE(shape(p).finishes);
  p.gemms.all.epilogue.alpha = 0.5F;
  EXPECT_TRUE(shape(p).finishes);
  EXPECT_TRUE(shape(p).d_by_tma);
  p.gemms.all.epilogue.activation = Activation::gelu;
  EXPECT_TRUE(shape(p).d_by_tma);
  p.gemms.all.c_type = p.gemms.all.output = DType::fp32;
  EXPECT_FALSE(shape(p).d_by_tma);
  p = arguments({});
  p.gemms.all.epilogue.beta = 1.0F;
  p.gemms.all.c = p.gemms.all.d;
  p.gemms.all.cs = p.gemms.all.ds;
  EXPECT_FALSE(shape(p).in_registers);  // C does not come through the ring
  EXPECT_FALSE(shape(p).d_by_tma);
  EXPECT_EQ(shape(p).c.stages, 0);
  p.gemms.all.epilogue.beta = 0.0F;
  p.gemms.all.continue_from_c = true;
  p.gemms.all.c_type = p.gemms.all.output = DType::fp32;
  EXPECT_TRUE(shape(p).d_by_tma);
  EXPECT_EQ(shape(p).x_last, INT_MAX);  // C is D: no output may be computed twice
}

TEST(Fp8, NoOutputsNoLaunch) {
  Recorded& seen = record();
  Given x;
  x.m = 0;
  EXPECT_EQ(run(arguments(x)).family, Family::none);
  EXPECT_EQ(seen.launches, 0);
}

/// As for chains (CudaContext.WithoutRoomForAClusterAnotherKernelRuns).
TEST(Fp8, WithoutRoomForAPairAnotherTileRunsUnlessOneIsForced) {
  int pair = 0;
  while (kFp8Geometries[static_cast<std::size_t>(pair)].cluster == 1) ++pair;
  const Problem p = arguments({});
  for (const bool knows_fits : {true, false}) {
    Recorded& seen = record();
    seen.context = 7000 + (knows_fits ? 0 : 1);
    seen.max_cluster = 1;
    seen.knows_fits = knows_fits;
    LaunchOptions o = options(pair);
    auto d = decide(p, o);
    ASSERT_TRUE(d.ok());
    EXPECT_EQ(enqueue(*d, p, o, nullptr), cudaErrorInvalidClusterSize);
    o.clusters = false;
    EXPECT_NE(decide(p, o).status().message().find("runs in clusters"), std::string::npos);
    // The same pair as if it had been chosen.
    o = options();
    for (int call = 0; call < 2; ++call) {
      Decision chosen = *d;
      seen.launches = 0;
      EXPECT_EQ(enqueue(chosen, p, o, nullptr), cudaSuccess);
      EXPECT_EQ(seen.launches, 1);
      EXPECT_EQ(seen.cluster, 1U);
      EXPECT_EQ(name(chosen).find("pair"), std::string::npos) << name(chosen);
    }
    EXPECT_EQ(seen.failed_launches, knows_fits ? 0 : 1) << "a failed launch is not tried again";
  }
}

TEST(Fp8, FailuresAreReturned) {
  Recorded& seen = record();
  seen.fail_map = 1;
  const Problem p = arguments({});
  auto d = decide(p, options());
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(enqueue(*d, p, options(), nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(seen.launches, 0);
}

TEST(Fp8, LimitsAreRaisedOncePerContext) {
  Recorded& seen = record();
  seen.context = test::fresh_context();
  ASSERT_EQ(prepare_kernels(arguments({}).contract()), cudaSuccess);
  std::size_t kernels = 0;
  for (const Geometry& t : kFp8Geometries) {
    for (int join = 0; join < kJoins; ++join) kernels += has_join(t, static_cast<Join>(join));
  }
  for (std::size_t i = 0; i < kFp8Geometries.size(); ++i) {
    for (int join = 0; join < kJoins; ++join) kernels += has_group_join(i, static_cast<Join>(join));
  }
  EXPECT_EQ(seen.raised.size(), kernels);
  ASSERT_EQ(prepare_kernels(arguments({}).contract()), cudaSuccess);
  EXPECT_EQ(seen.raised.size(), kernels);
}

TEST(Fp8, ContractsOfTheseKernels) {
  const auto computes = [](const char* text) {
    const auto all = kernels(*Contract::parse(text));
    return !all.empty() && all.front().family == Family::fp8;
  };
  EXPECT_TRUE(computes("hopper/e4m3/scaled:128->bf16"));
  EXPECT_TRUE(computes("hopper/e4m3/scaled:32->fp32"));
  EXPECT_TRUE(computes("hopper/e4m3/fold:128->fp16"));
  EXPECT_TRUE(computes("hopper/e4m3/chain->fp32"));
  EXPECT_FALSE(computes("hopper/e4m3/tree:128->fp32"));
  EXPECT_FALSE(computes("hopper/e5m2/fold:128->fp32"));
  EXPECT_FALSE(computes("hopper/bf16/scaled:128->fp32"));
  EXPECT_FALSE(computes("blackwell/e4m3/fold:128->fp32"));
}

TEST(Fp8, ForcedTilesTakeWhatTilesTake) {
  for (int forced = 0; forced < kElements; ++forced) EXPECT_EQ(refusal(arguments({}), forced), "");
  // Two blocks of rows share the registers of a leaf.
  Given longer;
  longer.reduction.leaf_k = 256;
  const std::string last = all_kernels()[static_cast<std::size_t>(kElements - 1)].name;
  EXPECT_EQ(last, "256x128-pair-x");
  EXPECT_NE(refusal(arguments(longer), kElements - 1).find("has to be 128 long"),
            std::string::npos);
  Given columns;
  columns.per_a = columns.per_b = 1;
  EXPECT_NE(refusal(arguments(columns), kElements - 1).find("scale per column"), std::string::npos);
  EXPECT_EQ(name(run(arguments({}), kElements)), "fp8/elements");
  EXPECT_EQ(name(run(arguments({}), 7)).rfind("sm90/fp8/128x128", 0), 0U);
}

}  // namespace
}  // namespace detgemm::cuda::sm90
