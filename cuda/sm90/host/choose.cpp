// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cuda/device_model.hpp"
#include "cuda/sm90/fp8/tile.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/grouped/tile.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "cuda/sm90/host/packing.hpp"
#include "cuda/sm90/host/realign.hpp"
#include "cuda/sm90/leaves/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr const DeviceModel::Chain& model = device_model().chain;
constexpr std::int64_t kShortK = 256;  // see Tiling::stores_fast

/// 0 for an operand far below `limit`, 1 for one far above.
double above(double bytes, double limit, double width) {
  return 1 / (1 + std::exp((limit - bytes) / width));
}
/// Clusters of four: of 132 multiprocessors, 120 hold them, as cudaOccupancyMaxActiveClusters says.
int quads_at_once(int ctas) { return std::max(1, ctas * 120 / 132 / 4); }

double is_streamed(double bytes) { return above(bytes, model.resident, 3e6); }

/// The time that L2 needs for one operand, which each of `readers` tiles (or clusters) on the other
/// side reads once.
double cache_time(double bytes, double readers) {
  const double streamed = is_streamed(bytes);
  return bytes * readers * (streamed / model.stream_rate + (1 - streamed) / model.reuse_rate);
}

/// How much longer the fill of shared memory takes where tiles of one wave end in a stripe narrower
/// than the others: there 16 neighbours load more different rows, and all wait for the slowest.
/// Five tiles in stripes of four were 7 to 20 % slower than the model without this.
double narrow_stripe(const Geometry& t, int tiles_x, int tiles_y) {
  const int tiles = tiles_x * tiles_y;
  if (t.cluster > 1 || tiles_x == 1 || tiles <= 16) return 1;
  const int width = stripe(t, tiles_x, tiles_y, tiles);
  const int last = tiles_x % width;
  if (last == 0) return 1;
  const auto rows = [&](int w) { return t.x() * w + t.n * std::min(tiles_y, (15 + w) / w); };
  return 1 + model.narrow_stripe * std::max(0.0, static_cast<double>(rows(last)) / rows(width) - 1);
}

/// Bytes that device memory gives a second time. Several tiles read the same part of an operand
/// along x. In more than one wave, CTAs that are far apart in the raster drift apart in time too,
/// and an operand larger than L2 is gone from there when the second one loads it. (Tiles along y
/// that share rows of Y are neighbours in the raster.)
double read_again(double x_bytes, double tiles_y, double waves) {
  if (waves <= 1) return 0;
  return model.again * x_bytes * above(x_bytes, model.cache, 5e6) * (std::min(tiles_y, 4.0) - 1);
}

/// Bytes that device memory gives a second time because several tiles stream the same large
/// operand, each at its own pace.
double streamed_again(double bytes, double readers) {
  return readers > 1 ? model.streamed_again * is_streamed(bytes) * bytes : 0;
}

/// How much longer memory takes because some multiprocessors have nothing to read. Each draws its
/// share of the rate, whether the others draw theirs or not: with 100 CTAs most run two to a pair
/// of multiprocessors (TPC), and each gets as much as one of 132. Up to half as many have a TPC
/// each, up to a third are spread further. What the rings of all CTAs hold is requested at once and
/// not counted. In more than a few waves CTAs run ahead of each other and fill the gaps.
double idle_readers(double ctas, double at_once, double waves, double bytes) {
  if (waves > 4) return 1;
  const double one = ctas <= at_once / 3   ? at_once / 3
                     : ctas <= at_once / 2 ? at_once / 2
                                           : at_once;
  const double slots = waves > 1 ? waves * at_once : one;
  const double late = std::max(0.0, slots / ctas - 1 - model.not_noticed);
  const double rest = std::max(0.0, 1 - std::min(ctas, at_once) * model.ring_bytes / bytes);
  return 1 + (waves > 1 ? model.idle_in_more : model.idle_in_one) * late * rest;
}

}  // namespace

