// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/choose_leaves.hpp"
#include "cuda/sm90/host/launch.hpp"
#include "cuda/sm90/leaves/tile.hpp"

namespace detgemm::cuda::sm90 {
namespace {

/// The maximum size of a slot, summed over the CTAs of a multiprocessor.
constexpr std::size_t kSlotBytesPerSm = 128 * 1024;

/// The words at the start of the workspace, one per tile.
std::size_t words_bytes(int sms) { return (static_cast<std::size_t>(sms) * 8 + 255) / 256 * 256; }

int levels_of(const Reduction& r, std::int64_t leaves) {
  return r.kind == ReductionKind::tree ? waiting_sums(leaves) : 0;
}

/// Slots of the workspace per CTA, for the sums that wait in a part of so many leaves.
int levels_for(bool tree, int leaves, const Registers& registers) {
  if (!tree) return 0;
  if (registers.order == Order::runs) return run_levels(leaves);
  return std::max(0, waiting_sums(leaves) + 1 - registers.sums);
}

/// Numbers the launches of this process. The numbers begin anywhere, so that a word that another
/// process left in a workspace is not taken for one of this launch.
std::uint64_t next_launch() {
  static std::atomic<std::uint64_t> counter{
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) *
      0x9e3779b97f4a7c15ULL};
  const std::uint64_t below =
      counter.fetch_add(1, std::memory_order_relaxed) & ((std::uint64_t{1} << 56) - 1);
  return below == 0 ? 1 : below;
}

LeafShape leaf_shape(const Decision& d, const Call& call) {
  const GemmArguments& g = call.g();
  const Geometry& t = geometry_of(d);
  const Sharing sharing = sharing_of(d);
  LeafShape s;
  // The only leaf of a fold from C may be declared longer than any k.
  constexpr std::int64_t kMaxBlocks = (std::int64_t{1} << 30) / kBlockK;
  s.leaf_blocks = static_cast<int>(std::min(g.reduction.leaf_k / kBlockK, kMaxBlocks));
  s.leaves = static_cast<int>(leaves_of(g.reduction, g.k));
  s.tree = g.reduction.kind == ReductionKind::tree;
  s.parts = sharing.parts;
  s.split = sharing.split;
  const bool deep = d.deep && has_deep(t);
  const int per_part = (s.leaves + s.parts - 1) / s.parts;
  s.levels = d.trees ? run_levels(s.leaves) : levels_for(s.tree, per_part, registers_of(t, deep));
  const int arriving = s.split == Split::cluster ? s.parts - 1 : 0;
  s.shared_levels = std::min(s.levels, shared_slots(t, deep) - arriving);
  s.from_c = g.continue_from_c;
  auto* base = static_cast<char*>(call.workspace);
  s.arrived = reinterpret_cast<std::uint64_t*>(base);
  s.slices = base + words_bytes(call.options.sms);
  const auto slot = static_cast<std::size_t>(slot_bytes(t));
  auto* waiting = static_cast<char*>(s.slices);
  if (s.split == Split::grid) {
    const auto tiles = static_cast<std::size_t>(d.raster.tiles());
    waiting += tiles * static_cast<std::size_t>(s.parts) * slot;
    if (d.raster.tiles() > call.options.sms) {  // more words than there is room for at the start
      s.arrived = reinterpret_cast<std::uint64_t*>(
          waiting + static_cast<std::size_t>(d.grid) * static_cast<std::size_t>(s.levels) * slot);
    }
  }
  s.waiting = waiting;
  s.launch = s.split == Split::grid ? next_launch() : 1;
  return s;
}

}  // namespace

std::size_t leaf_workspace(const Reduction& reduction, std::int64_t max_m, std::int64_t n,
                           std::int64_t k, int sms) {
  if (reduction.kind == ReductionKind::chain || max_m == 0 || n == 0) return 0;
  const std::int64_t leaves = leaves_of(reduction, k);
  if (leaves <= 1) return 0;
  // The slots of one level, of all CTAs: their tiles cover the output, rounded up to whole tiles,
  // once for each of at most 8 parts.
  const double area = (static_cast<double>(max_m) + 255) * (static_cast<double>(n) + 255) * 32;
  const double max = static_cast<double>(sms) * kSlotBytesPerSm;
  const auto level = static_cast<std::size_t>(std::min(area, max));
  return words_bytes(sms) + level * (1 + static_cast<std::size_t>(levels_of(reduction, leaves)));
}

bool slices_fit(const Question& q, const Geometry& t, const Sharing& s, std::int64_t tiles) {
  const bool tree = q.reduction.kind == ReductionKind::tree;
  const auto per_part = static_cast<int>(leaves_per_part(q, s));
  const int levels = levels_for(tree, per_part, registers_of(t, tree && per_part > 2));
  const std::int64_t slots = tiles * s.parts + std::int64_t{q.sms} * levels;
  const std::size_t needed =
      words_bytes(q.sms) +
      static_cast<std::size_t>(slots) * static_cast<std::size_t>(slot_bytes(t)) +
      static_cast<std::size_t>(tiles) * 8;
  return needed <= leaf_workspace(q.reduction, q.m, q.n, q.k, q.sms);
}

cudaError_t launch_leaves(const Kernel& kernel, const Decision& d, const Call& call) {
  const Sides p = sides_of(d, call);
  const Geometry& t = geometry_of(d);
  LaunchShape shape = shape_of(d, p, call);
  LaunchMaps maps;
  if (const auto e = make_maps(d, p, call, shape, &maps); e != cudaSuccess) return e;
  LeafShape leaf = leaf_shape(d, call);
  // The last tile may begin at any column.
  const bool at_chunks =
      shape.y_last == std::numeric_limits<int>::max() || inner_begins_at_16(shape.y_last, 4);
  leaf.c_by_tma = leaf.from_c && !d.folds && takes_c_by_tma(t, call.g().output) && at_chunks &&
                  c_suits_tma(call.g(), p);
  if (leaf.c_by_tma) {
    if (const auto e = make_c_map(call.g(), p, t, &maps.c); e != cudaSuccess) return e;
  }
  GemmArguments g = call.g();
  void* arguments[] = {&maps, &shape, &g, &leaf};
  return launch(kernel, d.grid, call.queue(), arguments);
}

}  // namespace detgemm::cuda::sm90
