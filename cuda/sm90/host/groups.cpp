// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda/sm90/grouped/kernels.hpp"
#include "cuda/sm90/host/boxes.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/launch.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;  // TMA coordinates are 32-bit, signed

/// Batches of short products took 2 % less to 15 % more with two blocks of rows per consumer group
/// than with one twice as wide, whose time the model expects to be the same. Masked groups are
/// taken for batches here; they were not timed.
constexpr double kTwoBlocks = 1.03;

/// Segments of 256 rows on average, drawn at random, took 1.36 and 1.50 times what the model says
/// with 256x128 (128 groups of 1536 x 2048 and 2048 x 768 on an H200, 580 and 341 us), where other
/// tiles took 1.00 to 1.06 times that. Segments of 4096 rows and more do not.
constexpr double kTwoBlocksCut = 0.43;

constexpr const char* kNeedsChain = "it computes chains";
constexpr const char* kNeedsLines =
    "over segments of products it reads A and B through TMA along M and N: op_a is transpose and "
    "op_b none, with lines at multiples of 16 bytes";
constexpr const char* kNeedsStack =
    "it reads rows through TMA: A and B need rows of products, and groups, at multiples of 16 "
    "bytes, all arrays extents below 2^30, and segments of products groups of C and D that are a "
    "whole number of rows apart";

/// Arrays of groups that are one array, whose row g * step + i is row i of group g.
struct Stack {
  std::int64_t stride = 0, step = 0;
  bool ok = true;

  Stack(std::int64_t row_stride, std::int64_t rows, std::int64_t distance, std::int64_t groups)
      : stride(row_stride) {
    if (groups == 1 || distance == 0) return;
    if (rows == 1) stride = distance;
    ok = stride > 0 && distance % stride == 0;
    if (ok) step = distance / stride;
  }
  /// Rows of all groups; at least kMaxRows where that many do not fit.
  std::int64_t rows(std::int64_t of_one, std::int64_t groups) const {
    if (step >= kMaxRows || of_one >= kMaxRows) return kMaxRows;
    return (groups - 1) * step + of_one;
  }
};

bool aligned16(const void* pointer, std::int64_t elements) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0 && elements * 2 % 16 == 0;
}

/// Fold and tree of a single leaf from +0 are the chain.
bool is_chain(const GemmArguments& g) {
  if (g.reduction.kind == ReductionKind::chain) return true;
  const bool single = g.k == 0 || leaves_of(g.reduction, g.k) == 1;
  return single && (g.k == 0 || !g.continue_from_c);
}

/// Whether each group's D is a matrix of a map by itself.
bool maps_d(const GroupedArguments& p) {
  const GemmArguments& g = p.all;
  const std::int64_t bytes = p.distance.d * p.d_bytes;
  const bool steps = p.groups == 1 || (bytes > 0 && bytes % 16 == 0 && p.distance.d < kMaxStride);
  return !reads_c(g) && steps && p.groups < kMaxRows &&
         lines_suit_tma(g.d, g.ds, g.m, g.n, g.output);
}

/// Whether every group begins where TMA takes a tile of C or D. Along N all do. Where columns run
/// along memory the first row of a group is an inner coordinate: any row in segments of rows, a
/// multiple of the distance in a stack. A map with a matrix per group begins with each of them.
///
///   D: N x (2 groups of 132 rows)    | group 0, 264 bytes | group 1 ...    264 is no multiple of
///   16
bool begins_suit_tma(const StackedGroups& all, const Strides& s, DType type) {
  if (all.g.n == 1 || s.col == 1 || all.d_spread) return true;
  return !all.spread && inner_begins_at_16(all.shape.d_step, type == DType::fp32 ? 4 : 2);
}

