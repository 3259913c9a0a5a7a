// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The model of times and what the chooser makes of it: no figure here is a measurement.

#include "hip/cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "hip/choose.hpp"

namespace detgemm::hip {
namespace {

const LaunchOptions kMi300x{Chip::gfx942, 304, 8};
constexpr std::size_t kPlenty = std::size_t{1} << 30;  // bytes of workspace

GemmArguments problem(std::int64_t m, std::int64_t n, std::int64_t k, Reduction reduction = {}) {
  GemmArguments g;
  g.a = g.b = reinterpret_cast<const void*>(4096);
  g.m = m;
  g.n = n;
  g.k = k;
  g.as = {m > 1 ? k : 0, 1};
  g.bs = {1, k};
  g.ds = {n, 1};
  g.output = DType::bf16;
  g.reduction = reduction;
  return g;
}

Candidate best_of(const GemmArguments& g) {
  const auto list = candidates(g, Arithmetic::cdna3, kMi300x);
  const auto shorter = [&](const Candidate& a, const Candidate& b) {
    return cost_of(a, g, kMi300x) < cost_of(b, g, kMi300x);
  };
  return *std::min_element(list.begin(), list.end(), shorter);
}

double chosen_time(const GemmArguments& g) {
  const auto d = decide(g, Arithmetic::cdna3, DType::bf16, kMi300x, kPlenty);
  EXPECT_TRUE(d);
  return cost_of({d->key.variant, {d->key.a, d->key.b}, d->parts}, g, kMi300x).total;
}

struct Layer {
  std::int64_t n, k;
};
/// N and K of published models, and smaller ones.
constexpr Layer kLayers[] = {{4096, 4096}, {6144, 4096},  {28672, 4096}, {4096, 14336},
                             {8192, 8192}, {10240, 8192}, {57344, 8192}, {8192, 28672},
                             {1024, 4096}, {256, 8192},   {512, 28672},  {1024, 1024}};

std::vector<Reduction> reductions(std::int64_t k) {
  return {{}, {ReductionKind::fold, 1024}, {ReductionKind::tree, k / 8}};
}

TEST(HipCost, TheChooserPicksTheShortestTime) {
  for (const Layer& layer : kLayers) {
    for (const Reduction& reduction : reductions(layer.k)) {
      for (const std::int64_t m : {1, 15, 17, 33, 64, 100, 257, 1000, 4096, 8191}) {
        const GemmArguments g = problem(m, layer.n, layer.k, reduction);
        EXPECT_EQ(chosen_time(g), cost_of(best_of(g), g, kMi300x).total)
            << m << " " << layer.n << " " << layer.k;
      }
    }
  }
}

/// No candidate gets faster with more rows, so neither does the best of them. One row more makes no
/// jump (from 32 to 33 rows it was a factor of five to eight), except where it makes one more tile
/// than the compute units can share out evenly: a unit that computed q of them computes q + 1.
TEST(HipCost, TimesRiseWithMAndWithoutCliffs) {
  constexpr double kLargestStep = 1.3;
  int filled_rounds = 0;
  for (const Layer& layer : kLayers) {
    for (const Reduction& reduction : reductions(layer.k)) {
      GemmArguments g = problem(1, layer.n, layer.k, reduction);
      Candidate last = best_of(g);
      for (std::int64_t m = 2; m <= 2100; ++m) {
        const Cost before = cost_of(last, g, kMi300x);
        g = problem(m, layer.n, layer.k, reduction);
        const Candidate best = best_of(g);
        const double time = cost_of(best, g, kMi300x).total;
        ASSERT_GE(time, before.total) << m << " " << layer.n << " " << layer.k;
        if (time > before.total * kLargestStep) {
          ++filled_rounds;
          const double busiest = cost_of(last, g, kMi300x).busiest;
          ASSERT_GT(busiest, before.busiest) << m << " " << layer.n << " " << layer.k;
          constexpr double kEnds = 1.1;  // for the starts and ends of its tiles
          ASSERT_LE(time / before.total, kEnds * busiest / before.busiest);
        }
        if (m == 33 || m == 65) {
          ASSERT_LE(time, before.total * kLargestStep) << layer.n;
        }
        last = best;
      }
    }
  }
  RecordProperty("steps_above_1_3", filled_rounds);
}

/// The parts of a cost are what `total` says they are, and each of them can be the longest.
TEST(HipCost, TotalIsTheLongestPart) {
  const Candidate wide{Variant::stream64, {}, 1};
  const auto limit = [&](const Candidate& c, const GemmArguments& g) {
    const Cost cost = cost_of(c, g, kMi300x);
    EXPECT_EQ(cost.total,
              cost.launch + cost.combine +
                  std::max({cost.matrix, cost.lds, cost.l1, cost.latency, cost.l2, cost.memory}));
    return cost.limit();
  };
  EXPECT_EQ(limit({Variant::stream, {}, 1}, problem(1, 28672, 8192)), "memory");
  EXPECT_EQ(limit({Variant::tile256, {}, 1}, problem(8192, 8192, 8192)), "matrix");
  EXPECT_EQ(limit({Variant::tile64, {}, 1}, problem(64, 4096, 4096)), "latency");
  EXPECT_EQ(limit(wide, problem(4096, 8192, 8192)), "L1");
  const GemmArguments tree = problem(8, 256, 28672, {ReductionKind::tree, 1024});
  EXPECT_GT(cost_of({Variant::stream, {}, 8}, tree, kMi300x).combine, 0);
}

/// K is spread where few outputs would leave compute units idle, and only there.
TEST(HipCost, KIsSpreadWhereOutputsAreFew) {
  const auto parts = [](const GemmArguments& g, std::size_t workspace = kPlenty) {
    return decide(g, Arithmetic::cdna3, DType::bf16, kMi300x, workspace)->parts;
  };
  const Reduction tree{ReductionKind::tree, 1024};
  EXPECT_GT(parts(problem(16, 256, 28672, tree)), 1);
  EXPECT_GT(parts(problem(64, 1024, 28672, tree)), 1);
  EXPECT_GT(parts(problem(16, 256, 28672, {ReductionKind::fold, 1024})), 1);
  EXPECT_EQ(parts(problem(16, 256, 28672)), 1) << "a chain has no parts";
  EXPECT_EQ(parts(problem(4096, 8192, 8192, tree)), 1);
  EXPECT_EQ(parts(problem(64, 1024, 28672, tree), 0), 1) << "the roots need workspace";
}

TEST(HipCost, DiesComeFromTheRuntimeOrAGuess) {
  const auto xcds = [](Chip chip, int units, int said = 0) {
    return decide(problem(512, 512, 64), Arithmetic::ieee_fma, DType::bf16, {chip, units, said}, 0)
        ->raster.xcds;
  };
  EXPECT_EQ(xcds(Chip::gfx942, 304), 8);  // MI300X
  EXPECT_EQ(xcds(Chip::gfx942, 228), 6);  // MI300A
  EXPECT_EQ(xcds(Chip::gfx942, 38), 1);   // one partition of eight
  EXPECT_EQ(xcds(Chip::gfx90a, 104), 1);
  EXPECT_EQ(xcds(Chip::gfx942, 80), 1) << "no guess fits MI308X: the runtime has to say it";
  EXPECT_EQ(xcds(Chip::gfx942, 80, 4), 4);
  EXPECT_EQ(xcds(Chip::gfx942, 304, 8), 8);
  EXPECT_EQ(xcds(Chip::gfx942, 38, 1), 1);
}

}  // namespace
}  // namespace detgemm::hip
