// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "cuda/sm90/host/fp8_groups.hpp"
#include "cuda/sm90/host/fp8_parts.hpp"
#include "cuda/sm90/host/groups.hpp"
#include "cuda/sm90/host/launch.hpp"
#include "tests/cuda/sm90/fakes.hpp"

// A property of every family: no box of TMA begins at an inner coordinate that is no multiple of 16
// bytes. Random problems with every layout go to the fake runtime, and the tiles of what is
// launched are walked as the kernels walk them. A device ends such a box with an illegal
// instruction.

namespace detgemm::test {
namespace {

using namespace cuda;
using namespace cuda::sm90;

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_()) % n;  // of 32 bits: never negative
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  /// An extent: any, or one whose lines are whole multiples of 16 bytes.
  std::int64_t extent(std::int64_t most) {
    return one_in(2) ? 1 + below(most) : 4 * (1 + below(most / 4));
  }

 private:
  std::mt19937 random_;
};

/// What was found in a launch.
struct Found {
  long launches = 0;
  long boxes_of_d = 0, boxes_of_c = 0, boxes_of_operands = 0;
  long misaligned = 0;

  void look(long& boxes, std::int64_t coordinate, std::int64_t element_bytes) {
    ++boxes;
    misaligned += coordinate * element_bytes % 16 != 0 ? 1 : 0;
  }
  void look_at_results(const LaunchShape& s, bool d_by_tma, std::int64_t x, std::int64_t y) {
    if (d_by_tma) look(boxes_of_d, s.d_x_contiguous ? x : y, s.output == DType::fp32 ? 4 : 2);
    if (s.c.stages > 0 && !s.c.copied) {
      look(boxes_of_c, s.c.x_contiguous ? x : y, s.c.is_16 ? 2 : 4);
    }
  }
};

void* at(std::int64_t place) { return reinterpret_cast<void*>(place << 32); }
std::int64_t up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Lines of an m x n matrix: rows or columns along memory, packed or padded.
Strides lines(Draws& r, std::int64_t m, std::int64_t n) {
  const bool columns = r.one_in(2);
  const std::int64_t pitch = (r.one_in(2) ? up(columns ? m : n, 8) : (columns ? m : n)) +
                             (r.one_in(3) ? 1 + r.below(9) : 0);
  return columns ? Strides{1, pitch} : Strides{pitch, 1};
}

/// How the results of a product are finished, and in which types.
void draw_results(Draws& r, GemmArguments& g, bool may_continue) {
  g.output = r.one_in(2) ? DType::bf16 : DType::fp32;
  g.c_type = g.output;
  g.epilogue.alpha = 1;
  g.c = at(4);
  g.d = at(3);
  g.ds = lines(r, g.m, g.n);
  g.cs = r.one_in(2) ? g.ds : lines(r, g.m, g.n);
  const std::int64_t way = r.below(4);
  if (way == 1) g.epilogue.beta = 0.5F;
  if (way == 2 && may_continue) {
    g.continue_from_c = true;
    g.c_type = DType::fp32;
  }
  if (r.one_in(8) && g.c_type == g.output) {
    g.c = g.d;
    g.cs = g.ds;
  }
  if (r.one_in(6)) g.epilogue.activation = Activation::silu;
}

LaunchOptions options_of(Draws& r) {
  LaunchOptions o;
  o.sms = r.one_in(4) ? 16 : 132;
  return o;
}

/// The tiles of one product: those of whole clusters, of which some lie behind the end.
void look_at_tiles(const Geometry& t, const Sides& p, const Recorded& r, bool operands,
                   Found& found) {
  const LaunchShape& s = r.shape;
  const auto tiles = [](std::int64_t rows, int tile, int cluster) {
    return up(ceil_div(rows, std::int64_t{tile}), cluster);
  };
  for (std::int64_t i = 0; i < tiles(p.x.rows, t.x(), t.cluster_x()); ++i) {
    for (std::int64_t j = 0; j < tiles(p.y.rows, t.n, t.cluster_y()); ++j) {
      const std::int64_t x = std::min<std::int64_t>(i * t.x(), s.x_last);
      const std::int64_t y = std::min<std::int64_t>(j * t.n, s.y_last);
      found.look_at_results(s, s.d_by_tma, x, y);
      if (r.leaf.c_by_tma) found.look(found.boxes_of_c, y, 4);
      if (operands && p.x.mn_major) found.look(found.boxes_of_operands, x, 2);
      if (operands && p.y.mn_major) found.look(found.boxes_of_operands, y, 2);
    }
  }
}

