// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/problems.hpp"
#include "tests/support/random_bits.hpp"

// The host half of a launch, with the driver's encoder, the kernels and the launch itself
// replaced by fakes that record what they were given (fakes.cpp).

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

/// The rules of cuTensorMapEncodeTiled, and two that only the hardware enforces.
void expect_encodable(const TensorShape& s) {
  const std::uint64_t size = s.type == DType::fp32 ? 4 : 2;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data) % 16, 0U);
  EXPECT_TRUE(s.rank == 2 || s.rank == 3);
  for (int i = 0; i < s.rank; ++i) {
    EXPECT_TRUE(s.extent[i] >= 1 && s.extent[i] <= std::uint64_t{1} << 32);
    EXPECT_TRUE(s.box[i] >= 1 && s.box[i] <= 256);
  }
  for (int i = 0; i + 1 < s.rank; ++i) {
    EXPECT_EQ(s.stride[i] % 16, 0U);
    EXPECT_TRUE(s.stride[i] > 0 && s.stride[i] < std::uint64_t{1} << 40);
  }
  // Whole chunks; the swizzle spans 32, 64 or 128 bytes. Other rows come as they are: kernels take
  // those of 16 bytes, and raw ones, whose pitch is an odd number of chunks.
  const std::uint64_t row = s.box[0] * size;
  EXPECT_TRUE(row == 32 || row == 64 || row == 128 || row % 32 == 16) << row;
}

void expect_encodable(const Recorded& r) {
  for (const TensorShape& s : r.maps) expect_encodable(s);
}

