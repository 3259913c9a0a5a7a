// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cuda/sm90/fp8/tile.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/grouped/tile.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "cuda/sm90/host/packing.hpp"
#include "cuda/sm90/host/realign.hpp"
#include "cuda/sm90/leaves/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

// Constants of the model below, for an H200 (docs/sm90.md). Most were fitted to measured times of
// every geometry; `bench/fit/replay.py` says what the choices cost over all recorded times.
namespace model {
constexpr double kClock = 1712;       // MHz
constexpr double kSharp = 5.77;       // how sharply the slowest resource dominates
constexpr double kFloorOne = 17.9;    // clocks of a k16 step in the chain of one group, at least
constexpr double kFloorTwo = 28.1;    // in those of more groups
constexpr double kFillBytes = 74.4;   // per clock into one multiprocessor's shared memory
constexpr double kMissing = 6;        // a row past an array's end takes the time of so many
constexpr double kNarrow = 12;        // clocks of a k16 step more where two groups share 32 columns
constexpr double kBehind = 0.25;      // of a step, for one of a stage behind a short K
constexpr double kTileClocks = 260;   // per tile, whatever it holds
constexpr double kBoxClocks = 400;    // per epilogue box
constexpr double kStart = 0.73;       // us per launch
constexpr double kPairStart = 0.31;   // us more for clusters
constexpr double kQuadStart = 1.3;    // and for clusters of four
constexpr double kPairOnce = 0.97;    // fill where a pair alone reads what memory streams to it
constexpr double kPairAgain = 1.15;   // fill of other pairs of 64 rows, in small boxes
constexpr double kPairLarge = 1.051;  // and of more rows
constexpr double kPairSteps = 1.014;  // and each of their CTAs waits for its neighbour
constexpr double kQuadFill = 84.7;  // bytes per clock into a CTA of a quad: 145 GB/s, as cuBLASLt's
constexpr double kQuadRequests = 53.7;  // of these, that it asks L2 for: 92 GB/s
constexpr double kQuadStreamed = 0.65;  // longer for its own rows where memory streams them
constexpr double kSwapped = 0.01;       // between equals, M is on the x side from 512 tokens on
constexpr double kThree = 1.03;         // three groups that wait for each other's stages
constexpr double kWideStream = 0.0086;  // few tokens against more than 112 weights, per 128 more
constexpr double kApart = 1.6;          // clocks per output that is stored by itself
constexpr double kGeneralTile = 4200;   // clocks of the general epilogue per tile, and per output
constexpr double kGeneral = 0.21;       // where the lines of D run along y
constexpr double kNarrowStripe = 0.1;   // see narrow_stripe
constexpr double kMemoryRate = 4.68e6;  // bytes per us from device memory, and its start in us
constexpr double kMemoryStart = 2.7;
constexpr double kSharedStart = 0.8;  // less of that start where a chain is cut into many parts
constexpr double kOutputRate = 4e6;
constexpr double kCache = 50e6;         // bytes that L2 holds
constexpr double kAgain = 0.35;         // see read_again
constexpr double kStreamedAgain = 0.1;  // see streamed_again
constexpr double kIdleInOne = 0.59;     // see idle_readers
constexpr double kIdleInMore = 0.3;
constexpr double kNotNoticed = 0.05;
constexpr double kRingBytes = 190e3;    // that a CTA asks for before it waits
constexpr double kStreamRate = 14.8e6;  // bytes per us out of L2 for an operand above kResident
constexpr double kReuseRate =
    19.3e6;  // for a smaller one, which many CTAs read at about the same time
constexpr double kResident = 25.6e6;
constexpr double kCacheStart = 1.72;
constexpr double kPower = 914e6;        // FLOP per us at the clock that power allows
constexpr double kGatherBlock = 3;      // us of a gather tile per block of 32 k
constexpr double kPowerPerEdge = 5.16;  // small tiles move more bytes per FLOP, which costs power
}  // namespace model

/// 0 for an operand far below `limit`, 1 for one far above.
double above(double bytes, double limit, double width) {
  return 1 / (1 + std::exp((limit - bytes) / width));
}
/// Clusters of four: of 132 multiprocessors, 120 hold them, as cudaOccupancyMaxActiveClusters says.
int quads_at_once(int ctas) { return std::max(1, ctas * 120 / 132 / 4); }