TEST(InnerCoordinates, OfSingleProductsAreMultiplesOf16Bytes) {
  Draws draws(5);
  std::map<Family, Found> by;
  for (int turn = 0; turn < 48000; ++turn) {
    GemmArguments g;
    g.m = draws.extent(600), g.n = draws.extent(600), g.k = 8 * (1 + draws.below(40));
    if (draws.one_in(8)) g.k -= 3;
    const std::int64_t unit = draws.one_in(5) ? 1 : 8;
    g.a = at(1), g.b = at(2);
    g.as = draws.one_in(2) ? Strides{1, up(g.m, unit)} : Strides{up(g.k, unit), 1};
    g.bs = draws.one_in(2) ? Strides{up(g.n, unit), 1} : Strides{1, up(g.k, unit)};
    const std::int64_t reduction = draws.below(4);
    if (reduction == 1) g.reduction = {ReductionKind::fold, 64};
    if (reduction == 2) g.reduction = {ReductionKind::tree, 64};
    draw_results(draws, g, reduction != 2);
    LaunchOptions options = options_of(draws);
    const ReductionKind kind = g.reduction.kind;
    const std::string text = kind == ReductionKind::chain  ? "hopper/bf16/chain->bf16"
                             : kind == ReductionKind::fold ? "hopper/bf16/fold:64->bf16"
                                                           : "hopper/bf16/tree:64->bf16";
    const auto all = kernels_of_wgmma(*Contract::parse(text));
    if (!draws.one_in(4)) {
      options.forced = static_cast<int>(draws.below(static_cast<std::int64_t>(all.size())));
    }
    Recorded& r = record();
    alignas(256) static char workspace[256];
    const Ran ran = run(g, DType::bf16, options, workspace);
    if (!ran.ok()) continue;  // a forced kernel that does not take these arrays
    const Decision& d = ran.decision;
    Found& found = by[d.family];
    ++found.launches;
    if (d.family == Family::gather) {
      EXPECT_TRUE(r.maps.empty());
      continue;
    }
    // Copies of operands run along k.
    const bool copies = packs_a(d) || packs_b(d);
    Sides p = make_sides(g, d.swapped, false, false);
    // Realigning kernels have maps of classes of rows, whose inner coordinate is k.
    look_at_tiles(geometry_of(d), p, r, d.family != Family::realign && !copies, found);
    if (d.family != Family::realign) continue;
    EXPECT_FALSE(r.shape.d_by_tma || r.shape.c.stages > 0);
  }
  for (const Family family : {Family::chain, Family::leaves, Family::realign, Family::gather}) {
    EXPECT_GT(by[family].launches, 100) << static_cast<int>(family);
    EXPECT_EQ(by[family].misaligned, 0) << static_cast<int>(family);
  }
  for (const Family family : {Family::chain, Family::leaves}) {
    EXPECT_GT(by[family].boxes_of_d, 1000);
    EXPECT_GT(by[family].boxes_of_c, 1000);
    EXPECT_GT(by[family].boxes_of_operands, 1000);
  }
}

TEST(InnerCoordinates, OfSingleE4m3AreMultiplesOf16Bytes) {
  Draws draws(6);
  Found found;
  for (int turn = 0; turn < 16000; ++turn) {
    Problem p;
    p.input = DType::e4m3;
    GemmArguments& g = p.gemms.all;
    g.m = draws.extent(600), g.n = draws.extent(600), g.k = 128 * (1 + draws.below(3));
    g.a = at(1), g.b = at(2), g.as = {g.k, 1}, g.bs = {1, g.k};
    g.reduction = {ReductionKind::fold, 128};
    draw_results(draws, g, true);
    LaunchOptions options = options_of(draws);
    if (draws.one_in(2)) {
      options.forced =
          static_cast<int>(draws.below(static_cast<std::int64_t>(kFp8Geometries.size())));
    }
    auto d = decide(p, options);
    if (!d || d->family != Family::fp8) continue;
    Recorded& r = record();
    ASSERT_EQ(enqueue(*d, p, options, nullptr), cudaSuccess);
    ++found.launches;
    const Geometry& t = geometry_of(*d);
    look_at_tiles(t, fp8_sides_of(g, d->swapped, {}), r, false, found);
  }
  EXPECT_GT(found.launches, 1000);
  EXPECT_GT(found.boxes_of_d, 1000);
  EXPECT_EQ(found.misaligned, 0);
}