TEST(Sm90Launch, MapsLaunchAndDescriptionAgree) {
  Random random(11);
  std::set<std::string> seen;
  for (int i = 0; i < 4000; ++i) {
    Layout l;
    l.m = 1 + random.below(i % 2 == 0 ? 80 : 5000);
    l.n = 8 * (1 + random.below(1500));
    l.k = random.below(i % 4 == 0 ? 12 : 3000);
    if (random.below(4) == 0) l.unit = 1 + random.below(8);
    if (random.below(8) == 0) l.address += 2 * static_cast<std::uintptr_t>(random.below(8));
    l.a_mn = random.below(4) == 0;
    l.b_mn = random.below(4) == 0;
    l.d_col = random.below(4) == 0;
    l.output = random.below(3) == 0 ? DType::fp32 : DType::fp16;
    SCOPED_TRACE(text(l));
    GemmArguments g = arguments(l);
    g.epilogue.has_bias = random.below(4) == 0;
    g.continue_from_c = random.below(4) == 0;
    g.cs = g.ds;
    LaunchOptions o = options();
    o.overlap = random.below(2) != 0;
    o.a_is_stable = random.below(2) != 0;
    o.b_is_stable = random.below(2) != 0;
    const DType input = random.below(2) != 0 ? DType::bf16 : DType::fp16;
    Recorded& r = record();
    const Ran ran = run(g, input, o);
    ASSERT_TRUE(ran.ok());
    ASSERT_EQ(r.launches, 1);
    const std::string said = cuda::name(ran.decision);
    seen.insert(said);
    const Choice choice = choose(g, o.sms, -1);
    const Decision& d = choice.decision;
    const Path path = path_of(d);
    EXPECT_EQ(r.overlap, o.overlap);
    if (path == Path::gather) {
      EXPECT_EQ(said, "sm90/gather");
      EXPECT_EQ(r.kernel.path, Path::gather);
      EXPECT_EQ(r.kernel.input, input);
      EXPECT_TRUE(r.maps.empty());
      EXPECT_EQ(r.cluster, 1U);
      continue;
    }
    expect_encodable(r);
    const Geometry& t = geometry_of(d);
    const Sides p = make_sides(g, d.swapped, o.a_is_stable, o.b_is_stable);
    EXPECT_EQ(said.find("sm90/" + name(t)), 0U) << said;
    EXPECT_EQ(said.find("/swapped") != std::string::npos, d.swapped) << said;
    EXPECT_EQ(said.find("/realign") != std::string::npos, path == Path::realign) << said;
    // The kernel is that of the decision, the types, the majors and the epilogue.
    EXPECT_EQ(r.kernel.path, path == Path::realign ? path : Path::plain);
    EXPECT_EQ(r.kernel.input, input);
    EXPECT_EQ(r.kernel.geometry, d.kernel);
    EXPECT_EQ(r.kernel.x_mn, p.x.mn_major);
    EXPECT_EQ(r.kernel.y_mn, p.y.mn_major);
    EXPECT_EQ(r.kernel.form, path != Path::realign ? Form::plain
                             : g.continue_from_c   ? Form::from_c
                                                   : Form::general);
    EXPECT_EQ(r.grid, static_cast<unsigned>(d.grid));
    EXPECT_EQ(r.cluster, static_cast<unsigned>(t.cluster));
    // The arguments of the kernel.
    EXPECT_EQ(r.shape.x_rows, p.x.rows);
    EXPECT_EQ(r.shape.y_rows, p.y.rows);
    EXPECT_EQ(r.shape.k_blocks, ceil_div(g.k, 64));
    EXPECT_EQ(r.shape.swapped, d.swapped);
    EXPECT_EQ(r.shape.x_stable, d.swapped ? o.b_is_stable : o.a_is_stable);
    EXPECT_EQ(r.shape.y_stable, d.swapped ? o.a_is_stable : o.b_is_stable);
    EXPECT_EQ(r.shape.output, g.output);
    EXPECT_EQ(r.arguments.d, g.d);
    if (path == Path::realign) {  // a map for each class of each operand
      ASSERT_EQ(r.maps.size(), g.k > 0 ? 2U * kClasses : 0U);
      continue;
    }
    // One map per operand with products, one of C where TMA brings it, one of D where it stores it.
    EXPECT_EQ(r.shape.d_by_tma, path == Path::plain);
    EXPECT_EQ(r.shape.c.stages > 0, g.continue_from_c);
    const bool c_by_tma = g.continue_from_c && !r.shape.c.copied;
    ASSERT_EQ(r.maps.size(),
              (g.k > 0 ? 2U : 0U) + (c_by_tma ? 1U : 0U) + (path == Path::plain ? 1U : 0U));
    if (g.k > 0) {
      const auto rows = [&](const TensorShape& s, bool mn) { return s.extent[mn ? 0 : 1]; };
      EXPECT_EQ(rows(r.maps[0], p.x.mn_major), static_cast<std::uint64_t>(p.x.rows));
      EXPECT_EQ(rows(r.maps[1], p.y.mn_major), static_cast<std::uint64_t>(p.y.rows));
      // A stage's boxes of 3-D maps hold all its k blocks; the kernel then loads it in one piece.
      for (int side = 0; side < 2; ++side) {
        if (r.maps[side].rank == 3) {
          EXPECT_TRUE(side == 0 ? r.shape.x_one_box : r.shape.y_one_box);
          EXPECT_EQ(r.maps[side].box[2], static_cast<unsigned>(t.depth));
        } else if (!(side == 0 ? p.x : p.y).mn_major) {
          EXPECT_FALSE(side == 0 ? r.shape.x_one_box : r.shape.y_one_box);
        }
      }
    }
    if (path == Path::plain) {  // TMA writes the last 16-byte chunk of a row whole
      const std::uint64_t size = g.output == DType::fp32 ? 4 : 2;
      EXPECT_EQ(r.maps.back().extent[0] * size % 16, 0U);
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(seen.size(), 40U);
  EXPECT_EQ(seen.count("sm90/gather"), 1U);
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const std::string& said) {
    return said.find("/realign/from-c") != std::string::npos;
  }));
}

struct FinishCase {
  const char* what;
  void (*change)(GemmArguments&);
  bool in_registers, finishes, d_by_tma;
  bool c_by_ring, copied;
};

/// C like D, in its type.
void add_c(GemmArguments& g) {
  g.epilogue.beta = 1;
  g.c = g.d;
  g.cs = g.ds;
  g.c_type = g.output;
}

