// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "cuda/families.hpp"
#include "cuda/host/recall.hpp"
#include "cuda/simt/choose.hpp"
#include "tests/cuda/sm90/fakes.hpp"
#include "tests/cuda/sm90/problems.hpp"
#include "tests/support/random_bits.hpp"

// decide -> Decision -> enqueue, across all families.

namespace detgemm::test {
namespace {

using namespace cuda;

struct Asked {
  GemmArguments g;
  Arithmetic arithmetic;
  DType input;
  LaunchOptions options;

  Problem problem() const { return {g, arithmetic, input}; }
};

/// Few extents, so that most questions differ from an earlier one in something else: the way the
/// arrays lie, the output, C, the arithmetic, the reduction, promises, multiprocessors.
Asked draw(Random& random) {
  const auto one_of = [&](std::int64_t chances) { return random.below(chances) == 0; };
  Layout l{one_of(2) ? 64 : 48, 512, 512};
  l.a_mn = one_of(3);
  l.b_mn = one_of(3);
  l.address = one_of(5) ? 4098 : 4096;
  l.d_col = one_of(4);
  l.output = one_of(2) ? DType::fp32 : DType::bf16;
  Asked q{arguments(l), Arithmetic::hopper, DType::bf16, {}};
  if (one_of(3)) q.g.d = static_cast<char*>(q.g.d) + 4;
  q.g.epilogue.has_bias = one_of(4);
  if (!one_of(3)) {
    q.g.reduction = {one_of(2) ? ReductionKind::tree : ReductionKind::fold, one_of(2) ? 64 : 128};
  }
  q.g.continue_from_c = q.g.reduction.kind != ReductionKind::tree && one_of(3);
  q.g.c = q.g.d;
  q.g.cs = q.g.ds;
  if (one_of(3)) q.arithmetic = Arithmetic::ieee_fma;
  if (one_of(2)) q.input = q.arithmetic == Arithmetic::ieee_fma ? DType::fp32 : DType::fp16;
  q.options.sms = one_of(2) ? 132 : 3;
  q.options.a_is_stable = one_of(2);
  q.options.b_is_stable = one_of(2);
  q.options.overlap = one_of(2);
  q.options.clusters = !one_of(4);
  if (one_of(2)) q.options.forced = static_cast<int>(random.below(one_of(2) ? 8 : 87));
  if (q.arithmetic == Arithmetic::ieee_fma) q.options.forced = std::min(q.options.forced, 7);
  return q;
}

/// The decision of a chooser, which remembers nothing.
Choice alone(const Asked& a) {
  const Question q = question_of(a.problem(), a.options);
  return row_of(q.family).choose(q);
}

void expect_same(const Decision& x, const Decision& y) {
  ASSERT_EQ(name(x), name(y));
  ASSERT_EQ(x.family, y.family);
  ASSERT_EQ(x.input, y.input);
  ASSERT_EQ(x.form, y.form);
  ASSERT_EQ(x.kernel, y.kernel);
  ASSERT_EQ(x.swapped, y.swapped);
  ASSERT_EQ(x.x_mn, y.x_mn);
  ASSERT_EQ(x.y_mn, y.y_mn);
  ASSERT_EQ(x.leaves, y.leaves);
  ASSERT_EQ(x.deep, y.deep);
  ASSERT_EQ(x.cluster, y.cluster);
  ASSERT_EQ(x.grid, y.grid);
  ASSERT_EQ(x.shared_bytes, y.shared_bytes);
  ASSERT_EQ(x.raster.tiles_x, y.raster.tiles_x);
  ASSERT_EQ(x.raster.tiles_y, y.raster.tiles_y);
  ASSERT_EQ(x.raster.group, y.raster.group);
}

/// Whatever was decided before, in any order: each call gets the decision that it would get alone,
/// and that decision is what reaches the runtime.
TEST(CudaPipeline, NoDecisionOutlivesItsQuestion) {
  Random random(5);
  std::set<std::string> names;
  std::set<Family> seen;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const Asked a = draw(random);
    const Choice fresh = alone(a);
    Recorded& r = record();
    const Ran ran = run(a.g, a.input, a.options, reinterpret_cast<void*>(1 << 20), a.arithmetic);
    ASSERT_EQ(ran.refusal.ok(), fresh.why_not == nullptr) << i;
    if (!ran.refusal.ok()) {
      ++refused;
      ASSERT_EQ(r.launches, 0);
      continue;
    }
    ASSERT_EQ(ran.error, cudaSuccess) << i;
    expect_same(ran.decision, fresh.decision);
    if (HasFatalFailure()) FAIL() << i;
    const Decision& d = ran.decision;
    ASSERT_EQ(r.launches, 1);
    ASSERT_EQ(r.grid, static_cast<unsigned>(d.grid));
    ASSERT_EQ(r.cluster, static_cast<unsigned>(d.cluster));
    ASSERT_EQ(r.kernel.simt, d.family == Family::simt);
    ASSERT_EQ(r.kernel.input, d.input);
    // Promises change no decision, but they reach the kernel.
    ASSERT_EQ(r.overlap, d.family != Family::simt && a.options.overlap);
    if (d.family != Family::simt && d.family != Family::gather) {
      ASSERT_EQ(r.shape.x_stable, d.swapped ? a.options.b_is_stable : a.options.a_is_stable);
    }
    names.insert(name(d));
    seen.insert(d.family);
  }
  EXPECT_GE(names.size(), 40U);
  EXPECT_EQ(seen.size(), 5U) << "a family was never chosen";
  EXPECT_GE(refused, 500);
}

/// Groups and products of e4m3 that differ in one thing at a time from few others.
Problem draw_other(Random& random) {
  const auto one_of = [&](std::int64_t chances) { return random.below(chances) == 0; };
  const bool e4m3 = one_of(3), grouped = !e4m3 || one_of(2);
  const std::int64_t m = one_of(2) ? 64 : 24, n = one_of(2) ? 512 : 520, k = one_of(2) ? 512 : 384;
  Layout l{m, n, k};
  l.unit = e4m3 ? 16 : 8;
  l.b_mn = !e4m3 && one_of(3);
  l.d_col = one_of(4);
  l.output = one_of(2) ? DType::fp32 : DType::bf16;
  GroupedArguments p;
  GemmArguments& g = p.all;
  g = arguments(l);
  const auto at = [&](std::uintptr_t place) {
    return reinterpret_cast<void*>((place << 24) + (one_of(8) ? 4 : 0));
  };
  g.a = at(1), g.b = at(2), g.d = at(3), g.c = one_of(2) ? g.d : at(4);
  g.cs = g.ds, g.c_type = g.output;
  if (one_of(4)) g.epilogue.beta = 1;
  if (one_of(4)) g.epilogue.activation = Activation::gelu;
  if (one_of(3)) g.reduction = {ReductionKind::fold, one_of(2) ? 128 : 1024};
  if (e4m3 && one_of(3)) g.reduction = {ReductionKind::scaled, 128};
  const auto arithmetic = !e4m3 && one_of(5) ? Arithmetic::ieee_fma : Arithmetic::hopper;
  const DType input = e4m3 ? DType::e4m3 : DType::bf16;
  ScalePair scales;
  if (g.reduction.kind == ReductionKind::scaled) {
    scales.a = {at(5), one_of(2) ? 1 : 128, 4, 1};
    scales.b = {at(6), one_of(2) ? 1 : 128, one_of(2) ? 4 : 0, 1};
  }
  if (!grouped) return {g, arithmetic, input, scales};
  p.groups = one_of(2) ? 4 : 40;
  p.kind = static_cast<GroupKind>(random.below(4));
  p.a_bytes = e4m3 ? 1 : 2;
  p.c_bytes = p.d_bytes = l.output == DType::fp32 ? 4 : 2;
  if (p.kind != GroupKind::m_grouped) p.distance.a = m * k + (one_of(4) ? 8 : 0);
  p.distance.b = one_of(4) ? 0 : n * k + (one_of(4) ? 4 : 0);
  if (p.kind != GroupKind::m_grouped) p.distance.d = p.distance.c = m * n + (one_of(4) ? 4 : 0);
  return {p, arithmetic, input, scales};
}

/// Changes one thing.
void vary(Random& random, Problem& p, LaunchOptions& o) {
  GroupedArguments& all = p.gemms;
  GemmArguments& g = all.all;
  const auto apart = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) + 4; };
  switch (random.below(16)) {
    case 0:
      all.distance.a += 4;
      break;
    case 1:
      all.distance.b += 4;
      break;
    case 2:
      all.distance.b = 0;
      break;
    case 3:
      all.distance.d += 4;
      break;
    case 4:
      all.distance.c += 1;
      break;
    case 5:
      g.c = g.c == g.d ? reinterpret_cast<void*>(std::uintptr_t{7} << 24) : g.d;
      break;
    case 6:
      g.a = reinterpret_cast<const void*>(apart(g.a));
      break;
    case 7:
      g.b = reinterpret_cast<const void*>(apart(g.b));
      break;
    case 8:
      g.d = reinterpret_cast<void*>(apart(g.d));
      break;
    case 9:
      g.ds.row += 1;
      break;
    case 10:
      g.epilogue.beta = 1 - g.epilogue.beta;
      break;
    case 11:
      p.scales.b.stride = 4 - p.scales.b.stride;
      break;
    case 12:
      p.scales.b.per = 129 - p.scales.b.per;
      break;
    case 13:
      o.workspace_bytes = 0;
      break;
    case 14:
      o.clusters = !o.clusters;
      break;
    default:
      o.sms = 148 - o.sms;
      break;
  }
}