double predicted_time(const Geometry& t, std::int64_t x_rows, std::int64_t y_rows, std::int64_t k,
                      int sms, bool swapped, int parts, const Many& many) {
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
    return std::pow(std::pow(a, model.sharp) + std::pow(b, model.sharp), 1 / model.sharp);
  };
  // One multiprocessor: tensor core, filling of shared memory, epilogue.
  const bool pair = t.cluster == 2;
  const bool quad = t.cluster > 2;
  const double tensor =
      std::max(t.x() / 64 * t.n / 2.0, t.groups > t.turns ? model.floor_two : model.floor_one);
  // Boxes of an operand that a cluster shares do not shrink with it (boxes.hpp).
  const std::int64_t beyond =
      !pair ? 0 : std::max<std::int64_t>(t.shares_x ? t.x() - x_rows : t.n - y_rows, 0);
  const double own_x = static_cast<double>(std::min<std::int64_t>(t.load, x_rows));
  const double rows = own_x + t.n + model.missing * (many.missing + static_cast<double>(beyond));
  double fill = rows * 32 / model.fill_bytes;
  if (t.groups > 1 && t.n < 64) fill += model.narrow * (64 - t.n) / 32;
  // A stage has all of its blocks, and those past a short K are past the end of both operands.
  const auto staged = static_cast<double>(ceil_div(ceil_div(k, kBlockK), t.depth) * t.depth) * 4;
  const double behind = groups > 1 ? staged - steps : 0;
  double steps_of_pair = 1;
  if (quad) {  // what arrives, or what it requests: its own rows and its share of the others
    const double shared = std::min<double>(t.n, static_cast<double>(y_rows));
    const double asked = own_x * (1 + model.quad_streamed * is_streamed(x_bytes) / tiles_y);
    fill = std::max((own_x + shared) * 32 / model.quad_fill,
                    (asked + shared / t.cluster) * 32 / model.quad_requests);
    steps_of_pair = model.pair_steps;
  } else if (pair) {
    const bool alone = (t.shares_x ? tiles_y : tiles_x) <= 1;
    const double once = alone ? is_streamed(t.shares_x ? x_bytes : y_bytes) : 0;
    steps_of_pair += (1 - once) * (model.pair_steps - 1);
    fill *=
        once * model.pair_once + (1 - once) * (t.x() == 64 ? model.pair_again : model.pair_large);
  } else if (waves == 1 && parts == 1 && groups == 1) {
    fill *= narrow_stripe(t, static_cast<int>(whole_x), static_cast<int>(whole_y));
  }
  const double boxes = many.pieces ? t.n / static_cast<double>(t.slab()) : t.d_slabs();
  const double chains = steps * together(tensor, fill) * steps_of_pair +
                        model.behind * behind * together(tensor, fill);
  const double finish =
      model.tile_clocks + model.box_clocks * t.blocks * boxes +
      (many.activates ? model.activate * t.blocks * t.n : 0) +
      (swapped || many.on_x ? model.apart * many.apart * (swapped ? t.x() : t.n) : 0) +
      (many.general ? t.blocks * model.general_tile + model.general * t.x() * t.n : 0);
  // Of tiles in turn the next one is multiplied meanwhile.
  const double turn = std::max(chains + model.turn_clocks, (chains + finish) / 2);
  const double tiles = t.turns > 1 ? waves * turn + finish : waves * (chains + finish);
  const double work = tiles / model.clock + model.start +
                      (quad   ? model.quad_start
                       : pair ? model.pair_start
                              : 0);
  // What they share: device memory, L2, power.
  const double bytes =
      groups * (x_bytes + y_bytes + (swapped ? read_again(x_bytes, tiles_y, waves) : 0) +
                many.again * (swapped ? x_bytes : y_bytes)) +
      (groups > 1 ? 0
       : swapped  ? streamed_again(x_bytes, tiles_y)
                  : streamed_again(y_bytes, tiles_x));
  const double idle =  // parts of a tile are many, and each is short
      parts > 1 ? 1 : idle_readers(std::max(1.0, clusters * t.cluster), sms * t.ctas, waves, bytes);
  const double memory = bytes / model.memory_rate * idle + model.memory_start -
                        model.shared_start * (1 - 1.0 / parts) +
                        groups * static_cast<double>(x_rows) * y_rows * 2 / model.output_rate;
  const double cache =
      groups * (cache_time(x_bytes, tiles_y) + cache_time(y_bytes, tiles_x)) + model.cache_start;
  const double flops =
      groups * 2.0 * tiles_x * t.cluster_x() * t.x() * tiles_y * t.cluster_y() * t.n * k;
  const double power = flops / model.power * (1 + model.power_per_edge * (1.0 / t.x() + 1.0 / t.n));
  // Weights on the x side that memory streams to several light tiles of tokens.
  const bool light = swapped && groups == 1 && waves > 1 && tiles_y > 1 && t.groups < 3 &&
                     t.x() <= 128 && t.n <= 112;
  const double drifts = light ? model.light * is_streamed(x_bytes) : 0;
  const double wide = x_rows <= 64 && t.n > 112 ? model.wide_stream * (t.n - 112) / 128 : 0;
  return together(together(work, memory), together(cache, power)) * (1 + wide) * (1 + drifts) *
         (swapped ? 1 + model.swapped * std::min(1.0, static_cast<double>(y_rows) / 512) : 1) *
         (t.groups < 3             ? 1
          : waves > 2 && t.n <= 80 ? model.three_light
                                   : model.three);
}

