// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/sm90/realign/realign.hpp"

namespace detgemm::cuda::sm90 {
namespace {

/// The least of `bytes_per_tile(group)`, group 1 .. most; the narrower one of equals.
template <class F>
int least_group(int most, const F& bytes_per_tile) {
  int best = 1;
  double least = bytes_per_tile(1);
  for (int group = 2; group <= most; ++group) {
    const double bytes = bytes_per_tile(group);
    if (bytes < least) {
      least = bytes;
      best = group;
    }
  }
  return best;
}

/// Stripes along x, so wide that a stripe's share of the CTAs is about as high as it is wide. In
/// one wave all tiles run together whatever the stripes: then it is the 16 CTAs in a row that the
/// hardware puts on the same cluster of multiprocessors (GPC), whose reads of one line L2 answers
/// once. CTAs of clusters are dealt out one by one.
int stripe(const Geometry& t, int tiles_x, int tiles_y, int ctas) {
  constexpr int kNeighbours = 16;
  const double x = t.x() * t.cluster_x();
  const double y = t.n * t.cluster_y();
  if (t.cluster == 1 && tiles_x * tiles_y <= ctas) {
    return least_group(std::min(tiles_x, kNeighbours), [&](int group) {
      const int wide = std::max(group, std::min(tiles_x, kNeighbours / tiles_y));
      const int high = std::min(tiles_y, (kNeighbours + group - 1) / group);
      return x * wide + y * high;
    });
  }
  return least_group(std::min(tiles_x, ctas), [&](int group) {
    const int high = std::min(tiles_y, std::max(1, ctas / group));
    return (x * group + y * high) / (static_cast<double>(group) * high);
  });
}

Decision decide(const GemmArguments& g, Path path, int index, bool swapped, int sms) {
  const Geometry& t = geometries_of(path)[static_cast<std::size_t>(index)];
  Decision d;
  d.path = path;
  d.geometry = index;
  d.swapped = swapped;
  const int slots = std::max(1, sms * t.ctas / t.cluster);
  d.raster = raster_of(t, swapped ? g.n : g.m, swapped ? g.m : g.n, slots);
  d.grid = std::min(d.raster.tiles(), slots) * t.cluster;
  return d;
}

}  // namespace

Raster raster_of(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t ctas) {
  // In a raster of a cluster kernel a tile is that of the whole cluster.
  Raster r;
  r.tiles_x = static_cast<int>(ceil_div(x_rows, std::int64_t{t.x()} * t.cluster_x()));
  r.tiles_y = static_cast<int>(ceil_div(y_rows, std::int64_t{t.n} * t.cluster_y()));
  r.group =
      stripe(t, r.tiles_x, r.tiles_y, static_cast<int>(std::min<std::int64_t>(r.tiles(), ctas)));
  return r;
}

std::span<const Geometry> geometries_of(Path path) {
  if (path == Path::plain) return kPlainGeometries;
  if (path == Path::realign) return kRealignGeometries;
  return kGeneralGeometries;
}

namespace {

// Constants of the model below, fitted to measured times of every geometry on an H200 (118
// problems, M 1..8192, docs/sm90.md): over them its choice costs 0.95 % against the best geometry.
namespace model {
constexpr double kClock = 1712;         // MHz
constexpr double kSharp = 5.77;         // how sharply the slowest resource rules
constexpr double kFloorOne = 17.9;      // clocks of a k16 step of one group's chain, at least
constexpr double kFloorTwo = 28.1;      // of more groups'
constexpr double kFillBytes = 74.4;     // a clock into one multiprocessor's shared memory
constexpr double kTileClocks = 260;     // a tile, whatever it holds
constexpr double kBoxClocks = 341;      // an epilogue box
constexpr double kStart = 0.73;         // us a launch
constexpr double kPairStart = 0.31;     // us more for clusters
constexpr double kPairFill = 1.051;     // multicast fills more slowly
constexpr double kPairSteps = 1.014;    // and waits for its neighbour
constexpr double kSwapped = 1.037;      // weights on the x side: the readers of a tile of weights
                                        // then run far apart
constexpr double kThree = 1.05;         // three groups that wait for each other's stages
constexpr double kWideStream = 0.0086;  // few tokens against more than 112 weights, a 128 more
constexpr double kMemoryRate = 4.16e6;  // bytes a us from device memory, and its start in us
constexpr double kMemoryStart = 3.11;
constexpr double kSharedStart = 1.24;  // less of it where a chain is cut into many parts
constexpr double kOutputRate = 4e6;
constexpr double kStreamRate = 14.8e6;  // bytes a us out of L2 of an operand larger than kResident
constexpr double kReuseRate = 19.3e6;   // of a smaller one, which many read at about one time
constexpr double kResident = 25.6e6;
constexpr double kCacheStart = 1.72;
constexpr double kPower = 914e6;        // FLOP a us at the clock that power allows
constexpr double kPowerPerEdge = 5.16;  // small tiles move more bytes a FLOP, which costs power
}  // namespace model

/// L2 traffic of one operand, read once by each of `readers` tiles (or clusters) across from it.
double cache_time(double bytes, double readers) {
  const double streamed = 1 / (1 + std::exp((model::kResident - bytes) / 3e6));
  return bytes * readers * (streamed / model::kStreamRate + (1 - streamed) / model::kReuseRate);
}

}  // namespace

double predicted_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t k,
                      int sms, bool swapped, int parts) {
  using namespace model;
  const auto tiles_x = static_cast<double>(ceil_div(x_rows, std::int64_t{t.x()} * t.cluster_x()));
  const auto tiles_y = static_cast<double>(ceil_div(y_rows, std::int64_t{t.n} * t.cluster_y()));
  const double waves =
      std::max(1.0, std::ceil(tiles_x * tiles_y * parts / (sms * t.ctas / t.cluster)));
  const double steps = static_cast<double>(ceil_div(ceil_div(k, kBlockK), parts)) * 4;
  const auto together = [](double a, double b) {
    return std::pow(std::pow(a, kSharp) + std::pow(b, kSharp), 1 / kSharp);
  };
  // One multiprocessor: tensor core, filling of shared memory, epilogue.
  const bool pair = t.cluster > 1;
  const double tensor =
      std::max(t.groups * t.blocks * t.n / 2.0, t.groups > 1 ? kFloorTwo : kFloorOne);
  const double rows = static_cast<double>(std::min<std::int64_t>(t.load, x_rows)) + t.n;
  const double fill = rows * 32 / kFillBytes * (pair ? kPairFill : 1);
  const double tile = steps * together(tensor, fill) * (pair ? kPairSteps : 1) + kTileClocks +
                      kBoxClocks * t.blocks * t.n / static_cast<double>(t.slab());
  const double work = waves * tile / kClock + kStart + (pair ? kPairStart : 0);
  // What they share: device memory, L2, power.
  const double x_bytes = static_cast<double>(x_rows) * k * 2;
  const double y_bytes = static_cast<double>(y_rows) * k * 2;
  const double memory = (x_bytes + y_bytes) / kMemoryRate + kMemoryStart -
                        kSharedStart * (1 - 1.0 / parts) +
                        static_cast<double>(x_rows) * y_rows * 2 / kOutputRate;
  const double cache = cache_time(x_bytes, tiles_y) + cache_time(y_bytes, tiles_x) + kCacheStart;
  const double flops = 2.0 * tiles_x * t.cluster_x() * t.x() * tiles_y * t.cluster_y() * t.n * k;
  const double power = flops / kPower * (1 + kPowerPerEdge * (1.0 / t.x() + 1.0 / t.n));
  const double wide = x_rows <= 64 && t.n > 112 ? kWideStream * (t.n - 112) / 128 : 0;
  return together(together(work, memory), together(cache, power)) * (1 + wide) *
         (swapped ? kSwapped : 1) * (t.groups == 3 ? kThree : 1);
}