/// A thread that has decided much answers as one that has decided nothing.
TEST(CudaPipeline, NoDecisionOfGroupsOrE4m3OutlivesItsProblem) {
  Random random(9);
  std::set<std::string> names;
  int refused = 0;
  for (int i = 0; i < 8000; ++i) {
    Problem p = draw_other(random);
    LaunchOptions o;
    o.sms = random.below(3) == 0 ? 16 : 132;
    o.clusters = random.below(4) != 0;
    if (random.below(2) == 0) o.workspace_bytes = std::size_t{1} << 40;
    const auto all = kernels(p.contract(), p.is_grouped());
    if (random.below(4) == 0)
      o.forced = static_cast<int>(random.below(static_cast<int>(all.size())));
    (void)decide(p, o);
    vary(random, p, o);
    const auto known = decide(p, o);
    Result<Decision> fresh = Decision{};
    std::thread([&] { fresh = decide(p, o); }).join();
    ASSERT_EQ(known.ok(), fresh.ok()) << i;
    if (!known) {
      ASSERT_EQ(known.status().message(), fresh.status().message());
      ++refused;
      continue;
    }
    expect_same(*known, *fresh);
    ASSERT_EQ(known->loop, fresh->loop);
    ASSERT_EQ(known->join, fresh->join);
    ASSERT_EQ(known->across, fresh->across);
    ASSERT_EQ(known->levels, fresh->levels);
    if (HasFatalFailure()) FAIL() << i;
    names.insert(name(*known));
  }
  EXPECT_GE(names.size(), 40U);
  EXPECT_GE(refused, 50);
}