/// Groups of C and D: one after the other, or side by side within each other's lines.
struct Groups {
  Strides strides;
  std::int64_t distance;
};
Groups groups_of(Draws& r, std::int64_t m, std::int64_t n, std::int64_t groups, bool segments) {
  const Strides one = lines(r, m, n);
  const bool columns = one.row == 1 && one.col != 1;
  const std::int64_t pitch = columns ? one.col : one.row;
  if (segments) return {one, 0};
  if (r.one_in(2)) return {one, pitch * (columns ? n : m) + (r.one_in(4) ? 1 + r.below(20) : 0)};
  const std::int64_t whole = pitch * groups + (r.one_in(2) ? 0 : r.below(20));
  return {columns ? Strides{1, whole} : Strides{whole, 1}, pitch};
}

struct Segments {
  std::vector<std::int64_t> begin, count;
};
/// Rows of each group.
Segments segments_of(Draws& r, const GroupedArguments& p) {
  const auto groups = static_cast<std::size_t>(p.groups);
  Segments s{std::vector<std::int64_t>(groups, 0), std::vector<std::int64_t>(groups, p.all.m)};
  if (p.kind == GroupKind::m_masked) {
    for (auto& count : s.count) count = r.below(p.all.m + 1);
  }
  if (p.kind != GroupKind::m_grouped) return s;
  std::vector<std::int64_t> ends;
  for (std::size_t g = 1; g < groups; ++g) ends.push_back(r.below(p.all.m + 1));
  ends.push_back(p.all.m);
  std::sort(ends.begin(), ends.end());
  std::int64_t begin = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    s.begin[g] = begin;
    s.count[g] = ends[g] - begin;
    begin = ends[g];
  }
  return s;
}

/// A problem over groups: e4m3 has K-major operands.
GroupedArguments draw_groups(Draws& r, bool e4m3) {
  GroupedArguments p;
  GemmArguments& g = p.all;
  p.kind = e4m3 ? (r.one_in(2) ? GroupKind::m_grouped : GroupKind::m_masked)
                : static_cast<GroupKind>(r.below(4));
  p.groups = 1 + r.below(6);
  g.m = r.extent(320), g.n = r.one_in(4) ? 1 + r.below(300) : 8 * (1 + r.below(40));
  g.k = e4m3 ? 128 * (1 + r.below(3)) : 64 * (1 + r.below(4));
  if (r.one_in(16)) g.m = 1;
  if (p.kind != GroupKind::batched) p.offsets = reinterpret_cast<const void*>(4096);
  g.a = at(1), g.b = at(2);
  if (e4m3 && r.one_in(2)) g.reduction = {ReductionKind::fold, 128};
  draw_results(r, g, !e4m3 || g.reduction.kind == ReductionKind::fold);
  p.a_bytes = e4m3 ? 1 : 2;
  p.d_bytes = g.output == DType::fp32 ? 4 : 2;
  p.c_bytes = g.c_type == DType::fp32 ? 4 : 2;
  const bool segments = p.kind == GroupKind::m_grouped;
  if (p.kind == GroupKind::k_grouped) {
    g.as = {1, up(g.m, 8)}, g.bs = {up(g.n, 8), 1};
  } else {
    g.as = {g.k, 1}, p.distance.a = segments ? 0 : g.m * g.k;
    const bool n_major = !e4m3 && r.one_in(2);
    g.bs = n_major ? Strides{up(g.n, 8), 1} : Strides{1, g.k};
    p.distance.b = g.k * (n_major ? up(g.n, 8) : g.n);
    // Of one row per group the distance is all that separates rows.
    if (e4m3 && g.m == 1 && !segments && r.one_in(2)) p.distance.a += 1 + r.below(40);
  }
  const Groups d = groups_of(r, g.m, g.n, p.groups, segments);
  const Groups c = r.one_in(2) ? d : groups_of(r, g.m, g.n, p.groups, segments);
  g.ds = d.strides, p.distance.d = d.distance;
  g.cs = c.strides, p.distance.c = c.distance;
  if (g.c == g.d) g.cs = g.ds, p.distance.c = p.distance.d;
  return p;
}