double is_streamed(double bytes) { return above(bytes, model::kResident, 3e6); }

/// The time that L2 needs for one operand, which each of `readers` tiles (or clusters) on the other
/// side reads once.
double cache_time(double bytes, double readers) {
  const double streamed = is_streamed(bytes);
  return bytes * readers * (streamed / model::kStreamRate + (1 - streamed) / model::kReuseRate);
}

/// How much longer the fill of shared memory takes where tiles of one wave end in a stripe narrower
/// than the others: there 16 neighbours ask for more different rows, and all wait for the slowest.
/// Five tiles in stripes of four were 7 to 20 % slower than the model without this.
double narrow_stripe(const Geometry& t, int tiles_x, int tiles_y) {
  const int tiles = tiles_x * tiles_y;
  if (t.cluster > 1 || tiles_x == 1 || tiles <= 16) return 1;
  const int width = stripe(t, tiles_x, tiles_y, tiles);
  const int last = tiles_x % width;
  if (last == 0) return 1;
  const auto rows = [&](int w) { return t.x() * w + t.n * std::min(tiles_y, (15 + w) / w); };
  return 1 +
         model::kNarrowStripe * std::max(0.0, static_cast<double>(rows(last)) / rows(width) - 1);
}

/// Bytes that device memory gives a second time. Several tiles read the same part of an operand
/// along x. In more than one wave, CTAs that are far apart in the raster drift apart in time too,
/// and an operand larger than L2 is gone from there when the second one asks for it. (Tiles along y
/// that share rows of Y are neighbours in the raster.)
double read_again(double x_bytes, double tiles_y, double waves) {
  if (waves <= 1) return 0;
  return model::kAgain * x_bytes * above(x_bytes, model::kCache, 5e6) *
         (std::min(tiles_y, 4.0) - 1);
}

/// Bytes that device memory gives a second time because several tiles stream the same large
/// operand, each at its own pace.
double streamed_again(double bytes, double readers) {
  return readers > 1 ? model::kStreamedAgain * is_streamed(bytes) * bytes : 0;
}

/// How much longer memory takes because some multiprocessors have nothing to read. Each draws its
/// share of the rate, whether the others draw theirs or not: with 100 CTAs most run two to a pair
/// of multiprocessors (TPC), and each gets as much as one of 132. Up to half as many have a TPC
/// each, up to a third are spread further. What the rings of all CTAs hold is asked for at once and
/// not counted. In more than a few waves CTAs run ahead of each other and fill the gaps.
double idle_readers(double ctas, double at_once, double waves, double bytes) {
  if (waves > 4) return 1;
  const double one = ctas <= at_once / 3   ? at_once / 3
                     : ctas <= at_once / 2 ? at_once / 2
                                           : at_once;
  const double slots = waves > 1 ? waves * at_once : one;
  const double late = std::max(0.0, slots / ctas - 1 - model::kNotNoticed);
  const double rest = std::max(0.0, 1 - std::min(ctas, at_once) * model::kRingBytes / bytes);
  return 1 + (waves > 1 ? model::kIdleInMore : model::kIdleInOne) * late * rest;
}

}  // namespace

