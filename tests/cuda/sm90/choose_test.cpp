// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "cuda/sm90/host/realign.hpp"
#include "tests/cuda/sm90/problems.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::test {
namespace {

using namespace cuda;
using namespace cuda::sm90;

constexpr int kSms = 132;

struct Weights {
  std::int64_t n, k;
};
constexpr Weights kWeights[] = {{8, 64},         {64, 8},        {1024, 4096},   {4096, 4096},
                                {6144, 4096},    {28672, 4096},  {4096, 14336},  {128256, 4096},
                                {10240, 8192},   {57344, 8192},  {8192, 28672},  {248, 1000},
                                {4096, 1 << 20}, {1 << 20, 128}, {151936, 4096}, {4000, 24}};

/// What a geometry takes, written a second time: MN-major operands need whole slabs, and a tile of
/// which only some rows are loaded serves problems that have no more.
bool takes(const Geometry& t, const GemmArguments& g, bool swapped) {
  const bool a_mn = g.k > 1 && g.as.col != 1;
  const bool b_mn = g.k > 1 && g.bs.row != 1;
  if ((a_mn || b_mn) &&
      !(t.depth == 1 && t.load == t.x() && t.x_share() % 64 == 0 && t.y_share() % 64 == 0)) {
    return false;
  }
  return t.load == t.x() || (swapped ? g.n : g.m) <= t.load;
}

/// What must hold for any decision about a problem that TMA takes.
void expect_sound(const GemmArguments& g, int sms, const Choice& choice) {
  ASSERT_TRUE(is_taken(choice));
  const Decision& d = choice.decision;
  ASSERT_NE(path_of(d), Path::gather);
  const Geometry& t = geometry_of(d);
  SCOPED_TRACE(name(t) + (d.swapped ? " swapped, " : ", ") + std::to_string(sms) +
               " multiprocessors");
  ASSERT_TRUE(takes(t, g, d.swapped));
  const std::int64_t x = d.swapped ? g.n : g.m;
  const std::int64_t y = d.swapped ? g.m : g.n;
  // The raster's tiles, a cluster's each, cover the output with none to spare.
  ASSERT_EQ(d.raster.tiles_x, ceil_div(x, std::int64_t{t.x()} * t.cluster_x()));
  ASSERT_EQ(d.raster.tiles_y, ceil_div(y, std::int64_t{t.n} * t.cluster_y()));
  ASSERT_GE(d.raster.group, 1);
  ASSERT_LE(d.raster.group, std::max(1, d.raster.tiles_x));
  // The grid: whole clusters, none without a tile, no more than run at once.
  ASSERT_GE(d.grid, 1);
  ASSERT_EQ(d.grid % t.cluster, 0);
  ASSERT_LE(d.grid / t.cluster, d.raster.tiles());
  ASSERT_LE(d.grid, sms * t.ctas);
}

auto key(const Decision& d) {
  return std::tuple(d.family, d.form, d.kernel, d.swapped, d.raster.tiles_x, d.raster.tiles_y,
                    d.raster.group, d.grid);
}

TEST(Sm90Choose, EveryTokenCountGetsASoundDecision) {
  for (const Weights& w : kWeights) {
    for (std::int64_t m = 1; m <= 600; ++m) {
      Layout l{m, w.n, w.k};
      SCOPED_TRACE(text(l));
      const GemmArguments g = arguments(l);
      expect_sound(g, kSms, choose(g, kSms, -1));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Sm90Choose, EveryLayoutGetsASoundDecision) {
  Random random(3);
  int realigned = 0, gathered = 0;
  for (int i = 0; i < 6000; ++i) {
    Layout l;
    l.m = 1 + random.below(i % 3 == 0 ? 20000 : 300);
    l.n = 1 + random.below(i % 5 == 0 ? 60000 : 1000);
    l.k = random.below(i % 7 == 0 ? 12 : 9000);
    if (random.below(3) == 0) l.unit = 1 + random.below(8);
    if (random.below(3) == 0) l.address += 2 * static_cast<std::uintptr_t>(random.below(8));
    l.a_mn = random.below(2) != 0;
    l.b_mn = random.below(2) != 0;
    l.d_col = random.below(2) != 0;
    l.output = random.below(2) != 0 ? DType::fp32 : DType::fp16;
    SCOPED_TRACE(text(l));
    const GemmArguments g = arguments(l);
    const bool aligned = l.unit % 8 == 0 && l.address % 16 == 0;
    const bool any_mn = l.a_mn || l.b_mn;
    const Path path = path_of(g);
    if (path == Path::gather) {  // MN-major, without a k for each class of rows
      ASSERT_TRUE(!aligned && any_mn && l.k > 1 && l.k < kClasses);
      ++gathered;
      continue;
    }
    if (path == Path::realign) {  // of a single k, an MN-major operand's rows are neighbours
      ASSERT_TRUE(!aligned || (any_mn && l.k <= 1));
      ++realigned;
    }
    const int sms = static_cast<int>(1 + random.below(kSms));
    expect_sound(g, sms, choose(g, sms, -1));
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(realigned, 1000);
  EXPECT_GE(gathered, 50);
}

TEST(Sm90Choose, EveryNumberOfMultiprocessors) {
  for (int sms = 1; sms <= kSms; ++sms) {
    for (const Weights& w : {Weights{4096, 4096}, {28672, 4096}, {64, 128}}) {
      for (const std::int64_t m : {1, 16, 17, 64, 100, 128, 300, 512, 8191}) {
        Layout l{m, w.n, w.k};
        SCOPED_TRACE(text(l));
        const GemmArguments g = arguments(l);
        expect_sound(g, sms, choose(g, sms, -1));
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// CTAs that load one operand together need a multiprocessor each, even where a caller forces them.
TEST(Sm90Choose, OneMultiprocessorGetsNoPair) {
  int pairs = 0;
  for (const Weights& w : kWeights) {
    for (const std::int64_t m : {1, 17, 64, 128, 256, 300, 512}) {
      const GemmArguments g = arguments({m, w.n, w.k});
      ASSERT_EQ(geometry_of(choose(g, 1, -1).decision).cluster, 1) << m << " " << w.n;
    }
  }
  const GemmArguments g = arguments({128, 4096, 4096});
  for (std::size_t i = 0; i < kPlainGeometries.size(); ++i) {
    const Geometry& t = kPlainGeometries[i];
    if (t.cluster == 1) continue;
    ++pairs;
    EXPECT_FALSE(is_taken(choose(g, 1, static_cast<int>(i)))) << name(t);
    EXPECT_FALSE(is_taken(choose(g, t.cluster - 1, static_cast<int>(i)))) << name(t);
    const Choice enough = choose(g, t.cluster, static_cast<int>(i));
    expect_sound(g, t.cluster, enough);
    EXPECT_EQ(enough.decision.grid, t.cluster) << name(t);
  }
  EXPECT_GE(pairs, 1);
}

/// Clusters of four: forced anywhere, chosen for long chains alone.
TEST(Sm90Choose, QuadsAreForcedAnywhere) {
  int forced = 0, swapped = 0;
  for (const Weights& w : kWeights) {
    for (const std::int64_t m : {65, 100, 155, 259, 302, 515, 2000}) {
      const GemmArguments g = arguments({m, w.n, w.k});
      const Decision d = choose(g, kSms, -1).decision;
      if (w.k < kQuadLeastK) ASSERT_LE(geometry_of(d).cluster, 2) << m << " " << w.n;
      for (std::size_t i = 0; i < kPlainGeometries.size(); ++i) {
        if (kPlainGeometries[i].cluster != 4) continue;
        const Choice c = choose(g, kSms, static_cast<int>(i));
        expect_sound(g, kSms, c);
        EXPECT_EQ(c.decision.cluster, 4);
        ++forced;
        swapped += c.decision.swapped ? 1 : 0;  // weights on the x side, tokens shared
      }
    }
  }
  EXPECT_GT(swapped, forced / 2);
}

/// The same question has the same answer, wherever the arrays lie.
TEST(Sm90Choose, IsPure) {
  for (const Weights& w : kWeights) {
    for (const std::int64_t m : {1, 7, 16, 33, 64, 128, 200, 512, 4096}) {
      Layout l{m, w.n, w.k};
      const auto first = key(choose(arguments(l), kSms, -1).decision);
      l.address = 1 << 20;
      EXPECT_EQ(key(choose(arguments(l), kSms, -1).decision), first) << text(l);
      l.address = 4096;
      EXPECT_EQ(key(choose(arguments(l), kSms, -1).decision), first) << text(l);
    }
  }
}

/// No geometry that takes the problem has a smaller predicted time than the one chosen.
TEST(Sm90Choose, TakesTheLeastPredictedTime) {
  for (const Weights& w : kWeights) {
    for (const std::int64_t m : {1, 8, 9, 16, 48, 64, 65, 128, 250, 512, 2048}) {
      for (const int layout : {0, 1, 2}) {  // K-major, MN-major A, rows at any address
        Layout l{m, w.n, w.k, layout == 1, false};
        if (layout == 2) l.address = 4098;
        const GemmArguments g = arguments(l);
        if (path_of(g) == Path::gather) continue;
        const Decision d = choose(g, kSms, -1).decision;
        const auto time = [&](const Geometry& t, bool swapped) {
          const std::int64_t x = swapped ? g.n : g.m;
          const std::int64_t y = swapped ? g.m : g.n;
          return d.family == Family::realign ? predicted_realign_time(t, x, y, g.k, kSms)
                                             : predicted_time(t, x, y, g.k, kSms, swapped);
        };
        const double chosen = time(geometry_of(d), d.swapped);
        EXPECT_GT(chosen, 0.0);
        for (const Geometry& t : geometries_of(path_of(d))) {
          if (t.cluster > 2) continue;  // they are left out by rules of their own
          for (const bool swapped : {false, true}) {
            if (d.family == Family::chain && lost_where_timed(t, g.k, swapped)) continue;
            if (takes(t, g, swapped)) {
              ASSERT_LE(chosen, time(t, swapped)) << text(l) << " " << name(t);
            }
          }
        }
      }
    }
  }
}

/// A forced geometry is taken where it can be and nothing else ever runs in its place.
TEST(Sm90Choose, ForcedIsThatOrNothing) {
  Layout layouts[] = {{8, 4096, 4096},
                      {9, 4096, 512},
                      {64, 4096, 64},
                      {65, 96, 640},
                      {300, 4096, 4096},
                      {4096, 24, 4096},
                      {64, 64, 512, true},
                      {4096, 96, 80, true},
                      {128, 256, 64, false, true},
                      {160, 320, 64, true, true}};
  int taken = 0, refused = 0;
  for (const Layout& l : layouts) {
    for (const Path path : {Path::plain, Path::general, Path::realign}) {
      Layout at = l;
      if (path == Path::realign) at.address = 4098;
      GemmArguments g = arguments(at);
      if (path == Path::general) g.epilogue.activation = Activation::silu, g.output = DType::fp32;
      ASSERT_EQ(path_of(g), path) << text(l);
      const auto compiled = geometries_of(path);
      for (std::size_t i = 0; i < kPlainGeometries.size(); ++i) {
        const Geometry& t = kPlainGeometries[i];
        SCOPED_TRACE(text(l) + " " + name(t));
        const bool there = std::any_of(compiled.begin(), compiled.end(),
                                       [&](const Geometry& o) { return name(o) == name(t); });
        const bool expected = there && (takes(t, g, false) || takes(t, g, true));
        const Choice choice = choose(g, kSms, static_cast<int>(i));
        ASSERT_EQ(is_taken(choice), expected);
        (expected ? taken : refused)++;
        if (!is_taken(choice)) continue;
        ASSERT_EQ(name(geometry_of(choice.decision)), name(t));
        expect_sound(g, kSms, choice);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GE(taken, 300);
  EXPECT_GE(refused, 300);
}

struct PathCase {
  const char* what;
  Path path;
  void (*change)(GemmArguments&);
};

/// 64 x 96 x 128, K-major, row-major D, and one change each.
constexpr PathCase kPaths[] = {
    {"nothing", Path::plain, [](GemmArguments&) {}},
    {"fp32 output", Path::plain, [](GemmArguments& g) { g.output = DType::fp32; }},
    {"A at an odd address", Path::realign, [](GemmArguments& g) { g.a = (const char*)g.a + 8; }},
    {"B at an odd address", Path::realign, [](GemmArguments& g) { g.b = (const char*)g.b + 2; }},
    {"A's rows 8 bytes off", Path::realign, [](GemmArguments& g) { g.as.row += 4; }},
    {"B's rows 2 bytes off", Path::realign, [](GemmArguments& g) { g.bs.col += 1; }},
    {"A's rows 16 bytes further", Path::plain, [](GemmArguments& g) { g.as.row += 8; }},
    {"D at an odd address", Path::general, [](GemmArguments& g) { g.d = (char*)g.d + 4; }},
    {"D's rows 8 bytes off", Path::general, [](GemmArguments& g) { g.ds.row += 4; }},
    {"fp32 D's rows 16 bytes further", Path::plain,
     [](GemmArguments& g) {
       g.output = DType::fp32;
       g.ds.row += 4;
     }},
    // TMA stores whole chunks of 16 bytes: where a row of D ends inside one, it would write on.
    {"n ends inside a chunk", Path::general, [](GemmArguments& g) { g.n = 92; }},
    {"n of fp32 ends with a chunk", Path::plain,
     [](GemmArguments& g) {
       g.n = 92;
       g.output = DType::fp32;
     }},
    {"columns of D end inside a chunk", Path::general,
     [](GemmArguments& g) {
       g.ds = {1, 64};
       g.m = 60;
     }},
    {"column-major D", Path::plain,
     [](GemmArguments& g) {
       g.ds = {1, 64};
     }},
    {"one output", Path::general, [](GemmArguments& g) { g.m = g.n = 1; }},
    {"alpha", Path::plain, [](GemmArguments& g) { g.epilogue.alpha = 2; }},
    {"beta", Path::plain,
     [](GemmArguments& g) {
       g.epilogue.beta = 1;
       g.cs = g.ds;
       g.c_type = g.output;
     }},
    {"beta, C's rows 2 bytes off", Path::general,
     [](GemmArguments& g) {
       g.epilogue.beta = 1;
       g.cs = {97, 1};
       g.c_type = g.output;
     }},
    {"bias", Path::plain, [](GemmArguments& g) { g.epilogue.has_bias = true; }},
    {"relu", Path::plain, [](GemmArguments& g) { g.epilogue.activation = Activation::relu; }},
    {"gelu", Path::plain, [](GemmArguments& g) { g.epilogue.activation = Activation::gelu; }},
    {"gelu into fp32", Path::general,
     [](GemmArguments& g) {
       g.epilogue.activation = Activation::gelu;
       g.output = DType::fp32;
     }},
    {"continue", Path::plain, [](GemmArguments& g) { g.continue_from_c = true; }},
    {"bias and A at an odd address", Path::realign,
     [](GemmArguments& g) {
       g.epilogue.has_bias = true;
       g.a = (const char*)g.a + 2;
     }},
    {"D and A at an odd address", Path::realign,
     [](GemmArguments& g) {
       g.a = (const char*)g.a + 14;
       g.d = (char*)g.d + 2;
     }},
    {"continue and B's rows 2 bytes off", Path::realign,
     [](GemmArguments& g) {
       g.continue_from_c = true;
       g.bs.col += 1;
     }},
    // MN-major rows at odd addresses are read by classes of k, which must all be there.
    {"eight k of an MN-major A at an odd address", Path::realign,
     [](GemmArguments& g) {
       g.as = {1, 64};
       g.k = 8;
       g.a = (const char*)g.a + 2;
     }},
    {"seven k of an MN-major A at an odd address", Path::gather,
     [](GemmArguments& g) {
       g.as = {1, 64};
       g.k = 7;
       g.a = (const char*)g.a + 2;
     }},
    {"seven k of an MN-major A, B at an odd address", Path::gather,
     [](GemmArguments& g) {
       g.as = {1, 64};
       g.k = 7;
       g.b = (const char*)g.b + 2;
     }},
    {"one k of an MN-major A", Path::realign,
     [](GemmArguments& g) {
       g.as = {1, 64};
       g.k = 1;
     }},
    {"the last k of a coordinate, at an odd address", Path::realign,
     [](GemmArguments& g) {
       g.k = (std::int64_t{1} << 30) - 1;
       g.as.row = g.bs.col = g.k;
     }},
    {"k beyond a coordinate", Path::gather,
     [](GemmArguments& g) {
       g.k = std::int64_t{1} << 30;
       g.as.row = g.bs.col = g.k;
     }},
    {"m beyond a coordinate", Path::gather, [](GemmArguments& g) { g.m = std::int64_t{1} << 31; }},
    {"m beyond a coordinate, at an odd address", Path::gather,
     [](GemmArguments& g) {
       g.m = std::int64_t{1} << 30;
       g.a = (const char*)g.a + 2;
     }},
    {"rows further apart than TMA counts", Path::gather,
     [](GemmArguments& g) { g.as.row = std::int64_t{1} << 39; }},
    {"D's rows further apart than TMA counts", Path::general,
     [](GemmArguments& g) { g.ds.row = std::int64_t{1} << 39; }},
};

TEST(Sm90Choose, AlignmentAndEpilogueDecideThePath) {
  for (const PathCase& c : kPaths) {
    GemmArguments g = arguments({64, 96, 128});
    c.change(g);
    EXPECT_EQ(path_of(g), c.path) << c.what;
    const Choice choice = choose(g, kSms, -1);
    EXPECT_TRUE(is_taken(choice)) << c.what;
    EXPECT_EQ(path_of(choice.decision), c.path) << c.what;
    if (c.path == Path::gather) {
      EXPECT_FALSE(is_taken(choose(g, kSms, 0))) << c.what;
    }
  }
}

}  // namespace
}  // namespace detgemm::test