/// The tiles of a launch over groups, as job_of and place_of find them. `rows`: of a tile; where
/// consumer groups store by themselves, `own` of them are whole. `step`: rows of D from a group to
/// the next.
void look_at_groups(const LaunchShape& s, const GroupedArguments& p, const Segments& segments,
                    std::int64_t rows, std::int64_t own, std::int64_t step, std::int64_t across,
                    bool overlaps, bool clips, Found& found) {
  for (std::size_t g = 0; g < segments.count.size(); ++g) {
    const std::int64_t count = segments.count[g];
    for (std::int64_t row = 0; row < count; row += rows) {
      const bool early = overlaps && count > rows;
      const std::int64_t inside = early ? std::min(row, count - rows) : row;
      const std::int64_t to = segments.begin[g] + static_cast<std::int64_t>(g) * step + inside;
      const bool by_tma = s.d_by_tma && (inside + own <= count || clips);
      for (std::int64_t w = 0; w < p.all.n; w += across) {
        const std::int64_t at = std::min<std::int64_t>(w, s.swapped ? s.x_last : s.y_last);
        found.look_at_results(s, by_tma, s.swapped ? at : to, s.swapped ? to : at);
      }
    }
  }
}

const char* kind_of(const GroupedArguments& p) {
  constexpr const char* names[] = {"batched", "m_grouped", "m_masked", "k_grouped"};
  return names[static_cast<int>(p.kind)];
}

/// By kind: what is launched, and what would be without the predicate.
struct Both {
  Found now, without;
};

TEST(InnerCoordinates, OfGroupsAreMultiplesOf16Bytes) {
  Draws draws(7);
  std::map<std::string, Both> by;
  for (int turn = 0; turn < 96000; ++turn) {
    const GroupedArguments p = draw_groups(draws, false);
    const Segments segments = segments_of(draws, p);
    const Problem problem(p, Arithmetic::hopper, DType::bf16);
    LaunchOptions options = options_of(draws);
    const int forced = static_cast<int>(draws.below(kGroupedGeometries.size()));
    if (draws.one_in(2)) options.forced = forced_index(problem, Family::groups, forced);
    auto d = decide(problem, options);
    if (!d || way_of(*d) != Family::groups || d->steps.find(Step::copy) != nullptr) continue;
    Recorded& r = record();
    ASSERT_EQ(enqueue(*d, problem, options, nullptr), cudaSuccess);
    const Geometry& t = geometry_of(*d);
    const bool swapped = r.shape.swapped;
    Both& both = by[kind_of(p)];
    ++both.now.launches;
    const auto look = [&](const LaunchShape& s, Found& found) {
      const std::int64_t rows = swapped ? t.n : t.x();
      look_at_groups(s, p, segments, rows, rows, r.grouped_shape.d_step, swapped ? t.x() : t.n,
                     r.grouped_shape.overlaps, r.grouped_shape.d_clips, found);
    };
    look(r.shape, both.now);
    const StackedGroups all = stack_groups(p);
    const auto look_at_operand = [&](const Operand& o, std::int64_t tile, std::int64_t last) {
      for (std::int64_t row = 0; o.mn_major && row < o.rows; row += tile) {
        both.now.look(both.now.boxes_of_operands, std::min(row, last), 2);
      }
    };
    look_at_operand(swapped ? all.b : all.a, t.x(), r.shape.x_last);
    look_at_operand(swapped ? all.a : all.b, t.n, r.shape.y_last);
    if (all.d_spread) continue;
    LaunchShape without = r.shape;  // as if a map were enough
    Sides q = make_sides(all.g, swapped, false, false);
    without.c = ring_c(all.g, q, t);
    set_finish(true, all.g, without);
    look(without, both.without);
  }
  for (const char* kind : {"batched", "m_grouped", "m_masked", "k_grouped"}) {
    const Both& both = by[kind];
    EXPECT_GT(both.now.launches, 500) << kind;
    EXPECT_GT(both.now.boxes_of_d, 500) << kind;
    EXPECT_GT(both.now.boxes_of_c, 500) << kind;
    EXPECT_GT(both.now.boxes_of_operands, 500) << kind;
    EXPECT_EQ(both.now.misaligned, 0) << kind;
    EXPECT_GT(both.without.misaligned, 100) << kind << ": the test sees nothing";
  }
}