/// How C is loaded. No map has that of groups which are no stack, or begin where TMA takes no tile.
RingC ring_of(const StackedGroups& all, const Sides& p, const Geometry& t) {
  RingC c = ring_c(all.g, p, t);
  if (!all.d_spread && begins_suit_tma(all, all.g.cs, all.g.c_type)) return c;
  if (!all.g.continue_from_c) return {};
  c.copied = true;
  return c;
}

/// Whether tiles of D go out through TMA, once they are finished.
bool d_suits_tma(const StackedGroups& all) {
  const GemmArguments& g = all.g;
  return all.d_spread ? all.d_by_map
                      : lines_suit_tma(g.d, g.ds, g.m, g.n, g.output) &&
                            begins_suit_tma(all, g.ds, g.output);
}

/// Ordinary stores need the lines of D along y; see roles_for in paths.cpp.
Roles roles_of(const StackedGroups& all, const Sides& p, const Geometry& t) {
  const GemmArguments& g = all.g;
  const RingC c = ring_of(all, p, t);
  const bool ring_32 = c.stages > 0 && !c.is_16;
  const bool by_tma =
      d_suits_tma(all) && (!all.d_spread || suits_chunks(g.epilogue.activation, g.output));
  if ((by_tma && !ring_32) || g.n == 1) return Roles::any;
  return g.ds.col == 1 ? Roles::straight : Roles::any;
}

Sides sides_of(const StackedGroups& all, bool swapped) {
  Sides p = make_sides(all.g, swapped, false, false);
  p.x = swapped ? all.b : all.a;
  p.y = swapped ? all.a : all.b;
  (swapped ? p.y : p.x).rows = all.g.m;  // as D counts them
  return p;
}

template <DType T>
Kernel kernel_for(const Decision& d) {
  if (d.x_mn && d.y_mn) return grouped_kernel_of<T, true, true>(d.kernel);
  if (d.x_mn) return grouped_kernel_of<T, true, false>(d.kernel);
  return d.y_mn ? grouped_kernel_of<T, false, true>(d.kernel)
                : grouped_kernel_of<T, false, false>(d.kernel);
}

/// The map of an operand: vectors of k, one matrix per group where `count` is more than 1.
cudaError_t make_group_map(const Operand& o, DType type, std::int64_t k, std::int64_t rows,
                           std::int64_t count, std::int64_t distance, int box_rows,
                           CUtensorMap* map) {
  TensorShape s;
  s.data = o.data;
  s.type = type;
  s.rank = 3;
  s.extent[o.mn_major ? 1 : 0] = static_cast<std::uint64_t>(k);
  s.extent[o.mn_major ? 0 : 1] = static_cast<std::uint64_t>(rows);
  s.extent[2] = static_cast<std::uint64_t>(count);
  s.stride[0] = static_cast<std::uint64_t>(o.ld) * 2;
  // A matrix by itself has no distance to another; any that is legal and far enough will do. That
  // of several may be less than a row: TMA takes strides in any order, as the boxes of several
  // blocks of k do.
  const std::int64_t lines = o.mn_major ? k : rows;
  s.stride[1] =
      static_cast<std::uint64_t>(count > 1 ? distance : std::min(o.ld * lines, kMaxStride / 2)) * 2;
  s.box[0] = kBlockK;  // also 64 rows of an MN-major operand
  s.box[1] = o.mn_major ? kBlockK : static_cast<std::uint32_t>(box_rows);
  return encode(s, map);
}

}  // namespace

