// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <initializer_list>
#include <utility>
#include <vector>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// What `run_once` does, with arrays that stay where they are from call to call.
std::optional<Output> run_in_place(Case& c, Prepared& prepared, Stream stream) {
  Device& device = c.engine().device();
  Status status = prepared.enqueue(stream);
  const Status waited = device.synchronize(stream);
  if (status) status = waited;
  return c.ran(status ? prepared.collect() : Result<Output>(status));
}

/// The same arrays and the same workspace with other numbers in them: nothing of the last call may
/// be left, in the workspace or anywhere else.
void other_numbers(Case& c, const Request& request, const Elements& before) {
  auto prepared = Prepared::make(c.engine(), request);
  if (!prepared) return c.note(prepared.status());
  Device& device = c.engine().device();
  const auto stream = device.create_stream();
  if (!stream) return c.note(stream.status());
  const auto work = [&] {
    Request now = request;
    const auto once_more = [&](const Elements& expected, const char* what) {
      const auto got = run_in_place(c, *prepared, *stream);
      return got && c.same(expected, got->d, what);
    };
    if (!once_more(before, "the same call again")) return;
    for (const bool both : {false, true}) {
      const Pair other = draw_pair(c.random(), Distribution::normal, c.contract().input,
                                   request.a.rows, request.b.cols, request.a.cols);
      now.b = other.b;
      if (both) now.a = other.a;
      if (Status s = prepared->replace(now.a, now.b); !s) return c.note(s);
      const auto got = run_in_place(c, *prepared, *stream);
      if (!got) return;
      const auto expected = c.run(now);  // in other arrays
      if (!expected) return;
      if (!c.same(expected->d, got->d, "other numbers in the same arrays")) return;
    }
    // A soak: as often as was asked.
    for (std::int64_t i = 0; i < c.soak(); ++i) {
      if (i == 0 && !prepared->replace(request.a, request.b)) return;
      if (Status s = prepared->reset(); !s) return c.note(s);
      if (!once_more(before, "call of a soak")) return;
    }
  };
  work();
  device.destroy_stream(*stream);
}

/// Rows 0, 1, ... of `all`, and after the last one the first again.
Elements rows_in_turn(const Elements& all, std::int64_t count) {
  Elements some(all.dtype, count, all.cols);
  for (std::int64_t i = 0; i < count; ++i) {
    paste_rows(some, i, row_slice(all, i % all.rows, i % all.rows + 1));
  }
  return some;
}

/// One plan and one workspace for all of its calls, as in a server: few rows and many, at other
/// addresses, with other strides, D beside C and D that is C. Each gives what a plan of its own
/// gives: nothing that a plan finds in its first call may be taken for granted in the next one.
void one_plan(Case& c, Request request, Output result) {
  if (!c.try_add_c(request, result)) return;
  const bool adds_c = request.spec.reads_c();
  const std::int64_t m = request.a.rows;
  const std::int64_t max_m = m + c.random().between(1, 40);
  struct Call {
    Request request;
    Elements expected;
  };
  std::vector<Call> calls;
  for (const auto& [rows, moved] : std::initializer_list<std::pair<std::int64_t, bool>>{
           {m, false}, {max_m, true}, {1, false}, {m, true}, {max_m, false}}) {
    Request now = request;
    now.a = rows_in_turn(request.a, rows);
    if (adds_c) now.c = rows_in_turn(request.c, rows);
    now.in_place = moved && adds_c;
    for (Layout* one : {&now.a_layout, &now.b_layout, &now.c_layout, &now.d_layout}) {
      if (moved) *one = {false, c.random().between(1, 9), c.random().below(9)};
    }
    const auto alone = c.run(now);
    if (!alone) return;
    calls.push_back({std::move(now), alone->d});
  }
  auto plan = Plan::create(c.engine(), sized(request), request.options);
  if (!plan) return c.note(plan.status());
  const auto bytes = plan->workspace_bytes(max_m);
  if (!bytes) return c.note(bytes.status());
  Device& device = c.engine().device();
  auto workspace = Buffer::scratch(device, *bytes, 0xff);
  if (!workspace) return c.note(workspace.status());
  auto stream = device.create_stream();
  if (!stream) return c.note(stream.status());
  bool same = true;
  for (const Call& call : calls) {
    auto prepared = Prepared::make(*plan, call.request);
    if (!prepared) c.note(prepared.status());
    if (prepared) prepared->work_in({workspace->data(), *bytes});
    const auto got = prepared ? run_in_place(c, *prepared, *stream) : std::nullopt;
    same = got && c.same(call.expected, got->d,
                         "a plan's call with " + std::to_string(call.expected.rows) +
                             " rows after others, against a plan of its own");
    if (!same) break;
  }
  device.destroy_stream(*stream);
  if (!same) return;
  const auto intact = workspace->intact(true);
  if (!intact) return c.note(intact.status());
  if (!*intact || !workspace->touched().empty()) c.fail("bytes around the workspace changed");
}

}  // namespace

void run_to_run(Case& c) {
  const Request request = c.draw(c.draw_shape());
  const auto first = c.run(request);
  if (!first) return;
  for (int again = 0; again < 3; ++again) {
    const auto next = c.run(request);
    if (!next) return;
    if (!c.same(first->d, next->d, "the same call again")) return;
  }
  c.check_order_matters(request, first->d);
  other_numbers(c, request, first->d);
  if (request.a.rows > 0) one_plan(c, request, *first);
}

}  // namespace detgemm::conformance
