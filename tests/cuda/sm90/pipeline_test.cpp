// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
  const Question q = question_of(a.g, a.arithmetic, a.input, a.options);
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

/// In a context without room for clusters every call asks twice, so both answers must stay.
TEST(CudaPipeline, AQuestionAndItsTwinWithoutClustersAreRememberedTogether) {
  for (std::int64_t m = 1; m <= 512; ++m) {
    Recall recall;
    Asked a{arguments({m, 4096, 4096}), Arithmetic::hopper, DType::bf16, {}};
    const Question q = question_of(a.g, a.arithmetic, a.input, a.options);
    a.options.clusters = false;
    const Question alone = question_of(a.g, a.arithmetic, a.input, a.options);
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
    const auto first = decide(a.g, a.arithmetic, a.input, a.options);
    const auto second = decide(a.g, a.arithmetic, a.input, a.options);
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
    const auto third = decide(described, a.arithmetic, a.input, a.options);
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