StackedGroups stack_groups(const GroupedArguments& p) {
  StackedGroups all;
  all.g = p.all;
  const GemmArguments& one = p.all;
  const Stack a(one.as.row, one.m, p.distance.a, p.groups);
  const Stack d(one.ds.row, one.m, p.distance.d, p.groups);
  const Stack c(one.cs.row, one.m, p.distance.c, p.groups);
  // Groups of other kinds end where offsets say, and have no matrix of their own in a map.
  const bool may_spread = p.kind == GroupKind::batched || p.kind == GroupKind::m_masked;
  const bool d_stacks = d.ok && (!reads_c(one) || (c.ok && (c.step == d.step || p.groups == 1)));
  all.d_by_map = may_spread && maps_d(p) && (p.kind == GroupKind::batched || !d_stacks);
  all.d_spread = may_spread && (!d_stacks || all.d_by_map);
  if (!all.d_spread) {
    all.g.m = d.rows(one.m, p.groups);
    all.g.ds.row = d.stride;
    all.g.cs.row = c.stride;
  }
  all.g.as.row = a.stride;
  all.g.reduction = {};
  const std::int64_t a_rows = a.rows(one.m, p.groups);
  all.a = make_operand(one.a, a_rows, one.k, a.stride, one.as.col);
  all.b = make_operand(one.b, one.n, one.k, one.bs.col, one.bs.row);
  all.b_distance = p.distance.b;
  all.b_count = p.distance.b > 0 ? p.groups : 1;
  const bool by_offsets = p.kind == GroupKind::m_grouped;
  all.average = std::max<std::int64_t>(1, by_offsets ? ceil_div(one.m, p.groups) : one.m);
  all.expected = by_offsets ? one.m + p.groups : one.m * p.groups;
  all.groups = p.groups;
  all.spread = by_offsets;
  const bool by_k = p.kind == GroupKind::k_grouped;
  if (by_k ? one.reduction.kind != ReductionKind::chain : !is_chain(one)) {
    all.why_not = kNeedsChain;
    return all;
  }
  const auto fits = [&](const Operand& o) {
    return aligned16(o.data, o.ld) && o.rows < kMaxRows && o.ld > 0 && o.ld < kMaxStride;
  };
  const bool a_spread = may_spread && !a.ok;
  const bool stacks = (a.ok || a_spread) && (d_stacks || all.d_spread);
  const bool small = one.k < kMaxRows && one.n < kMaxRows && all.g.m < kMaxRows && one.m > 0 &&
                     p.groups < kMaxRows / ceil_div(one.n, 8) &&
                     ceil_div(all.g.m, 8) + p.groups < kMaxRows / ceil_div(one.n, 8);
  const bool reads = one.k > 0;
  all.by_k = by_k;
  all.k = by_k ? ceil_div(one.k, p.groups) : one.k;
  if (by_k) {
    const bool lines = all.a.mn_major && all.b.mn_major && fits(all.a) && fits(all.b) &&
                       one.as.row <= 1 && one.bs.col <= 1;
    all.why_not = !stacks || !small ? kNeedsStack : !lines ? kNeedsLines : nullptr;
    all.shape.d_step = static_cast<int>(d.step);
    return all;
  }
  const auto steps = [](std::int64_t distance) {
    return distance % 8 == 0 && distance < kMaxStride;
  };
  if (a_spread) all.a_distance = p.distance.a;
  const bool lies = !reads || (!all.a.mn_major && fits(all.a) && fits(all.b) &&
                               steps(all.a_distance) && steps(all.b_distance));
  if (!stacks || !small || !lies) {
    all.why_not = kNeedsStack;
    return all;
  }
  const auto by_rows = [&](const Strides& s) { return one.n == 1 || s.col == 1; };
  const bool any_row = by_rows(one.ds) && (!reads_c(one) || by_rows(one.cs));
  all.shape.a_step = static_cast<int>(a.step);
  all.shape.a_spread = a_spread ? 1 : 0;
  all.shape.b_step = all.b_count > 1 ? 1 : 0;
  if (all.d_spread) {
    all.shape.c_distance = p.distance.c * p.c_bytes;
    all.shape.d_distance = p.distance.d * p.d_bytes;
    all.shape.d_map = all.d_by_map ? 1 : 0;
    all.shape.d_clips = all.d_by_map && p.kind == GroupKind::batched;
  } else {
    all.shape.d_step = static_cast<int>(d.step);
  }
  all.shape.overlaps = any_row && c_and_d_are_apart(p);
  return all;
}

