// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8_model.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/sm90/host/fp8_parts.hpp"

namespace detgemm::cuda::sm90 {
namespace {

// Constants for an H200, fitted to times of every tile of `scaled` and `fold`
// (bench/results/2026-11-23-h200-fp8.md, the last run of every tile): a root of the mean squared
// error of 7 %, and choices that cost 0.5 % against the best tile, 4 % at worst.
namespace model {
constexpr double kClock = 1831;      // MHz
constexpr double kMultiply = 2.125;  // clocks of 128 k per column of a group: wgmma takes 2
// Clocks per block of 128 k, whatever it holds, and for one behind which a leaf joins: with one
// group, with two, with leaves of 192 columns, and with two blocks of rows per group.
constexpr double kWait[4] = {153, 119, 119, 119};
constexpr double kLeaf[4][kJoins] = {
    {132, 267, 593}, {85, 204, 726}, {209, 118, 860}, {136, 222, 0}};
constexpr double kPair = 1.04;         // pairs of CTAs where L2 keeps up
constexpr double kStore = 9.1;         // clocks of a tile's epilogue per column of a group
constexpr double kStart = 2.0;         // us per launch
constexpr double kMemoryRate = 3.7e6;  // bytes per us from device memory, and its start in us
constexpr double kMemoryStart = 2.7;
constexpr double kOutputRate = 2.6e6;
constexpr double kCacheRate = 11e6;  // bytes per us out of L2, and its start in us
constexpr double kCacheStart = 0.36;
constexpr double kSharp = 7.8;     // how sharply the slowest of the three dominates
constexpr double kSwapped = 1.01;  // between equals, M is on the x side
}  // namespace model

/// Clocks of one tile on a multiprocessor. What its groups multiply and what each of them waits for
/// add up, as was measured.
double tile_clocks(const Geometry& t, Join join, const GemmArguments& g) {
  const double columns = static_cast<double>(t.groups) * t.blocks * t.n;
  const auto blocks = static_cast<double>(ceil_div(g.k, std::int64_t{kFp8BlockK}));
  const double leaves = is_one_leaf(g) ? 1 : static_cast<double>(leaves_of(g.reduction, g.k));
  const int kind = t.blocks > 1 ? 3 : t.n > 128 ? 2 : t.groups > 1 ? 1 : 0;
  const double leaf = model::kLeaf[kind][static_cast<int>(join)];
  const double wait = model::kWait[kind];
  return blocks * (model::kMultiply * columns + wait) + leaves * (leaf - wait) +
         model::kStore * columns;
}

/// What a launch does, in bytes and tiles.
struct Work {
  double turns;   ///< tiles of the busiest multiprocessor
  double memory;  ///< bytes of operands
  double cache;   ///< bytes that multiprocessors fill their shared memory with
  double outputs;
};

double time_of(const Geometry& t, Join join, const GemmArguments& g, bool swapped, const Work& w) {
  using namespace model;
  const double work = w.turns * tile_clocks(t, join, g) / kClock + kStart;
  const double memory = w.memory / kMemoryRate + 2 * w.outputs / kOutputRate + kMemoryStart;
  const double cache = w.cache / kCacheRate + kCacheStart;
  const double slowest = std::max({work, memory, cache});
  const auto share = [&](double time) { return std::pow(time / slowest, kSharp); };
  return slowest * std::pow(share(work) + share(memory) + share(cache), 1 / kSharp) *
         (swapped ? kSwapped : 1) * (t.cluster > 1 ? kPair : 1);
}

}  // namespace

double predicted_fp8_time(const Geometry& t, Join join, const GemmArguments& g, bool swapped,
                          int sms) {
  const std::int64_t x = swapped ? g.n : g.m;
  const std::int64_t y = swapped ? g.m : g.n;
  const auto tiles_x = static_cast<double>(ceil_div(x, std::int64_t{t.x()}));
  const auto tiles_y = static_cast<double>(ceil_div(y, std::int64_t{t.n}));
  const double clusters = std::ceil(tiles_x / t.cluster_x()) * std::ceil(tiles_y / t.cluster_y());
  const auto x_bytes = static_cast<double>(x) * static_cast<double>(g.k);
  const auto y_bytes = static_cast<double>(y) * static_cast<double>(g.k);
  return time_of(
      t, join, g, swapped,
      {std::ceil(clusters / (sms / t.cluster)), x_bytes + y_bytes,
       x_bytes * tiles_y + y_bytes * tiles_x, static_cast<double>(x) * static_cast<double>(y)});
}

double predicted_fp8_group_time(const Geometry& t, Join join, const GemmArguments& g,
                                std::int64_t rows, std::int64_t groups, bool spread, bool swapped,
                                int sms) {
  constexpr int kSizes = 16;
  const double height = swapped ? t.n : t.x();
  const auto average = static_cast<double>(rows);
  double down = std::ceil(average / height);
  if (spread) {
    down = 0;
    for (int i = 0; i < kSizes; ++i) {
      down += std::ceil(std::max(1.0, average * (0.5 + (i + 0.5) / kSizes)) / height) / kSizes;
    }
  }
  const auto across = static_cast<double>(ceil_div(g.n, std::int64_t{swapped ? t.x() : t.n}));
  const auto all = static_cast<double>(groups);
  const auto k = static_cast<double>(g.k);
  const auto n = static_cast<double>(g.n);
  const double tiles = all * down * across;
  return time_of(t, join, g, swapped,
                 {std::ceil(tiles / sms), all * (average + n) * k, tiles * (t.x() + t.n) * k,
                  all * average * n});
}

}  // namespace detgemm::cuda::sm90