/// 64 x 96 x 128, K-major, row-major D of 16 bits.
constexpr FinishCase kFinishes[] = {
    {"nothing", [](GemmArguments&) {}, true, false, true, false, false},
    {"alpha", [](GemmArguments& g) { g.epilogue.alpha = 2; }, true, true, true, false, false},
    {"bias", [](GemmArguments& g) { g.epilogue.has_bias = true; }, true, true, true, false, false},
    {"relu", [](GemmArguments& g) { g.epilogue.activation = Activation::relu; }, true, true, true,
     false, false},
    {"gelu", [](GemmArguments& g) { g.epilogue.activation = Activation::gelu; }, true, false, true,
     false, false},
    {"gelu into fp32",
     [](GemmArguments& g) {
       g.epilogue.activation = Activation::gelu;
       g.output = DType::fp32;
     },
     true, false, false, false, false},
    {"silu, D at an odd address",
     [](GemmArguments& g) {
       g.epilogue.activation = Activation::silu;
       g.d = static_cast<char*>(g.d) + 2;
     },
     true, false, false, false, false},
    {"bias and silu",
     [](GemmArguments& g) {
       g.epilogue.has_bias = true;
       g.epilogue.activation = Activation::silu;
     },
     true, true, true, false, false},
    {"D at an odd address", [](GemmArguments& g) { g.d = static_cast<char*>(g.d) + 2; }, true,
     false, false, false, false},
    {"beta", add_c, true, true, true, true, false},
    {"beta, C in columns",
     [](GemmArguments& g) {
       add_c(g);
       g.cs = {1, 64};
     },
     true, true, true, true, false},
    {"beta, C's rows 2 bytes off",
     [](GemmArguments& g) {
       add_c(g);
       g.cs.row = 97;
     },
     false, false, false, false, false},
    {"beta, all rows of C the same",
     [](GemmArguments& g) {
       add_c(g);
       g.cs.row = 0;
     },
     false, false, false, false, false},
    {"beta, fp32",
     [](GemmArguments& g) {
       g.output = DType::fp32;
       add_c(g);
     },
     true, true, true, true, false},
    {"continue",
     [](GemmArguments& g) {
       g.continue_from_c = true;
       g.cs = g.ds;
     },
     true, false, true, true, false},
    {"continue, C at an odd address",
     [](GemmArguments& g) {
       g.continue_from_c = true;
       g.cs = g.ds;
       g.c = static_cast<const char*>(g.a) + 4;
     },
     true, false, true, true, true},
    {"continue without k: a NaN of C becomes canonical",
     [](GemmArguments& g) {
       g.continue_from_c = true;
       g.cs = g.ds;
       g.k = 0;
     },
     true, true, true, true, false},
    {"A at an odd address, and bias",
     [](GemmArguments& g) {
       g.a = static_cast<const char*>(g.a) + 2;
       g.epilogue.has_bias = true;
     },
     false, false, false, false, false},
};

TEST(Sm90Launch, RegistersTheRingAndOrdinaryStoresShareTheEpilogue) {
  for (const FinishCase& c : kFinishes) {
    SCOPED_TRACE(c.what);
    GemmArguments g = arguments({64, 96, 128});
    c.change(g);
    Recorded& r = record();
    ASSERT_TRUE(run(g, kBf16, options()).ok());
    const LaunchShape& s = r.shape;
    EXPECT_EQ(s.in_registers, c.in_registers);
    EXPECT_EQ(s.finishes, c.finishes);
    EXPECT_EQ(s.d_by_tma, c.d_by_tma);
    EXPECT_EQ(s.c.stages > 0, c.c_by_ring);
    EXPECT_EQ(s.c.copied, c.copied);
    if (r.kernel.path == Path::realign) continue;
    expect_encodable(r);
    const bool c_map = c.c_by_ring && !c.copied;
    ASSERT_EQ(r.maps.size(), (g.k > 0 ? 2U : 0U) + (c_map ? 1U : 0U) + (c.d_by_tma ? 1U : 0U));
    if (!c_map) continue;
    // A box of C is what the kernel is told to expect of a slab; several where C runs along x.
    const TensorShape& box = r.maps[g.k > 0 ? 2 : 0];
    const int bytes = static_cast<int>(box.box[0] * box.box[1]) * (s.c.is_16 ? 2 : 4);
    EXPECT_EQ(s.c.slab_bytes % bytes, 0);
    if (!s.c.x_contiguous) {
      EXPECT_EQ(s.c.slab_bytes, bytes);
    }
    EXPECT_EQ(box.data, g.c);
    EXPECT_EQ(box.type, g.c_type);
  }
}