bool takes_groups(const Geometry& t, GroupKind kind, bool a_mn, bool b_mn) {
  if (kind == GroupKind::k_grouped) return a_mn && b_mn && t.takes_mn_major();
  return !a_mn && (!b_mn || t.takes_mn_major());
}

bool takes_groups(int geometry, const GroupedSpec& spec) {
  const bool lines = spec.gemm.k > 1 || spec.kind == GroupKind::k_grouped;
  return takes_groups(kGroupedGeometries[static_cast<std::size_t>(geometry)], spec.kind,
                      lines && spec.gemm.op_a == Op::transpose,
                      lines && spec.gemm.op_b == Op::none);
}

namespace {

/// What the model is told of groups, whose tokens run along tiles of `tokens` and are loaded in
/// boxes of `box` rows. How tokens are spread is unknown: where offsets say it, groups of half
/// to one and a half times the average are taken to be equally likely, one behind the other.
///
///   array   |aaa|bb|cccc|dd|        box of 4 for d: two of its rows are missing, which
///                        [....]     takes longer than to read rows of another group
///
/// Where the tokens of a group take a second tile, memory was seen to give the weights twice: 64x64
/// took 272 to 293 us for 128 groups of 64 tokens on average against 1536 x 2048 weights, which are
/// 183 us of memory, and 299 to 322 for 8 groups against 14336 x 4096, which are 213. A tile at the
/// end of a group is stored output by output if the weights take the x side: 256x128 took 182 us
/// for 128 groups against 2048 x 768, where memory takes 102. In batches all groups end
/// alike, and a cut tile is that of a group smaller than it, or one that may not overlap another.
/// Where D is spread and has no map, or its groups begin where TMA takes no tile, all of a tile is
/// stored so, unless its lines run along y. A map
/// with a matrix per group takes every tile of a batch.
Many many_of(const StackedGroups& all, bool swapped, int tokens, int box) {
  constexpr int kSizes = 16;
  constexpr std::int64_t kPlaces = 64;
  const auto average = static_cast<double>(all.average);
  Many many;
  many.groups = static_cast<double>(all.groups);
  if (all.by_k) return many;
  const auto tiles = static_cast<double>(ceil_div(all.average, std::int64_t{tokens}));
  if (all.spread) {
    double sum = 0, last = 0;
    for (int i = 0; i < kSizes; ++i) {
      const double rows = std::max(1.0, average * (0.5 + (i + 0.5) / kSizes));
      sum += std::ceil(rows / tokens);
      last += std::fmod(rows, tokens);
    }
    many.cut = sum / kSizes / tiles;
    many.again = std::min(sum / kSizes - 1, 1.0);
    many.apart = last / sum;
  } else if (!all.shape.d_clips && (!all.shape.overlaps || all.average < tokens)) {
    // The pieces of a tile are staged whether they hold rows or not.
    many.apart = std::max(static_cast<double>(all.average % tokens), tokens / 4.0) / tiles;
  }
  const bool begins = begins_suit_tma(all, all.g.ds, all.g.output);
  if (!begins || (all.d_spread && !all.d_by_map)) {
    const Strides& lines = all.g.ds;
    many.on_x = true;
    many.apart = (swapped ? lines.row : lines.col) == 1 ? 0.0 : tokens;
  }
  // A batch of 24 x 1000 x 777 x 128, whose D has rows at odd addresses, took 39 us with 128x256,
  // 50 with 128x128 and 112 with 64x64.
  const bool lines_along_y = (swapped ? all.g.ds.row : all.g.ds.col) == 1;
  many.general = !all.spread && !all.d_by_map && lines_along_y && !d_suits_tma(all);
  if (all.shape.a_spread == 1) {  // boxes are no higher than a group, and each ends with its own
    const double behind = tiles * tokens - average;
    if (!all.shape.overlaps && all.average > tokens) many.missing = behind / tiles;
    return many;
  }
  // The last tile of each group; others are further in front.
  const auto places = std::min(all.groups, kPlaces);
  const auto rows = static_cast<double>(all.a.rows);
  for (std::int64_t i = 1; i <= places; ++i) {
    const double behind = rows * static_cast<double>(i) / static_cast<double>(places);
    many.missing += std::max(0.0, box - behind + (tiles - 1) * tokens);
  }
  many.missing /= static_cast<double>(places) * tiles * many.cut;
  return many;
}

}  // namespace