double predicted_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t k,
                      int sms, bool swapped, int parts, const Many& many) {
  using namespace model;
  const double groups = many.groups;
  const std::int64_t whole_x = ceil_div(x_rows, std::int64_t{t.x()} * t.cluster_x());
  const std::int64_t whole_y = ceil_div(y_rows, std::int64_t{t.n} * t.cluster_y());
  const double tiles_x = static_cast<double>(whole_x) * (swapped ? 1 : many.cut);
  const double tiles_y = static_cast<double>(whole_y) * (swapped ? many.cut : 1);
  const double clusters = groups * tiles_x * tiles_y * parts;
  const int slots = t.cluster <= 2 ? sms * t.ctas / t.cluster : quads_at_once(sms * t.ctas);
  const double waves = std::max(1.0, std::ceil(clusters / slots));
  const double steps = static_cast<double>(ceil_div(ceil_div(k, kBlockK), parts)) * 4;
  const double x_bytes = static_cast<double>(x_rows) * k * 2;
  const double y_bytes = static_cast<double>(y_rows) * k * 2;
  const auto together = [](double a, double b) {
    return std::pow(std::pow(a, kSharp) + std::pow(b, kSharp), 1 / kSharp);
  };
  // One multiprocessor: tensor core, filling of shared memory, epilogue.
  const bool pair = t.cluster == 2;
  const bool quad = t.cluster > 2;
  const double tensor =
      std::max(t.groups * t.blocks * t.n / 2.0, t.groups > 1 ? kFloorTwo : kFloorOne);
  // Boxes of an operand that a cluster shares do not shrink with it (boxes.hpp).
  const std::int64_t beyond =
      !pair ? 0 : std::max<std::int64_t>(t.shares_x ? t.x() - x_rows : t.n - y_rows, 0);
  const double own_x = static_cast<double>(std::min<std::int64_t>(t.load, x_rows));
  const double rows = own_x + t.n + kMissing * (many.missing + static_cast<double>(beyond));
  double fill = rows * 32 / kFillBytes;
  if (t.groups > 1 && t.n < 64) fill += kNarrow * (64 - t.n) / 32;
  // A stage has all of its blocks, and those behind a short K lie behind the end of both operands.
  const auto staged = static_cast<double>(ceil_div(ceil_div(k, kBlockK), t.depth) * t.depth) * 4;
  const double behind = groups > 1 ? staged - steps : 0;
  double steps_of_pair = 1;
  if (quad) {  // what arrives, or what it asks for: its own rows and its share of the others
    const double shared = std::min<double>(t.n, static_cast<double>(y_rows));
    const double asked = own_x * (1 + kQuadStreamed * is_streamed(x_bytes) / tiles_y);
    fill = std::max((own_x + shared) * 32 / kQuadFill,
                    (asked + shared / t.cluster) * 32 / kQuadRequests);
    steps_of_pair = kPairSteps;
  } else if (pair) {
    const bool alone = (t.shares_x ? tiles_y : tiles_x) <= 1;
    const double once = alone ? is_streamed(t.shares_x ? x_bytes : y_bytes) : 0;
    steps_of_pair += (1 - once) * (kPairSteps - 1);
    fill *= once * kPairOnce + (1 - once) * (t.x() == 64 ? kPairAgain : kPairLarge);
  } else if (waves == 1 && parts == 1 && groups == 1) {
    fill *= narrow_stripe(t, static_cast<int>(whole_x), static_cast<int>(whole_y));
  }
  const double boxes = quad ? t.d_slabs() : t.n / static_cast<double>(t.slab());
  const double tile = steps * together(tensor, fill) * steps_of_pair +
                      kBehind * behind * together(tensor, fill) + kTileClocks +
                      kBoxClocks * t.blocks * boxes +
                      (swapped || many.on_x ? kApart * many.apart * (swapped ? t.x() : t.n) : 0) +
                      (many.general ? t.blocks * kGeneralTile + kGeneral * t.x() * t.n : 0);
  const double work = waves * tile / kClock + kStart + (quad ? kQuadStart : pair ? kPairStart : 0);
  // What they share: device memory, L2, power.
  const double bytes =
      groups * (x_bytes + y_bytes + (swapped ? read_again(x_bytes, tiles_y, waves) : 0) +
                many.again * (swapped ? x_bytes : y_bytes)) +
      (groups > 1 ? 0
       : swapped  ? streamed_again(x_bytes, tiles_y)
                  : streamed_again(y_bytes, tiles_x));
  const double idle =  // parts of a tile are many, and each is short
      parts > 1 ? 1 : idle_readers(std::max(1.0, clusters * t.cluster), sms * t.ctas, waves, bytes);
  const double memory = bytes / kMemoryRate * idle + kMemoryStart -
                        kSharedStart * (1 - 1.0 / parts) +
                        groups * static_cast<double>(x_rows) * y_rows * 2 / kOutputRate;
  const double cache =
      groups * (cache_time(x_bytes, tiles_y) + cache_time(y_bytes, tiles_x)) + kCacheStart;
  const double flops =
      groups * 2.0 * tiles_x * t.cluster_x() * t.x() * tiles_y * t.cluster_y() * t.n * k;
  const double power = flops / kPower * (1 + kPowerPerEdge * (1.0 / t.x() + 1.0 / t.n));
  const double wide = x_rows <= 64 && t.n > 112 ? kWideStream * (t.n - 112) / 128 : 0;
  return together(together(work, memory), together(cache, power)) * (1 + wide) *
         (swapped ? 1 + kSwapped * std::min(1.0, static_cast<double>(y_rows) / 512) : 1) *
         (t.groups == 3 ? kThree : 1);
}

