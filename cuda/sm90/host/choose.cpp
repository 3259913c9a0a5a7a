// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "cuda/sm90/realign/realign.hpp"

namespace detgemm::cuda::sm90 {
namespace {

/// The group from 1 to `max` with the smallest `bytes_per_tile(group)`; the narrower one of equals.
template <class F>
int cheapest_group(int max, const F& bytes_per_tile) {
  int best = 1;
  double min = bytes_per_tile(1);
  for (int group = 2; group <= max; ++group) {
    const double bytes = bytes_per_tile(group);
    if (bytes < min) {
      min = bytes;
      best = group;
    }
  }
  return best;
}

/// Stripes along x, so wide that a stripe's share of the CTAs is about as high as it is wide. In
/// one wave all tiles run together, whatever the stripes. What counts then are the 16 consecutive
/// CTAs that the hardware puts on the same cluster of multiprocessors (GPC), because L2 answers
/// their reads of one line once. CTAs of clusters are distributed one by one.
int stripe(const Geometry& t, int tiles_x, int tiles_y, int ctas) {
  constexpr int kNeighbours = 16;
  const double x = t.x() * t.cluster_x();
  const double y = t.n * t.cluster_y();
  if (t.cluster == 1 && tiles_x * tiles_y <= ctas) {
    return cheapest_group(std::min(tiles_x, kNeighbours), [&](int group) {
      const int wide = std::max(group, std::min(tiles_x, kNeighbours / tiles_y));
      const int high = std::min(tiles_y, (kNeighbours + group - 1) / group);
      return x * wide + y * high;
    });
  }
  return cheapest_group(std::min(tiles_x, ctas), [&](int group) {
    const int high = std::min(tiles_y, std::max(1, ctas / group));
    return (x * group + y * high) / (static_cast<double>(group) * high);
  });
}

}  // namespace

Raster raster_of(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t ctas) {
  // For a kernel in clusters, a tile of the raster is that of the whole cluster.
  Raster r;
  r.tiles_x = static_cast<int>(ceil_div(x_rows, std::int64_t{t.x()} * t.cluster_x()));
  r.tiles_y = static_cast<int>(ceil_div(y_rows, std::int64_t{t.n} * t.cluster_y()));
  r.group =
      stripe(t, r.tiles_x, r.tiles_y, static_cast<int>(std::min<std::int64_t>(r.tiles(), ctas)));
  return r;
}

namespace {

// Constants of the model below, fitted to measured times of every geometry on an H200 (118
// problems, M 1..8192, docs/sm90.md). Over these problems its choice costs 0.95 % against the best
// geometry.
namespace model {
constexpr double kClock = 1712;         // MHz
constexpr double kSharp = 5.77;         // how sharply the slowest resource dominates
constexpr double kFloorOne = 17.9;      // clocks of a k16 step in the chain of one group, at least
constexpr double kFloorTwo = 28.1;      // in those of more groups
constexpr double kFillBytes = 74.4;     // per clock into one multiprocessor's shared memory
constexpr double kTileClocks = 260;     // per tile, whatever it holds
constexpr double kBoxClocks = 341;      // per epilogue box
constexpr double kStart = 0.73;         // us per launch
constexpr double kPairStart = 0.31;     // us more for clusters
constexpr double kPairFill = 1.051;     // multicast fills more slowly
constexpr double kPairSteps = 1.014;    // and each CTA waits for its neighbour
constexpr double kSwapped = 1.037;      // weights on the x side: the readers of a tile of weights
                                        // then run far apart
constexpr double kThree = 1.05;         // three groups that wait for each other's stages
constexpr double kWideStream = 0.0086;  // few tokens against more than 112 weights, per 128 more
constexpr double kMemoryRate = 4.16e6;  // bytes per us from device memory, and its start in us
constexpr double kMemoryStart = 3.11;
constexpr double kSharedStart = 1.24;  // less of that start where a chain is cut into many parts
constexpr double kOutputRate = 4e6;
constexpr double kStreamRate =
    14.8e6;  // bytes per us out of L2 for an operand larger than kResident
constexpr double kReuseRate =
    19.3e6;  // for a smaller one, which many CTAs read at about the same time
constexpr double kResident = 25.6e6;
constexpr double kCacheStart = 1.72;
constexpr double kPower = 914e6;        // FLOP per us at the clock that power allows
constexpr double kPowerPerEdge = 5.16;  // small tiles move more bytes per FLOP, which costs power
}  // namespace model

/// The time that L2 needs for one operand, which each of `readers` tiles (or clusters) on the other
/// side reads once.
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

namespace {

Family family_of(const Question& q) {
  if (q.path == Path::gather) return Family::gather;
  if (q.leaves()) return Family::leaves;
  return q.path == Path::realign ? Family::realign : Family::chain;
}

Form form_of(const Question& q) {
  if (q.path == Path::plain) return Form::plain;
  return q.from_c && !q.leaves() ? Form::from_c : Form::general;
}

std::size_t kernels_of(Family family, Form form) {
  return family == Family::leaves ? kLeafKernels : geometries_of(family, form).size();
}

/// Whether kernel `d.kernel` of its family is the one that the caller forces. The kernels of a
/// chain are forced by the name of their geometry, whatever the form.
bool is_forced(const Question& q, const Decision& d) {
  if (d.family == Family::leaves) return d.kernel == q.forced;
  return name(geometry_of(d)) == name(kPlainGeometries[static_cast<std::size_t>(q.forced)]);
}

int ctas_at_once(const Question& q, const Geometry& t, const Sharing& s) {
  return std::max(1, slots_for(s, q.sms) * t.ctas / (s.parts * t.cluster));
}

Raster raster_for(const Question& q, const Geometry& t, const Sharing& s, bool swapped) {
  return raster_of(t, swapped ? q.n : q.m, swapped ? q.m : q.n, ctas_at_once(q, t, s));
}

/// The rule by which a kernel does not take the problem with the operands on these sides; or null.
const char* why_not(const Question& q, const Decision& d, bool swapped) {
  const Geometry& t = geometry_of(d);
  const Sharing s = sharing_of(d);
  if ((q.a_mn || q.b_mn) && !t.takes_mn_major()) {
    return "it takes no operand whose M or N runs along memory";
  }
  if (!q.clusters && (t.cluster > 1 || s.split == Split::cluster)) {
    return "it runs in clusters of CTAs, and there is no room for one in the part of the device "
           "that "
           "this context may use";
  }
  if (t.cluster > q.sms * t.ctas) return "its clusters need more multiprocessors than it may use";
  if (t.load < t.x() && (swapped ? q.n : q.m) > t.load) {
    return "it loads fewer rows than M and N have here";
  }
  if (d.family != Family::leaves) return nullptr;
  if (const char* rule = why_not_leaves(q, t, s); rule != nullptr) return rule;
  // Parts that wait for each other run at the same time, so the parts of all tiles are one wave.
  if (s.parts > 1 &&
      std::int64_t{raster_for(q, t, s, swapped).tiles()} * s.parts > slots_for(s, q.sms)) {
    return "its tiles have more parts than CTAs run at once";
  }
  return nullptr;
}

double time_of(const Question& q, const Decision& d, bool swapped) {
  const Geometry& t = geometry_of(d);
  const std::int64_t x = swapped ? q.n : q.m;
  const std::int64_t y = swapped ? q.m : q.n;
  if (d.family == Family::leaves) return predicted_leaf_time(q, t, sharing_of(d), x, y, swapped);
  return d.family == Family::realign ? predicted_realign_time(t, x, y, q.k, q.sms)
                                     : predicted_time(t, x, y, q.k, q.sms, swapped);
}

/// Loading 32 rows where there are at most 16 took 1.2 to 1.3 times as long as loading 16.
bool loads_too_much(const Question& q, const Decision& d, bool swapped) {
  const Geometry& t = geometry_of(d);
  return d.family == Family::leaves && q.forced < 0 && t.load < t.x() && t.load > 16 &&
         (swapped ? q.n : q.m) <= 16;
}

void complete(const Question& q, bool swapped, Decision& d) {
  const Geometry& t = geometry_of(d);
  const Sharing s = sharing_of(d);
  d.input = q.input;
  d.swapped = swapped;
  d.x_mn = swapped ? q.b_mn : q.a_mn;
  d.y_mn = swapped ? q.a_mn : q.b_mn;
  d.leaves = q.leaves();
  d.deep = q.reduction.kind == ReductionKind::tree && leaves_per_part(q, s) > 2;
  d.cluster = s.split == Split::cluster ? s.parts : t.cluster;
  d.raster = raster_for(q, t, s, swapped);
  d.grid = s.parts * t.cluster * std::min(d.raster.tiles(), ctas_at_once(q, t, s));
}

}  // namespace

std::span<const Geometry> geometries_of(Family family, Form form) {
  if (family == Family::leaves) return kLeafGeometries;
  if (family == Family::realign) return kRealignGeometries;
  if (form == Form::plain) return kPlainGeometries;
  return kGeneralGeometries;
}

const Geometry& geometry_of(const Decision& d) {
  const std::size_t index = static_cast<std::size_t>(d.kernel);
  return geometries_of(d.family,
                       d.form)[d.family == Family::leaves ? index / kSharings.size() : index];
}

Sharing sharing_of(const Decision& d) {
  if (d.family != Family::leaves) return {};
  return kSharings[static_cast<std::size_t>(d.kernel) % kSharings.size()];
}

const char* why_not(const Question& q) {
  Decision d;
  d.family = family_of(q);
  d.form = form_of(q);
  const auto count = static_cast<int>(kernels_of(d.family, d.form));
  while (d.kernel < count && !is_forced(q, d)) ++d.kernel;
  if (d.kernel == count) return d.family == Family::realign ? kNeedsAlignment : kNeedsPlain;
  const char* const straight = why_not(q, d, false);
  return straight == nullptr || why_not(q, d, true) == nullptr ? nullptr : straight;
}

Choice choose(const Question& q) {
  Choice best;
  if (q.forced >= 0) best.why_not = why_not(q);
  if (best.why_not != nullptr) return best;
  double min = 0;
  Decision d;
  d.family = family_of(q);
  d.form = form_of(q);
  const auto count = static_cast<int>(kernels_of(d.family, d.form));
  for (; d.kernel < count; ++d.kernel) {
    if (q.forced >= 0 && !is_forced(q, d)) continue;
    for (const bool swapped : {false, true}) {
      if (why_not(q, d, swapped) != nullptr || loads_too_much(q, d, swapped)) continue;
      const double time = time_of(q, d, swapped);
      if (best.decision.family != Family::none && time >= min) continue;
      min = time;
      best.decision = d;
      complete(q, swapped, best.decision);
    }
  }
  return best;
}

const char* why_not_gather(const Question&) { return kNeedsAlignment; }

Choice choose_gather(const Question& q) {
  if (q.forced >= 0) return {{}, kNeedsAlignment};
  Decision d;
  d.family = Family::gather;
  d.form = Form::general;
  d.input = q.input;
  d.leaves = q.leaves();
  d.grid = static_cast<int>(std::min(ceil_div(q.m, kGatherTile) * ceil_div(q.n, kGatherTile),
                                     std::int64_t{kGatherCtasPerSm} * q.sms));
  return {d, nullptr};
}

}  // namespace detgemm::cuda::sm90
