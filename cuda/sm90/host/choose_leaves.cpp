// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/choose_leaves.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/device_model.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/leaves/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

/// Whether leaves [0, count) can be cut into so many parts.
bool divides(const Reduction& r, std::int64_t leaves, int parts) {
  if (parts == 1) return true;
  return r.kind == ReductionKind::tree ? leaves >= parts : leaves == parts;
}

constexpr const DeviceModel::Leaves& model = device_model().leaves;

/// Microseconds of bringing parts together.
double sharing_time(const Sharing& s, const Geometry& t) {
  const double kib = slot_bytes(t) / 1024.0;
  if (s.split == Split::cluster) return model.cluster * s.parts + model.cluster_kib * kib;
  if (s.split == Split::grid) return model.grid + model.grid_kib * kib;
  return 0;
}

/// By what factor 128x128 takes longer than the model of chains says.
double large_tile(const Geometry& t, bool tree, bool from_c) {
  if (t.groups != 2 || t.n != 128) return 1;
  const bool pair = t.cluster > 1;
  if (from_c) return pair ? model.pair_from_c : model.alone_from_c;
  return pair && tree ? model.pair_tree : 1;
}

}  // namespace

bool folds(const Question& q, const Geometry& t, const Sharing& s) {
  if (s.parts > 1) return false;
  const bool is_fold = q.reduction.kind == ReductionKind::fold;
  if (q.from_c) return is_fold && has_fold_from_c(t, q.a_mn, q.b_mn);
  return (is_fold || leaves_of(q.reduction, q.k) == 2) && has_fold(t);
}

bool wide_tree(const Question& q, const Geometry& t, const Sharing& s) {
  return q.reduction.kind == ReductionKind::tree && s.parts == 1 && has_tree(t) &&
         leaves_of(q.reduction, q.k) > 2;
}

int slots_for(const Sharing& s, int sms) {
  if (s.split != Split::cluster || s.parts == 2) return sms;
  return sms * 120 / 132;  // of 132, as cudaOccupancyMaxActiveClusters says for clusters of 4 and 8
}

double predicted_leaf_time(const Question& q, const Geometry& t, const Sharing& s, std::int64_t x,
                           std::int64_t y, bool swapped) {
  const int slots = slots_for(s, q.sms);
  const auto leaves = static_cast<double>(leaves_of(q.reduction, q.k)) / s.parts;
  const bool tree = q.reduction.kind == ReductionKind::tree;
  const Order order = registers_of(t, tree && leaves_per_part(q, s) > 2).order;
  const double blocks = static_cast<double>(q.k) / (kBlockK * s.parts);
  const double chain = model.first + blocks * (model.stage / t.depth + 4 * model.step);
  Many one;
  one.pieces = true;
  const double work = predicted_time(t, x, y, q.k, slots, swapped && s.parts == 1, s.parts, one);
  double time =
      std::max(chain, work) * large_tile(t, tree, q.from_c && !folds(q, t, s)) + sharing_time(s, t);
  if (s.split == Split::grid) {  // every round writes slices, and joins those of its tiles
    const double units =
        static_cast<double>(raster_of(t, x, y, std::max(1, slots / s.parts)).tiles()) * s.parts;
    time += (std::ceil(units / slots) - 1) * sharing_time(s, t);
  }
  const int at_once = std::max(1, slots / (s.parts * t.cluster));
  const int turns = (raster_of(t, x, y, at_once).tiles() + at_once - 1) / at_once;
  if (order == Order::runs && swapped && t.cluster == 1 && turns > 1) time *= model.swapped_tree;
  if (folds(q, t, s)) {
    if (order == Order::sequential) return time + model.fold_turn * leaves * turns;
    return time + (t.groups == 1 ? model.fold_one : model.fold_two) * leaves;
  }
  if (wide_tree(q, t, s)) {
    const double passed = run_levels(leaves_of(q.reduction, q.k));
    const double wide = t.n > 160 ? model.tree_wide : 1;
    return time * wide + turns * (model.tree_leaf * leaves + model.tree_run * passed);
  }
  if (order != Order::sequential) return time + model.leaf * leaves;
  return time + leaves * turns * (model.turn + (tree ? model.turn_tree : 0));
}

std::string leaf_kernel_name(std::size_t index) {
  const Sharing& s = kSharings[index % kSharings.size()];
  std::string text = name(kLeafGeometries[index / kSharings.size()]);
  if (s.split == Split::cluster) text += "-cluster" + std::to_string(s.parts);
  if (s.split == Split::grid) text += "-grid" + std::to_string(s.parts);
  return text;
}

const char* why_not_leaves(const Question& q, const Geometry& t, const Sharing& s) {
  if (q.k == 0) return "k is 0, and it brings leaves together";
  if (q.reduction.leaf_k / kBlockK % t.depth != 0) {
    return "LEAF is not a multiple of the k that one stage of its pipeline holds";
  }
  if (!divides(q.reduction, leaves_of(q.reduction, q.k), s.parts)) {
    return "the leaves cannot be cut into as many parts as share a tile (a tree needs a leaf for "
           "each "
           "part, a fold exactly one)";
  }
  if (s.split == Split::cluster && s.parts - 1 > shared_slots(t, false)) {
    return "shared memory does not hold the sums of so many parts";
  }
  if (t.cluster > 1 && s.parts > 1) return "its pairs share an operand, so they share no leaves";
  return nullptr;
}

}  // namespace detgemm::cuda::sm90