Choice choose(const GemmArguments& g, int sms, int forced) {
  Choice best;
  const Path path = path_of(g);
  if (path == Path::gather) {
    best.ok = forced < 0;
    best.decision.path = path;
    return best;
  }
  const Problem p = make_problem(g, false, false, false);
  const bool any_mn = p.x.mn_major || p.y.mn_major;
  const auto geometries = geometries_of(path);
  double least = 0;
  for (std::size_t i = 0; i < geometries.size(); ++i) {
    const Geometry& t = geometries[i];
    if (forced >= 0 && name(t) != name(kPlainGeometries[static_cast<std::size_t>(forced)]))
      continue;
    if (any_mn && !t.takes_mn_major()) continue;
    for (const bool swapped : {false, true}) {
      const std::int64_t x = swapped ? g.n : g.m;
      const std::int64_t y = swapped ? g.m : g.n;
      if (t.load < t.x() && x > t.load) continue;
      if (t.cluster > sms * t.ctas) continue;
      const double time = path == Path::realign ? predicted_realign_time(t, x, y, g.k, sms)
                                                : predicted_time(t, x, y, g.k, sms, swapped);
      if (best.ok && time >= least) continue;
      least = time;
      best.ok = true;
      best.decision = decide(g, path, static_cast<int>(i), swapped, sms);
    }
  }
  return best;
}

}  // namespace detgemm::cuda::sm90