/// Waves of tiles, each with a block of 32 k at a time.
double predicted_gather_time(double tiles, std::int64_t k, int sms) {
  const double waves = std::ceil(tiles / sms);  // two CTAs of a multiprocessor take turns
  return 3.0 + waves * static_cast<double>(ceil_div(k, 32)) * model::kGatherBlock;
}

namespace {

/// Kernels of a family.
struct Range {
  int begin, end;
};

/// The kernels that may answer a Question: all, or the forced one. Those of a chain are forced by
/// the name of their geometry, which the realigning kernels may lack, so the range may be empty.
Range kernels_for(const Question& q) {
  const auto geometries = geometries_of(q.family);
  if (q.forced < 0) {
    const std::size_t all = q.family == Family::leaves ? kLeafKernels : geometries.size();
    return {0, static_cast<int>(all)};
  }
  if (q.family != Family::realign) return {q.forced, q.forced + 1};
  const std::string wanted = name(kPlainGeometries[static_cast<std::size_t>(q.forced)]);
  const auto at = std::find_if(geometries.begin(), geometries.end(),
                               [&](const Geometry& t) { return name(t) == wanted; });
  const auto index = static_cast<int>(at - geometries.begin());
  return {index, at == geometries.end() ? index : index + 1};
}

Decision candidate(const Question& q, int kernel, bool swapped) {
  Decision d;
  d.family = q.family;
  d.input = q.input;
  d.form = q.form;
  d.kernel = kernel;
  d.swapped = swapped;
  return d;
}

/// A kernel with the operands on chosen sides.
struct Candidate {
  const Question& q;
  Decision d;
  const Geometry& t = geometry_of(d);
  Sharing s = sharing_of(d);
  std::int64_t x = d.swapped ? q.n : q.m;
  std::int64_t y = d.swapped ? q.m : q.n;
  int slots = slots_for(s, q.sms);
  int at_once =
      std::max(1, slots* t.ctas / (s.parts * t.cluster));  ///< tiles, or tiles of clusters

  Candidate(const Question& question, int kernel, bool swapped)
      : q(question), d(candidate(question, kernel, swapped)) {}

  bool is_deep() const {
    return q.reduction.kind == ReductionKind::tree && leaves_per_part(q, s) > 2;
  }
  int tiles() const { return raster_of(t, x, y, at_once).tiles(); }

  /// The rule by which it does not take the problem, or null.
  const char* why_not() const {
    if ((q.a_mn || q.b_mn) && !t.takes_mn_major()) {
      return "it takes no operand whose M or N runs along memory";
    }
    if (q.family == Family::realign && q.form == Form::from_c && !starts_from_c(t)) {
      return "it does not start from C with rows at odd addresses";
    }
    if (!q.clusters && (t.cluster > 1 || s.split == Split::cluster)) {
      return "it runs in clusters of CTAs, and there is no room for one in the part of the device "
             "that this context may use";
    }
    if (t.cluster > q.sms * t.ctas) return "its clusters need more multiprocessors than it may use";
    if (t.load < t.x() && x > t.load) return "it loads fewer rows than M and N have here";
    if (q.family != Family::leaves) return nullptr;
    if (const char* rule = why_not_leaves(q, t, s); rule != nullptr) return rule;
    // Parts that meet in a cluster wait for each other, so those of all tiles are one wave.
    if (s.parts > 1 && std::int64_t{tiles()} * s.parts > slots) {
      const bool in_rounds =
          s.split == Split::grid && takes_rounds(t, is_deep()) && (kPartsInRounds || q.forced >= 0);
      if (!in_rounds) return "its tiles have more parts than CTAs run at once";
      if (!slices_fit(q, t, s, tiles())) {
        return "the workspace does not hold the sums of so many parts";
      }
    }
    return nullptr;
  }

  /// Quads share what L2 would be asked for several times, which one tile of tokens is not. They
  /// were timed in one wave; a shorter K than kQuadLeastK did not suit them.
  bool does_not_suit_quads() const {
    if (q.family != Family::chain || q.forced >= 0 || t.cluster <= 2) return false;
    return q.k < kQuadLeastK || y <= t.n || tiles() > quads_at_once(q.sms * t.ctas);
  }

