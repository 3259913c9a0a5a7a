// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/fp8/model.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/sm90/fp8/host_parts.hpp"

namespace detgemm::cuda::sm90 {
namespace {

// Constants for an H200, fitted to times of every tile of `scaled` and `fold`
// (bench/results/2026-11-23-h200-fp8.md, the last run): a root of the mean squared error of 10 %,
// and choices that cost 0.7 % against the best tile, 8 % at worst.
namespace model {
constexpr double kClock = 1712;  // MHz
constexpr double kMultiply =
    2.12;  // clocks of 128 k per column of a group: wgmma takes 2 at its peak
// Clocks per block of 128 k, whatever it holds, and for one behind which a leaf joins, with one
// group and with two.
constexpr double kWait[2] = {153, 119};
constexpr double kLeaf[2][kJoins] = {{167, 307, 593}, {95, 342, 694}};
constexpr double kLate = 123;    // a leaf of more than 128 columns is added behind its last step
constexpr double kPair = 1.03;   // pairs of CTAs where L2 keeps up
constexpr double kStore = 7.6;   // clocks of a tile's epilogue per column of a group
constexpr double kStart = 1.65;  // us per launch
constexpr double kMemoryRate = 4e6;  // bytes per us from device memory, and its start in us
constexpr double kMemoryStart = 3.0;
constexpr double kOutputRate = 4e6;
constexpr double kCacheRate = 14e6;  // bytes per us out of L2, and its start in us
constexpr double kCacheStart = 1.3;
constexpr double kSharp = 8;       // how sharply the slowest of the three dominates
constexpr double kSwapped = 1.01;  // between equals, M is on the x side
}  // namespace model

/// Clocks of one tile on a multiprocessor. What its groups multiply and what each of them waits for
/// add up, as was measured.
double tile_clocks(const Geometry& t, Join join, const GemmArguments& g) {
  const double columns = static_cast<double>(t.groups) * t.n;
  const auto blocks = static_cast<double>(ceil_div(g.k, std::int64_t{kFp8BlockK}));
  const double leaves = is_one_leaf(g) ? 1 : static_cast<double>(leaves_of(g.reduction, g.k));
  const int two = t.groups > 1 ? 1 : 0;
  double leaf = model::kLeaf[two][static_cast<int>(join)];
  if (t.n > 128) leaf += model::kLate;
  const double wait = model::kWait[two];
  return blocks * (model::kMultiply * columns + wait) + leaves * (leaf - wait) +
         model::kStore * columns;
}

}  // namespace

double predicted_fp8_time(const Geometry& t, Join join, const GemmArguments& g, bool swapped,
                          int sms) {
  using namespace model;
  const std::int64_t x = swapped ? g.n : g.m;
  const std::int64_t y = swapped ? g.m : g.n;
  const auto tiles_x = static_cast<double>(ceil_div(x, std::int64_t{t.x()}));
  const auto tiles_y = static_cast<double>(ceil_div(y, std::int64_t{t.n}));
  const double clusters = std::ceil(tiles_x / t.cluster_x()) * std::ceil(tiles_y / t.cluster_y());
  const double turns = std::ceil(clusters / (sms / t.cluster));
  const auto x_bytes = static_cast<double>(x) * static_cast<double>(g.k);
  const auto y_bytes = static_cast<double>(y) * static_cast<double>(g.k);
  const double outputs = static_cast<double>(x) * static_cast<double>(y);
  const double work = turns * tile_clocks(t, join, g) / kClock + kStart;
  const double memory =
      (x_bytes + y_bytes) / kMemoryRate + 2 * outputs / kOutputRate + kMemoryStart;
  const double cache = (x_bytes * tiles_y + y_bytes * tiles_x) / kCacheRate + kCacheStart;
  const double slowest = std::max({work, memory, cache});
  const auto share = [&](double time) { return std::pow(time / slowest, kSharp); };
  return slowest * std::pow(share(work) + share(memory) + share(cache), 1 / kSharp) *
         (swapped ? kSwapped : 1) * (t.cluster > 1 ? kPair : 1);
}

}  // namespace detgemm::cuda::sm90