std::span<const KernelInfo> group_kernels() {
  static const auto all = [] {
    std::vector<KernelInfo> list;
    for (const Geometry& t : kGroupedGeometries) {
      list.push_back({name(t), Family::groups, static_cast<int>(list.size())});
    }
    return list;
  }();
  return all;
}

Choice choose_groups(const Question& q) {
  const StackedGroups all = stack_groups(q.problem->gemms);
  Choice choice;
  choice.why_not = all.why_not;
  if (choice.why_not != nullptr) return choice;
  const GroupKind kind = all.by_k ? GroupKind::k_grouped : GroupKind::m_grouped;
  const std::int64_t rows = all.average;
  const std::int64_t n = all.g.n;
  const int geometries = static_cast<int>(kGroupedGeometries.size());
  const Candidate best = best_of(kernels_for(q, geometries), [&](Candidate& c) {
    const Geometry& t = kGroupedGeometries[static_cast<std::size_t>(c.kernel)];
    c.why_not = "it takes no operand whose M or N runs along memory";
    if (!takes_groups(t, kind, all.by_k, all.b.mn_major)) return;
    if (c.swapped && all.by_k) return;  // D and C are rows of fp32, as a rule
    if (c.swapped && roles_of(all, sides_of(all, true), t) == Roles::straight) return;
    c.why_not = nullptr;
    const std::int64_t x = c.swapped ? n : rows;
    const std::int64_t y = c.swapped ? rows : n;
    // Boxes are as high as tiles, also where a group has fewer rows, unless A is spread.
    const bool lower = all.shape.a_spread == 1 && !c.swapped;
    const std::int64_t loaded = lower ? x : std::max<std::int64_t>(x, t.load);
    const Many many = many_of(all, c.swapped, c.swapped ? t.n : t.x(), c.swapped ? t.n : t.load);
    c.time = predicted_time(t, loaded, y, all.k, q.sms, c.swapped, 1, many);
    if (!all.spread && !all.by_k && t.blocks > 1) c.time *= kTwoBlocks;
    if (all.spread && t.blocks > 1) {
      const double cut = std::min(1.0, static_cast<double>(c.swapped ? t.n : t.x()) / rows);
      c.time *= 1 + kTwoBlocksCut * cut * cut;
    }
  });
  choice.why_not = best.why_not;
  if (choice.why_not != nullptr) return choice;
  choice.us = best.time;
  const bool swapped = best.swapped;
  const Geometry& t = kGroupedGeometries[static_cast<std::size_t>(best.kernel)];
  Decision& d = choice.decision;
  d.family = Family::groups;
  d.input = q.input;
  d.kernel = best.kernel;
  d.swapped = swapped;
  d.x_mn = all.by_k || (swapped && all.b.mn_major);
  d.y_mn = !swapped && all.b.mn_major;
  const int at_once = q.sms * t.ctas;
  // Of a larger group than the average: two tiles of tokens read the same weights, so they follow
  // each other. Smaller groups take what they need of it.
  const std::int64_t most = all.spread ? rows + rows / 2 : rows;
  d.raster = raster_of(t, swapped ? n : most, swapped ? most : n, at_once);
  const std::int64_t across = ceil_div(n, std::int64_t{swapped ? t.x() : t.n});
  const int tokens = swapped ? t.n : t.x();
  const std::int64_t tiles = (all.expected / tokens + all.expected / rows + 1) * across;
  d.grid = static_cast<int>(std::min<std::int64_t>(tiles, at_once));
  return choice;
}