  /// Loading 32 rows where there are at most 16 took 1.2 to 1.3 times as long as loading 16.
  bool loads_too_much() const {
    return q.family == Family::leaves && q.forced < 0 && t.load < t.x() && t.load > 16 && x <= 16;
  }

  double time() const {
    if (q.family == Family::leaves) return predicted_leaf_time(q, t, s, x, y, d.swapped);
    return q.family == Family::realign ? predicted_realign_time(t, x, y, q.k, q.sms)
                                       : predicted_time(t, x, y, q.k, q.sms, d.swapped);
  }

  Decision decision() const {
    Decision all = d;
    all.x_mn = d.swapped ? q.b_mn : q.a_mn;
    all.y_mn = d.swapped ? q.a_mn : q.b_mn;
    all.leaves = q.leaves();
    all.deep = is_deep();
    all.folds = q.family == Family::leaves && folds(q, t, s);
    all.cluster = s.split == Split::cluster ? s.parts : t.cluster;
    all.raster = raster_of(t, x, y, at_once);
    all.grid = s.parts * t.cluster * std::min(all.raster.tiles(), at_once);
    if (s.split == Split::grid) all.grid = std::min(s.parts * all.raster.tiles(), slots);
    return all;
  }
};

/// Gather has one kernel, so there is nothing to choose or to force.
Choice choose_gather(const Question& q) {
  Decision d = candidate(q, 0, false);
  d.leaves = q.leaves();
  const std::int64_t tiles = ceil_div(q.m, kGatherTile) * ceil_div(q.n, kGatherTile);
  d.grid = static_cast<int>(std::min(tiles, std::int64_t{kGatherCtasPerSm} * q.sms));
  return {d, nullptr, predicted_gather_time(static_cast<double>(tiles), q.k, q.sms)};
}

}  // namespace

std::span<const Geometry> geometries_of(Family family) {
  if (family == Family::leaves) return kLeafGeometries;
  if (family == Family::realign) return kRealignGeometries;
  if (family == Family::groups) return kGroupedGeometries;
  if (family == Family::fp8 || family == Family::fp8_groups) return kFp8Geometries;
  return kPlainGeometries;
}

const Geometry& geometry_of(const Decision& d) {
  const auto index = static_cast<std::size_t>(d.kernel);
  const bool leaves = d.family == Family::leaves;
  return geometries_of(d.family)[leaves ? index / kSharings.size() : index];
}

Sharing sharing_of(const Decision& d) {
  if (d.family != Family::leaves) return {};
  return kSharings[static_cast<std::size_t>(d.kernel) % kSharings.size()];
}

const char* why_not(const Question& q) {
  const char* rule = kNeedsAlignment;  // where it is not compiled
  if (q.family == Family::gather) return rule;
  const Range range = kernels_for(q);
  for (int i = range.begin; i < range.end; ++i) {
    for (const bool swapped : {false, true}) {
      rule = Candidate(q, i, swapped).why_not();
      if (rule == nullptr) return nullptr;
    }
  }
  return rule;
}

namespace {

/// The cheapest kernel for the operands as they lie.
Choice choose_as_they_lie(const Question& q) {
  Choice best;
  if (q.forced >= 0) best.why_not = why_not(q);
  if (best.why_not != nullptr) return best;
  if (q.family == Family::gather) return choose_gather(q);
  const Range range = kernels_for(q);
  for (int i = range.begin; i < range.end; ++i) {
    for (const bool swapped : {false, true}) {
      if (q.forced < 0 && q.roles == (swapped ? Roles::straight : Roles::swapped)) continue;
      const Candidate c(q, i, swapped);
      if (c.does_not_suit_quads() || c.why_not() != nullptr || c.loads_too_much()) continue;
      const double time = c.time();
      if (best.decision.family != Family::none && time >= best.us) continue;
      best.us = time;
      best.decision = c.decision();
    }
  }
  return best;
}

}  // namespace

Choice choose(const Question& q) {
  const Choice direct = choose_as_they_lie(q);
  if (!q.packing.any()) return direct;
  Choice copied = choose_as_they_lie(packed(q));
  copied.us += predicted_pack_time(q);
  if (copied.why_not != nullptr) return direct;
  if (direct.why_not == nullptr && direct.us <= copied.us) return direct;
  copied.decision.steps.add({Step::pack, q.packing.a, q.packing.b, packed_bytes(q)});
  return copied;
}

}  // namespace detgemm::cuda::sm90