/// In a context without room for clusters every call asks twice, so both answers must stay.
TEST(CudaPipeline, AQuestionAndItsTwinWithoutClustersAreRememberedTogether) {
  for (std::int64_t m = 1; m <= 512; ++m) {
    Recall recall;
    Asked a{arguments({m, 4096, 4096}), Arithmetic::hopper, DType::bf16, {}};
    const Recall::Key q(a.problem(), a.options);
    a.options.clusters = false;
    const Recall::Key alone(a.problem(), a.options);
    recall.keep(q, {});
    recall.keep(alone, {});
    ASSERT_NE(recall.find(q), nullptr) << m;
    ASSERT_NE(recall.find(alone), nullptr) << m;
  }
}

/// `decide` is pure: it launches and prepares nothing, and null pointers stand for aligned ones.
TEST(CudaPipeline, DecidingTouchesNoDevice) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const Asked a = draw(random);
    Recorded& r = record();
    r.context = fresh_context();
    const auto first = decide(a.problem(), a.options);
    const auto second = decide(a.problem(), a.options);
    ASSERT_EQ(first.ok(), second.ok());
    ASSERT_EQ(r.launches + r.failed_launches + r.fits_asked, 0);
    ASSERT_TRUE(r.raised.empty());
    if (!first) {
      ASSERT_EQ(first.status().message(), second.status().message());
      continue;
    }
    expect_same(*first, *second);
    if (HasFatalFailure()) FAIL() << i;
    GemmArguments described = a.g;
    if (reinterpret_cast<std::uintptr_t>(a.g.d) % 16 != 0) continue;
    if (reinterpret_cast<std::uintptr_t>(a.g.a) % 16 != 0) continue;
    described.a = described.b = described.c = nullptr;
    described.d = nullptr;
    const auto third = decide({described, a.arithmetic, a.input}, a.options);
    ASSERT_TRUE(third.ok());
    expect_same(*first, *third);
    if (HasFatalFailure()) FAIL() << i;
  }
}

TEST(CudaPipeline, FamiliesCountTheRows) {
  std::size_t row = 1;
  for (const FamilyRow& f : families()) {
    EXPECT_EQ(static_cast<std::size_t>(f.family), row++);
    EXPECT_EQ(&row_of(f.family), &f);
  }
}

/// The portable kernels get as much shared memory as their sums need, and no overlap.
TEST(CudaPipeline, SimtLaunchesItsTile) {
  for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
    for (const bool along : {false, true}) {
      GemmArguments g = arguments({300, 200, 1000, !along, !along});
      g.reduction = {ReductionKind::tree, 10};
      LaunchOptions options;
      options.sms = 132;
      Recorded& r = record();
      const Ran ran = run(g, input, options, nullptr, Arithmetic::ieee_fma);
      ASSERT_TRUE(ran.ok());
      const simt::Tile& t = simt::kTiles[static_cast<std::size_t>(ran.decision.kernel)];
      EXPECT_EQ(name(ran.decision),
                "simt/" + simt::name(t) + (ran.decision.swapped ? "/swapped" : ""));
      EXPECT_EQ(r.kernel.geometry, ran.decision.kernel);
      EXPECT_EQ(r.shared_bytes, static_cast<std::size_t>(ran.decision.shared_bytes));
      EXPECT_EQ(r.params.a.along, along);
      EXPECT_EQ(r.params.leaves, 100);
    }
  }
}

}  // namespace
}  // namespace detgemm::test
