// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/fp8_model.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/device_model.hpp"
#include "cuda/sm90/host/fp8_parts.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr const DeviceModel::Fp8& model_of(Join join) {
  return join == Join::one ? device_model().fp8_shared : device_model().fp8;
}

/// Clocks of one tile on a multiprocessor. What its groups multiply and what each of them waits for
/// add up, as was measured.
double tile_clocks(const Geometry& t, Join join, const GemmArguments& g) {
  const DeviceModel::Fp8& model = model_of(join);
  const double columns = static_cast<double>(t.groups) * t.blocks * t.n;
  const auto blocks = static_cast<double>(ceil_div(g.k, std::int64_t{kFp8BlockK}));
  const double leaves = is_one_leaf(g) ? 1 : static_cast<double>(leaves_of(g.reduction, g.k));
  const int kind = t.blocks > 1 ? 3 : t.n > 128 ? 2 : t.groups > 1 ? 1 : 0;
  const double leaf = model.leaf[kind][static_cast<int>(join)];
  const double wait = model.wait[kind];
  return blocks * (model.multiply * columns + wait) + leaves * (leaf - wait) +
         model.store * columns + model.tile;
}

/// What a launch does, in bytes and tiles.
struct Work {
  double turns;   ///< tiles of the busiest multiprocessor
  double memory;  ///< bytes of operands
  double cache;   ///< bytes that multiprocessors fill their shared memory with
  double outputs;
};

double time_of(const Geometry& t, Join join, const GemmArguments& g, bool swapped, const Work& w) {
  const DeviceModel::Fp8& model = model_of(join);
  const double work = w.turns * tile_clocks(t, join, g) / model.clock + model.start;
  const double memory =
      w.memory / model.memory_rate + 2 * w.outputs / model.output_rate + model.memory_start;
  const double cache = w.cache / model.cache_rate + model.cache_start;
  const double slowest = std::max({work, memory, cache});
  const auto share = [&](double time) { return std::pow(time / slowest, model.sharp); };
  return slowest * std::pow(share(work) + share(memory) + share(cache), 1 / model.sharp) *
         (swapped ? model.swapped : 1) * (t.cluster > 1 ? model.pair : 1);
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

namespace {

/// Clocks that a tile of segments takes beyond one of a single product, from the times of every
/// tile for 128 experts of 1536 x 2048 and 2048 x 768 with 1, 8, 64 and 4096 tokens of 8 experts
/// each (H200, bench/results/2026-11-28-h200-experts.md), and for six segments
/// (2026-11-28-h200-fp8.md) where 128 columns share a scale.
double segment_clocks(const Geometry& t, Join join) {
  const bool shared = join == Join::one;
  if (t.groups == 1 || t.n < 128) return shared ? 3000 : 2500;
  if (t.blocks > 1) return 4500;
  return t.n == 128 ? (shared ? 2000 : 1500) : shared ? 3500 : 4000;
}

}  // namespace

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
  const double turns = std::ceil(tiles / sms);
  return time_of(t, join, g, swapped,
                 {turns, all * (average + n) * k, tiles * (t.x() + t.n) * k, all * average * n}) +
         (spread ? turns * segment_clocks(t, join) / model_of(join).clock : 0);
}

}  // namespace detgemm::cuda::sm90
