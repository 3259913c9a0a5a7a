// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/api/good_calls.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/workspace.hpp"
#include "tests/support/problem.hpp"
#include "tests/support/scratch_backend.hpp"

// What a thread remembers of good calls: a call is refused as by a thread that remembers none.

namespace detgemm {
namespace {

struct Change {
  std::string what;
  std::function<void(Operands&, Workspace&)> make;
};

template <class View>
void add_views(std::vector<Change>& all, const std::string& name, View Operands::*view) {
  const auto add = [&](const char* what, std::function<void(View&)> make) {
    all.push_back({name + "." + what, [=](Operands& o, Workspace&) { make(o.*view); }});
  };
  add("data null", [](View& v) { v.data = nullptr; });
  add("data odd", [](View& v) {
    v.data = reinterpret_cast<decltype(v.data)>(reinterpret_cast<std::uintptr_t>(v.data) + 1);
  });
  add("rows + 1", [](View& v) { ++v.rows; });
  add("rows -1", [](View& v) { v.rows = -1; });
  add("cols - 1", [](View& v) { --v.cols; });
  add("row_stride 1", [](View& v) { v.row_stride = 1; });
  add("row_stride", [](View& v) { v.row_stride = std::int64_t{1} << 61; });
  add("col_stride 2", [](View& v) { v.col_stride = 2; });
  add("dtype", [](View& v) { v.dtype = DType::e5m2; });
}

std::vector<Change> changes() {
  std::vector<Change> all;
  add_views(all, "a", &Operands::a);
  add_views(all, "b", &Operands::b);
  add_views(all, "c", &Operands::c);
  add_views(all, "d", &Operands::d);
  const auto add = [&](const char* what, std::function<void(Operands&, Workspace&)> make) {
    all.push_back({what, std::move(make)});
  };
  add("bias.data null", [](Operands& o, Workspace&) { o.bias.data = nullptr; });
  add("bias.size", [](Operands& o, Workspace&) { --o.bias.size; });
  add("bias.dtype", [](Operands& o, Workspace&) { o.bias.dtype = DType::e4m3; });
  add("a is d", [](Operands& o, Workspace&) { o.a.data = o.d.data; });
  for (BlockScales Operands::*scales : {&Operands::scale_a, &Operands::scale_b}) {
    const auto on = [&](const char* what, std::function<void(BlockScales&)> make) {
      add(what, [=](Operands& o, Workspace&) { make(o.*scales); });
    };
    on("scales.data", [](BlockScales& s) { s.data = &s; });
    on("scales.type", [](BlockScales& s) { s.type = ScaleType::e8m0; });
    on("scales.per", [](BlockScales& s) { s.per += 128; });
    on("scales.stride", [](BlockScales& s) { ++s.stride; });
    on("scales.leaf_stride", [](BlockScales& s) { ++s.leaf_stride; });
    on("scales.blocks", [](BlockScales& s) { ++s.blocks; });
    on("scales.leaves", [](BlockScales& s) { ++s.leaves; });
  }
  add("workspace null", [](Operands&, Workspace& w) { w.data = nullptr; });
  add("workspace.bytes", [](Operands&, Workspace& w) { w.bytes = 8; });
  add("workspace is d", [](Operands& o, Workspace& w) { w.data = o.d.data; });
  return all;
}

/// The answer of a thread that remembers nothing.
Status answer_of_another(const Plan& plan, const Operands& o, const Workspace& w) {
  Status s;
  std::thread([&] { s = plan.run({}, o, w); }).join();
  return s;
}

TEST(GoodCalls, EveryChangeOfAGoodCallIsJudged) {
  Problem p;
  p.spec.beta = 0.5F;
  p.spec.bias = DType::fp32;
  std::vector<float> c(static_cast<std::size_t>(Problem::m * p.spec.n)), bias(c.size());
  p.operands.c =
      row_major(static_cast<const void*>(c.data()), Problem::m, p.spec.n, p.spec.contract.output);
  p.operands.bias = {bias.data(), p.spec.n, DType::fp32};
  const Plan plan = Plan::create(scratch_backend(), p.spec, p.options).value();
  const std::size_t bytes = plan.workspace_bytes(Problem::m).value();
  const HostWorkspace room = HostWorkspace::allocate(bytes).value();
  int refused = 0;
  for (const Change& change : changes()) {
    Operands o = p.operands;
    Workspace w = room;
    for (int again = 0; again < 2; ++again) {
      const Status good = plan.run({}, o, w);
      ASSERT_TRUE(good) << good.message();
    }
    change.make(o, w);
    const Status expected = answer_of_another(plan, o, w);
    const Status found = plan.run({}, o, w);
    EXPECT_EQ(found.code(), expected.code()) << change.what;
    EXPECT_EQ(found.message(), expected.message()) << change.what;
    EXPECT_EQ(plan.run({}, o, w).message(), expected.message())
        << change.what << ", twice: a refusal is not remembered";
    refused += expected ? 0 : 1;
  }
  EXPECT_GE(refused, 30) << "most of these break a rule";
}

/// Plans are told apart by a number, whatever their addresses are.
TEST(GoodCalls, AnotherPlanJudgesForItself) {
  Problem p;
  for (int i = 0; i < 20; ++i) {
    GemmSpec other = p.spec;
    other.k -= 16;
    {
      const Plan plan = Plan::create(skeleton_backend(), p.spec).value();
      ASSERT_TRUE(plan.run({}, p.operands));
    }
    const Plan plan = Plan::create(skeleton_backend(), other).value();
    const Status s = plan.run({}, p.operands);
    EXPECT_EQ(s.message().find("a is "), 0U) << s.message();
  }
}

/// Each part of a call counts: a call that differs in one part is another.
TEST(GoodCalls, EveryPartCounts) {
  const Problem p;
  GoodCalls<Operands>::Call call{7, p.operands, {}, 0};
  EXPECT_TRUE(call.is(7, p.operands, {}));
  EXPECT_FALSE(call.is(8, p.operands, {}));
  for (const Change& change : changes()) {
    Operands o = p.operands;
    Workspace w{o.b.data == nullptr ? nullptr : const_cast<void*>(o.b.data), 64};
    call.arguments = o;
    call.workspace = w;
    if (change.what.find("bias") == 0) call.arguments.bias = o.bias = {&call, 3, DType::fp32};
    if (change.what.find("c.") == 0) call.arguments.c = o.c = o.a;
    change.make(o, w);
    EXPECT_FALSE(call.is(7, o, w)) << change.what;
  }
}

/// The same of groups: what they add to the arguments of one product.
TEST(GoodCalls, EveryPartOfGroupsCounts) {
  const Problem p;
  GroupedOperands first;
  first.arrays = p.operands;
  const GoodCalls<GroupedOperands>::Call call{7, first, {}, 0};
  EXPECT_TRUE(call.is(7, first, {}));
  for (std::int64_t GroupDistances::*part :
       {&GroupDistances::a, &GroupDistances::b, &GroupDistances::d, &GroupDistances::c,
        &GroupDistances::bias, &GroupDistances::scale_a, &GroupDistances::scale_b}) {
    GroupedOperands o = first;
    ++(o.group.*part);
    EXPECT_FALSE(call.is(7, o, {}));
  }
  for (int part = 0; part < 4; ++part) {
    GroupedOperands o = first;
    if (part == 0) o.offsets.data = &o;
    if (part == 1) ++o.offsets.size;
    if (part == 2) o.offsets.type = OffsetType::i64;
    if (part == 3) o.arrays.a.data = nullptr;
    EXPECT_FALSE(call.is(7, o, {})) << part;
  }
}

}  // namespace
}  // namespace detgemm