/// Where registers cannot finish, D leaves by ordinary stores, which want its lines along y.
TEST(Sm90Launch, OrdinaryStoresGetTheLinesOfDAlongY) {
  for (const bool columns : {false, true}) {
    for (const std::int64_t m : {17, 333, 4096}) {
      Layout l{m, 4096, 512};
      l.d_col = columns;
      GemmArguments g = arguments(l);
      g.epilogue.activation = Activation::gelu;
      g.output = DType::fp32;
      const Choice choice = choose(g, 132, -1);
      ASSERT_TRUE(is_taken(choice));
      EXPECT_EQ(choice.decision.swapped, columns) << m;
    }
  }
}

/// An activation of 16-bit outputs changes neither the kernel nor its roles, but where another tile
/// is multiplied meanwhile.
TEST(Sm90Launch, AnActivatedProductHasTheKernelOfTheBareOne) {
  int swapped = 0, in_turn = 0;
  for (const bool columns : {false, true}) {
    for (const Activation activation :
         {Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
      for (const std::int64_t m : {5, 17, 64, 333, 688, 4096}) {
        Layout l{m, 6144, 4096};
        if (columns && m % 8 != 0) l.m += 8 - m % 8;
        l.d_col = columns;
        GemmArguments g = arguments(l);
        const Decision bare = choose(g, 132, -1).decision;
        g.epilogue.activation = activation;
        g.epilogue.has_bias = true;
        const Decision activated = choose(g, 132, -1).decision;
        swapped += bare.swapped ? 1 : 0;
        if (geometry_of(activated).turns > 1) {
          ++in_turn;
          continue;
        }
        EXPECT_EQ(cuda::sm90::name(activated), cuda::sm90::name(bare)) << m;
        EXPECT_EQ(activated.raster.group, bare.raster.group) << m;
        EXPECT_EQ(activated.grid, bare.grid) << m;
      }
    }
  }
  EXPECT_GT(swapped, 0);
  EXPECT_GT(in_turn, 0);
}

/// Tiles in turn have products and no C, whichever way C is read; they win where K is short.
TEST(Sm90Launch, TilesInTurnHaveProductsAndNoC) {
  GemmArguments g = arguments({1216, 32768, 512});
  const int forced = test::forced_index({g, Arithmetic::hopper, DType::bf16}, "128x192-in-turn");
  EXPECT_TRUE(is_taken(choose(g, 132, forced)));
  EXPECT_EQ(cuda::sm90::name(choose(g, 132, -1).decision), "sm90/128x192-in-turn");
  g.c = g.d;
  g.cs = g.ds;
  g.c_type = g.output;
  g.epilogue.beta = 0.5F;
  EXPECT_NE(std::string(choose(g, 132, forced).why_not).find("and no C"), std::string::npos);
  EXPECT_EQ(geometry_of(choose(g, 132, -1).decision).turns, 1);
  g.epilogue.beta = 0;
  g.continue_from_c = true;
  EXPECT_FALSE(is_taken(choose(g, 132, forced)));
  g = arguments({1216, 32768, 0});
  EXPECT_FALSE(is_taken(choose(g, 132, forced)));
  EXPECT_EQ(geometry_of(choose(g, 132, -1).decision).turns, 1);
}

TEST(Sm90Launch, TheStageIsWhatTheBoxesBring) {
  for (std::size_t i = 0; i < kPlainGeometries.size(); ++i) {
    const Geometry& t = kPlainGeometries[i];
    for (const std::int64_t k : {512, 520}) {
      // Rows for a whole tile, whichever side M takes.
      const std::int64_t m = t.load < t.x() ? t.load : std::max(t.x(), t.n);
      const GemmArguments g = arguments({m, 4096, k});
      if (!is_taken(choose(g, 132, static_cast<int>(i)))) continue;
      Recorded& r = record();
      ASSERT_TRUE(run(g, kBf16, options(static_cast<int>(i))).ok()) << name(t);
      ASSERT_EQ(r.maps.size(), 3U);
      std::uint64_t bytes = 0;  // of one stage, by all CTAs of a cluster together
      for (int side = 0; side < 2; ++side) {
        const TensorShape& s = r.maps[side];
        const std::uint64_t times = s.rank == 3 ? 1 : static_cast<std::uint64_t>(t.depth);
        const bool shared = t.cluster > 1 && (side == 0) == t.shares_x;
        bytes += times * s.box[0] * s.box[1] * s.box[2] * 2 *
                 (shared ? static_cast<std::uint64_t>(t.cluster) : 1);
      }
      EXPECT_EQ(bytes, static_cast<std::uint64_t>(t.stage_bytes(false))) << name(t) << " k " << k;
    }
  }
}

/// The maps of X come first, then those of Y, each side with its own tile and shifts.
TEST(Sm90Launch, RealignedOperandsKeepTheirSides) {
  for (const std::int64_t m : {16, 4096}) {
    for (const bool mn : {false, true}) {
      Layout l{m, 4096, 4095, mn, mn};
      l.unit = 1;
      GemmArguments g = arguments(l);
      g.a = reinterpret_cast<const void*>(std::uintptr_t{4098});  // 1 element late
      g.b = reinterpret_cast<const void*>(std::uintptr_t{8198});  // 3
      Recorded& r = record();
      ASSERT_TRUE(run(g, kBf16, options()).ok());
      ASSERT_EQ(r.maps.size(), 2U * kClasses);
      const Decision d = choose(g, 132, -1).decision;
      const Geometry& t = geometry_of(d);
      SCOPED_TRACE(text(l) + " " + name(t));
      EXPECT_EQ(r.shifts.x & 15U, d.swapped ? 3U : 1U);
      EXPECT_EQ(r.shifts.y & 15U, d.swapped ? 1U : 3U);
      for (int side = 0; side < 2; ++side) {
        const std::uint32_t rows = static_cast<std::uint32_t>(side == 0 ? t.x() : t.n);
        const TensorShape& first = r.maps[static_cast<std::size_t>(side * kClasses)];
        EXPECT_EQ(first.data, reinterpret_cast<const void*>(
                                  std::uintptr_t{(side == 0) == d.swapped ? 8192U : 4096U}));
        for (int c = 0; c < kClasses; ++c) {
          const TensorShape& s = r.maps[static_cast<std::size_t>(side * kClasses + c)];
          EXPECT_EQ(s.rank, 2);
          EXPECT_EQ(s.type, kBf16);
          EXPECT_EQ(s.box[0], mn ? (rows % 128 == 0 ? 136U : 72U)
                                 : static_cast<std::uint32_t>(t.depth) * 64 + 8);
          // No row is asked for that does not exist, but for those that fill up a class.
          const std::uint32_t there =
              (side == 0) == d.swapped ? 4096 : static_cast<std::uint32_t>(m);
          EXPECT_EQ(s.box[1], mn ? 8U : std::min(rows, there) / 8);
          EXPECT_EQ(side == 0 ? r.shifts.x_box_rows : r.shifts.y_box_rows,
                    static_cast<int>(s.box[1]));
        }
      }
    }
  }
}

TEST(Sm90Launch, AForcedKernelRunsOrIsRefusedByNameAndRule) {
  const auto names = kernels_of_wgmma(*Contract::parse("hopper/bf16/chain->bf16"));
  ASSERT_EQ(names.size(), kPlainGeometries.size());
  int refused = 0, taken = 0;
  for (const Layout& l : {Layout{8, 4096, 4096},
                          {100, 512, 64},
                          {300, 24, 8},
                          {64, 64, 64, true},
                          {64, 60, 64},
                          {64, 64, 60, false, false, false, 1}}) {
    const GemmArguments g = arguments(l);
    for (std::size_t i = 0; i < names.size(); ++i) {
      Recorded& r = record();
      const Ran ran = run(g, kBf16, options(static_cast<int>(i)));
      ASSERT_EQ(r.launches, ran.ok() ? 1 : 0);
      if (!ran.refusal.ok()) {
        ++refused;
        const std::string& sentence = ran.refusal.message();
        ASSERT_EQ(ran.refusal.code(), Errc::unsupported);
        ASSERT_EQ(sentence.find("variant is \"" + names[i].name + "\": it "), 0U) << sentence;
        continue;
      }
      ++taken;
      ASSERT_EQ(ran.error, cudaSuccess);
      // Exactly the forced name, between the kernel's family and its roles.
      const std::string with = cuda::name(ran.decision) + "/";
      ASSERT_EQ(with.find("sm90/" + names[i].name + "/"), 0U) << with;
    }
    EXPECT_TRUE(run(g, kBf16, options()).ok()) << text(l);
  }
  EXPECT_GE(refused, 200);
  EXPECT_GE(taken, 100);
}

TEST(Sm90Launch, NothingToDoLaunchesNothing) {
  for (const bool empty_m : {false, true}) {
    GemmArguments g = arguments({64, 64, 64});
    (empty_m ? g.m : g.n) = 0;
    Recorded& r = record();
    const Ran ran = run(g, kBf16, options());
    EXPECT_TRUE(ran.ok());
    EXPECT_EQ(cuda::name(ran.decision), "none (no outputs)");
    EXPECT_EQ(r.launches, 0);
    EXPECT_TRUE(r.maps.empty());
  }
}

/// The strides of a map of several k blocks do not grow from dimension to dimension. A driver that
/// minds gets one map per k block's box instead, and the same bytes arrive.
TEST(Sm90Launch, ADriverThatRefusesMapsOfThreeDimensionsGetsMapsOfTwo) {
  int several = 0;
  for (const std::int64_t m : {1, 8, 16, 32, 64}) {
    const GemmArguments g = arguments({m, 4096, 4096});
    Recorded& r = record();
    ASSERT_TRUE(run(g, kBf16, options()).ok());
    const Recorded usual = r;
    record().refuse_3d = true;
    const Ran ran = run(g, kBf16, options());
    ASSERT_TRUE(ran.ok());
    EXPECT_EQ(r.launches, 1);
    ASSERT_EQ(r.maps.size(), usual.maps.size());
    EXPECT_EQ(r.refused_maps,
              static_cast<int>(std::count_if(usual.maps.begin(), usual.maps.end(),
                                             [](const TensorShape& s) { return s.rank == 3; })));
    several += r.refused_maps;
    for (const TensorShape& s : r.maps) {
      EXPECT_EQ(s.rank, 2);
      expect_encodable(s);
    }
    EXPECT_FALSE(r.shape.x_one_box || r.shape.y_one_box);
    EXPECT_EQ(r.shape.x_stage_bytes, usual.shape.x_stage_bytes);
    EXPECT_EQ(r.shape.y_stage_bytes, usual.shape.y_stage_bytes);
    EXPECT_EQ(r.kernel.text(), usual.kernel.text());
  }
  EXPECT_GE(several, 3);
}

TEST(Sm90Launch, ProblemsWhoseTilesDoNotFitAnIntGoToGather) {
  // 57 * 2^24 tiles of 64 x 8 one way round, 2^30 the other.
  Layout l{(std::int64_t{1} << 30) - 1, 449, 8};
  l.unit = 8;
  EXPECT_EQ(path_of(arguments(l)), Path::gather);
  l.m /= 2;
  EXPECT_NE(path_of(arguments(l)), Path::gather);
}

TEST(Sm90Launch, AnErrorOfTheEncoderIsReturnedAndNothingLaunched) {
  const GemmArguments g = arguments({64, 64, 64});
  Layout odd{64, 64, 64};
  odd.address = 4098;
  const GemmArguments realigned = arguments(odd);
  for (int at = 0; at < 2 * kClasses; ++at) {
    for (const GemmArguments* problem : {&g, &realigned}) {
      if (problem == &g && at >= 3) continue;
      Recorded& r = record();
      r.fail_map = at;
      EXPECT_EQ(run(*problem, kBf16, options()).error, cudaErrorInvalidValue) << at;
      EXPECT_EQ(r.launches, 0) << at;
    }
  }
}

}  // namespace
}  // namespace detgemm::test