TEST(InnerCoordinates, OfGroupsOfE4m3AreMultiplesOf16Bytes) {
  Draws draws(8);
  std::map<std::string, Both> by;
  for (int turn = 0; turn < 64000; ++turn) {
    const Problem all(draw_groups(draws, true), Arithmetic::hopper, DType::e4m3);
    const GroupedArguments& p = all.gemms;
    const Segments segments = segments_of(draws, p);
    auto d = decide(all, options_of(draws));
    if (!d || d->family != Family::fp8_groups) continue;
    Recorded& r = record();
    ASSERT_EQ(enqueue(*d, all, options_of(draws), nullptr), cudaSuccess);
    const Geometry& t = geometry_of(*d);
    const bool swapped = r.shape.swapped;
    Both& both = by[kind_of(p)];
    ++both.now.launches;
    const auto look = [&](const LaunchShape& s, Found& found) {
      look_at_groups(s, p, segments, swapped ? t.n : t.x(), swapped ? t.n : t.blocks * 64,
                     r.segments.d_step, swapped ? t.x() : t.n, false, false, found);
    };
    look(r.shape, both.now);
    LaunchShape without = r.shape;
    GemmArguments stack = r.groups.all;
    stack.m = (p.groups - 1) * r.segments.d_step + p.all.m;
    set_finish(true, stack, without);
    look(without, both.without);
  }
  for (const char* kind : {"m_grouped", "m_masked"}) {
    const Both& both = by[kind];
    EXPECT_GT(both.now.launches, 500) << kind;
    EXPECT_GT(both.now.boxes_of_d, 500) << kind;
    EXPECT_EQ(both.now.misaligned, 0) << kind;
    EXPECT_GT(both.without.misaligned, 100) << kind << ": the test sees nothing";
  }
}

/// What TMA moves where columns of D and C lie along memory, groups side by side: `m` rows of each.
TEST(InnerCoordinates, DecideWhatTmaMoves) {
  struct Row {
    GroupKind kind;
    std::int64_t m;
    bool beta, by_tma;
  };
  for (const Row& row :
       {Row{GroupKind::k_grouped, 132, false, false}, Row{GroupKind::k_grouped, 132, true, false},
        Row{GroupKind::k_grouped, 136, false, true}, Row{GroupKind::k_grouped, 136, true, true},
        Row{GroupKind::m_masked, 132, true, false}, Row{GroupKind::batched, 132, true, false},
        Row{GroupKind::batched, 136, true, true}, Row{GroupKind::m_grouped, 136, false, false},
        Row{GroupKind::m_grouped, 136, true, false}}) {
    GroupedArguments p;
    GemmArguments& g = p.all;
    p.kind = row.kind;
    p.groups = 2;
    p.a_bytes = p.d_bytes = p.c_bytes = 2;
    p.offsets = row.kind == GroupKind::batched ? nullptr : at(5);
    g.output = g.c_type = DType::bf16;
    g.m = row.m, g.n = 512, g.k = 256;
    g.a = at(1), g.b = at(2), g.d = at(3), g.c = at(4);
    g.epilogue.alpha = 1;
    g.epilogue.beta = row.beta ? 1.0F : 0.0F;
    const bool by_k = row.kind == GroupKind::k_grouped;
    const bool segments = row.kind == GroupKind::m_grouped;
    g.as = by_k ? Strides{1, 136} : Strides{256, 1};
    g.bs = by_k ? Strides{512, 1} : Strides{1, 256};
    if (!by_k) p.distance.b = 512 * 256;
    if (!by_k && !segments) p.distance.a = row.m * 256;
    g.ds = g.cs = {1, segments ? row.m : 2 * row.m};
    p.distance.d = p.distance.c = segments ? 0 : row.m;
    LaunchOptions options;
    options.sms = 132;
    const Problem problem(p, Arithmetic::hopper, DType::bf16);
    auto d = decide(problem, options);
    ASSERT_TRUE(d && way_of(*d) == Family::groups) << kind_of(p);
    Recorded& r = record();
    ASSERT_EQ(enqueue(*d, problem, options, nullptr), cudaSuccess);
    EXPECT_EQ(r.shape.d_by_tma, row.by_tma) << kind_of(p) << " " << row.m;
    EXPECT_EQ(r.shape.c.stages > 0, row.by_tma && row.beta) << kind_of(p) << " " << row.m;
    EXPECT_EQ(r.maps.size(), 2U + (row.by_tma ? 1 : 0) + (row.by_tma && row.beta ? 1 : 0));
  }
}

}  // namespace
}  // namespace detgemm::test