bool lost_where_timed(const Geometry& t, std::int64_t k, bool swapped) {
  if (t.cluster > 1 || t.load < t.x() || t.turns > 1) return false;
  if (t.groups == 3) return t.n == 192;
  if (t.groups == 2 && t.blocks == 1) return (t.n == 72 && k > 4096) || (t.n == 56 && k <= 2048);
  return t.x() == 64 && t.n == 72 && !swapped && k <= 16384;
}

/// Waves of tiles, each with a block of 32 k at a time.
double predicted_gather_time(double tiles, std::int64_t k, int sms) {
  const double waves = std::ceil(tiles / sms);  // two CTAs of a multiprocessor take turns
  return 3.0 + waves * static_cast<double>(ceil_div(k, 32)) * model.gather_block;
}

namespace {

int kernel_count(Family family) {
  if (family == Family::leaves) return static_cast<int>(kLeafKernels);
  return static_cast<int>(geometries_of(family).size());
}

/// Kernels of a chain are forced by the name of their geometry, which the realigning kernels may
/// lack, so the range may be empty.
KernelRange kernels_for(const Question& q) {
  if (q.forced < 0 || q.family != Family::realign) {
    return cuda::kernels_for(q, kernel_count(q.family));
  }
  const auto geometries = geometries_of(q.family);
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
struct Tiling {
  const Question& q;
  Decision d;
  const Geometry& t = geometry_of(d);
  Sharing s = sharing_of(d);
  std::int64_t x = d.swapped ? q.n : q.m;
  std::int64_t y = d.swapped ? q.m : q.n;
  int slots = slots_for(s, q.sms);
  int at_once =
      std::max(1, slots* t.ctas / (s.parts * t.cluster));  ///< tiles, or tiles of clusters

  Tiling(const Question& question, int kernel, bool swapped)
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
    if (t.turns > 1 && (q.k == 0 || q.reads_c)) {
      return "its groups take tiles in turn: a tile has products, and no C";
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

  /// Quads share what would be loaded from L2 several times, which one tile of tokens is not. They
  /// were timed in one wave; a shorter K than kQuadLeastK did not suit them.
  bool does_not_suit_quads() const {
    if (q.family != Family::chain || q.forced >= 0 || t.cluster <= 2) return false;
    return q.k < kQuadLeastK || y <= t.n || tiles() > quads_at_once(q.sms * t.ctas);
  }

  /// Loading 32 rows where there are at most 16 took 1.2 to 1.3 times as long as loading 16.
  bool loads_too_much() const {
    return q.family == Family::leaves && q.forced < 0 && t.load < t.x() && t.load > 16 && x <= 16;
  }

  /// A short K across which both operands run, as of a large head's gradient for few tokens: most
  /// of the time is D's, and one geometry stores it faster than others of the same model time.
  bool stores_fast() const {
    if (q.family != Family::chain || !q.a_mn || !q.b_mn || q.k > kShortK) return false;
    if (tiles() < 4 * at_once) return false;
    return q.k <= kBlockK ? t.groups == 2 && t.turns == 1 && t.x() == 128 && t.n == 192
                          : t.groups == 3 && t.n == 128;
  }

  double time(bool activates) const {
    if (q.family == Family::leaves) return predicted_leaf_time(q, t, s, x, y, d.swapped);
    if (q.family == Family::realign) return predicted_realign_time(t, x, y, q.k, q.sms);
    Many one;
    one.activates = activates;
    return predicted_time(t, x, y, q.k, q.sms, d.swapped, 1, one) *
           (stores_fast() ? model.short_k : 1);
  }

  Decision decision() const {
    Decision all = d;
    all.x_mn = d.swapped ? q.b_mn : q.a_mn;
    all.y_mn = d.swapped ? q.a_mn : q.b_mn;
    all.leaves = q.leaves();
    all.deep = is_deep();
    all.folds = q.family == Family::leaves && folds(q, t, s);
    all.from_c = all.folds && q.from_c;
    all.trees = q.family == Family::leaves && wide_tree(q, t, s);
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
  const KernelRange kernels = kernels_for(q);
  // Where it is not compiled. Gather is one kernel, which cannot be forced.
  if (q.family == Family::gather || kernels.begin == kernels.end) return kNeedsAlignment;
  const auto judge = [&](Candidate& c) { c.why_not = Tiling(q, c.kernel, c.swapped).why_not(); };
  return best_of(kernels, judge).why_not;
}

namespace {

/// The cheapest kernel for the operands without a copy.
Choice choose_in_place(const Question& q) {
  Choice choice;
  if (q.forced >= 0) choice.why_not = why_not(q);
  if (choice.why_not != nullptr) return choice;
  if (q.family == Family::gather) return choose_gather(q);
  const Candidate best = best_of(kernels_for(q), [&](Candidate& c) {
    c.why_not = "other roles or kernels suit it better";
    if (q.forced < 0 && q.roles == (c.swapped ? Roles::straight : Roles::swapped)) return;
    const Tiling tiling(q, c.kernel, c.swapped);
    if (tiling.does_not_suit_quads() || tiling.loads_too_much()) return;
    if (q.family == Family::chain && q.forced < 0 && lost_where_timed(tiling.t, q.k, c.swapped)) {
      return;
    }
    c.why_not = tiling.why_not();
    if (c.why_not == nullptr) c.time = tiling.time(q.activates);
  });
  choice.why_not = best.why_not;
  if (choice.why_not != nullptr) return choice;
  const Tiling tiling(q, best.kernel, best.swapped);
  // Other families count no activation, and are compared by what is left.
  choice.us = tiling.time(false);
  choice.decision = tiling.decision();
  return choice;
}

}  // namespace

Choice choose(const Question& q) {
  const Choice direct = choose_in_place(q);
  if (!q.packing.any()) return direct;
  Choice copied = choose_in_place(packed(q));
  copied.us += predicted_pack_time(q);
  if (copied.why_not != nullptr) return direct;
  if (direct.why_not == nullptr && direct.us <= copied.us) return direct;
  copied.decision.steps.add({Step::pack, q.packing.a, q.packing.b, packed_bytes(q)});
  return copied;
}

}  // namespace detgemm::cuda::sm90
