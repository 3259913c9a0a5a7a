// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose_leaves.hpp"

#include <algorithm>

#include "cuda/sm90/leaves/tile.hpp"
#include "cuda/sm90/tile/problem.hpp"

namespace detgemm::cuda::sm90 {
namespace {

/// CTAs that run at once in clusters of this size, of 132 (cudaOccupancyMaxActiveClusters).
int slots_for(const Sharing& s, int sms) {
  if (s.split != Split::cluster || s.parts == 2) return sms;
  return sms * 120 / 132;
}

/// Leaves [0, count) can be cut into so many parts.
bool divides(const Reduction& r, std::int64_t leaves, int parts) {
  if (parts == 1) return true;
  return r.kind == ReductionKind::tree ? leaves >= parts : leaves == parts;
}

// Constants fitted to measured times of the kernels on an H200 (docs/sm90.md). Over 205 problems,
// of 1 to 32768 tokens, the choice costs 0.9 % against the best kernel.
namespace model {
constexpr double kLeaf = 0.11;      // us a leaf, unless taken in turn
constexpr double kTurn = 0.08;      // us a leaf of a tile that is taken when it has ended
constexpr double kTurnTree = 1.65;  // more where sums wait in the workspace
constexpr double kCluster = 0.044, kClusterKib = 0.052;  // us a part, and a KiB of a slot
constexpr double kGrid = 1.7, kGridKib = 0.128;
constexpr double kPairTree = 1.02;                       // 128x128 in pairs gains trees nothing
constexpr double kPairFromC = 1.02, kAloneFromC = 1.03;  // and from C loses to 128x192
// A chain waits for itself: us before its first k16 step, of a stage, and of a step, at least.
constexpr double kFirst = 3.5, kStage = 0.107, kStep = 0.0075;
}  // namespace model

/// Microseconds of bringing parts together.
double sharing_time(const Sharing& s, const Geometry& t) {
  const double kib = slot_bytes(t) / 1024.0;
  if (s.split == Split::cluster) return model::kCluster * s.parts + model::kClusterKib * kib;
  if (s.split == Split::grid) return model::kGrid + model::kGridKib * kib;
  return 0;
}

/// What 128x128 takes longer than the model of chains says.
double large_tile(const Geometry& t, bool tree, bool from_c) {
  if (t.groups != 2 || t.n != 128) return 1;
  const bool pair = t.cluster > 1;
  if (from_c) return pair ? model::kPairFromC : model::kAloneFromC;
  return pair && tree ? model::kPairTree : 1;
}

double time_of(const GemmArguments& g, const Geometry& t, const Sharing& s, std::int64_t x,
               std::int64_t y, int slots, bool swapped) {
  const std::int64_t count = leaves_of(g.reduction, g.k);
  const auto leaves = static_cast<double>(count) / s.parts;
  const bool tree = g.reduction.kind == ReductionKind::tree;
  const Order order = registers_of(t, tree && (count + s.parts - 1) / s.parts > 2, false).order;
  const double blocks = static_cast<double>(g.k) / (kBlockK * s.parts);
  const double chain = model::kFirst + blocks * (model::kStage / t.depth + 4 * model::kStep);
  const double work = predicted_time(t, x, y, g.k, slots, swapped && s.parts == 1, s.parts);
  const double time =
      std::max(chain, work) * large_tile(t, tree, g.continue_from_c) + sharing_time(s, t);
  if (order != Order::sequential) return time + model::kLeaf * leaves;
  const int at_once = std::max(1, slots / (s.parts * t.cluster));
  const int turns = (raster_of(t, x, y, at_once).tiles() + at_once - 1) / at_once;
  return time + leaves * turns * (model::kTurn + (tree ? model::kTurnTree : 0));
}

}  // namespace

std::string leaf_kernel_name(std::size_t index) {
  const Sharing& s = kSharings[index % kSharings.size()];
  std::string text = name(kLeafGeometries[index / kSharings.size()]);
  if (s.split == Split::cluster) text += "-cluster" + std::to_string(s.parts);
  if (s.split == Split::grid) text += "-grid" + std::to_string(s.parts);
  return text;
}

LeafChoice choose_leaves(const GemmArguments& g, int sms, int forced) {
  LeafChoice best;
  const Path path = leaf_path_of(g);
  best.decision.path = path;
  if (path == Path::gather) {
    best.ok = forced < 0;
    return best;
  }
  const Problem p = make_problem(g, false, false, false);
  const bool any_mn = p.x.mn_major || p.y.mn_major;
  const std::int64_t leaf_blocks = g.reduction.leaf_k / kBlockK;
  const std::int64_t leaves = leaves_of(g.reduction, g.k);
  double least = 0;
  for (std::size_t i = 0; i < kLeafKernels; ++i) {
    if (forced >= 0 && i != static_cast<std::size_t>(forced)) continue;
    const std::size_t geometry = i / kSharings.size();
    const Geometry& t = kLeafGeometries[geometry];
    const Sharing& s = kSharings[i % kSharings.size()];
    if (path == Path::general && !takes_general_leaves(t)) continue;
    if (any_mn && !t.takes_mn_major()) continue;
    if (leaf_blocks % t.depth != 0 || !divides(g.reduction, leaves, s.parts)) continue;
    if (s.split == Split::cluster && s.parts - 1 > shared_slots(t, false)) continue;
    if (t.cluster > 1 && (s.parts > 1 || t.cluster > sms)) continue;
    for (const bool swapped : {false, true}) {
      const std::int64_t x = swapped ? g.n : g.m;
      const std::int64_t y = swapped ? g.m : g.n;
      // For at most 16 rows, loading 32 took 1.2 to 1.3 times as long as loading 16.
      if (t.load < t.x() && (x > t.load || (t.load > 16 && x <= 16 && forced < 0))) continue;
      const int slots = slots_for(s, sms);
      const Raster raster = raster_of(t, x, y, std::max(1, slots / (s.parts * t.cluster)));
      // Parts that wait for each other run at the same time, so a tile's parts are one wave.
      if (s.parts > 1 && std::int64_t{raster.tiles()} * s.parts > slots) continue;
      const double time = time_of(g, t, s, x, y, slots, swapped);
      if (best.ok && time >= least) continue;
      least = time;
      best.ok = true;
      LeafDecision& d = best.decision;
      d.geometry = static_cast<int>(geometry);
      d.swapped = swapped;
      d.sharing = s;
      d.raster = raster;
      const int together = s.parts * t.cluster;
      d.grid = together * std::min(raster.tiles(), std::max(1, slots / together));
    }
  }
  return best;
}

}  // namespace detgemm::cuda::sm90