Kernel group_kernel_of(const Decision& d) {
  return d.input == DType::bf16 ? kernel_for<DType::bf16>(d) : kernel_for<DType::fp16>(d);
}

std::vector<Decision> compiled_groups(Family family) {
  std::vector<Decision> all;
  Decision d;
  d.family = family;
  for (const DType input : {DType::bf16, DType::fp16}) {
    d.input = input;
    for (const bool x_mn : {false, true}) {
      d.x_mn = x_mn;
      for (const bool y_mn : {false, true}) {
        d.y_mn = y_mn;
        for (d.kernel = 0; d.kernel < static_cast<int>(kGroupedGeometries.size()); ++d.kernel) {
          all.push_back(d);
        }
      }
    }
  }
  return all;
}

cudaError_t launch_groups(const Kernel& kernel, const Decision& d, const Call& given) {
  const GroupedArguments& arguments = given.problem.gemms;
  const StackedGroups all = stack_groups(arguments);
  const Geometry& t = geometry_of(d);
  const Sides p = sides_of(all, d.swapped);
  const Call call{{all.g, Arithmetic::hopper, d.input}, given.options, nullptr};
  LaunchShape shape = shape_of(d, p, call);
  GroupedShape groups = all.shape;
  shape.c = ring_of(all, p, t);
  set_finish(true, all.g, shape);
  shape.d_by_tma = shape.d_by_tma && d_suits_tma(all);
  if (all.d_spread && !c_and_d_are_apart(arguments)) {
    shape.x_last = shape.y_last = std::numeric_limits<int>::max();
  }
  LaunchMaps maps;
  if (all.g.k > 0) {
    const bool a_spread = groups.a_spread == 1;
    const auto make = [&](bool tokens, int box_rows, CUtensorMap* map) {
      if (!tokens) {
        return make_group_map(all.b, d.input, all.g.k, all.b.rows, all.b_count, all.b_distance,
                              box_rows, map);
      }
      int rows = box_rows;
      if (a_spread) rows = static_cast<int>(std::min<std::int64_t>(rows, all.a.rows));
      groups.a_missing = (box_rows - rows) * t.depth * kBlockK * 2;
      return make_group_map(all.a, d.input, all.g.k, all.a.rows, a_spread ? all.groups : 1,
                            all.a_distance, rows, map);
    };
    if (const auto e = make(!d.swapped, t.load, &maps.x); e != cudaSuccess) return e;
    if (const auto e = make(d.swapped, t.n, &maps.y); e != cudaSuccess) return e;
  }
  if (shape.c.stages > 0 && !shape.c.copied) {
    const auto e = make_ring_map(all.g, p, t, shape.c, &maps.c);
    if (e != cudaSuccess) return e;
  }
  if (shape.d_by_tma) {
    const auto e = make_output_map(all.g, p, t, &maps.d, true, all.d_by_map ? all.groups : 1,
                                   arguments.distance.d);
    if (e != cudaSuccess) return e;
  }
  // A group may have no products, and then a NaN of C becomes canonical by a multiplication by 1.
  if (all.by_k && all.g.continue_from_c && shape.in_registers) shape.finishes = true;
  groups.lags = !all.by_k && d.raster.tiles() * ceil_div(all.expected, all.average) > d.grid;
  GroupedArguments device = arguments;
  device.all.reduction = {};
  device.all.cs.row = all.g.cs.row;  // of one row per group, too
  device.all.ds.row = all.g.ds.row;
  void* parameters[] = {&maps, &shape, &device, &groups};
  return launch(kernel, d.grid, given.queue(), parameters);
}

}  // namespace detgemm::cuda::sm90
