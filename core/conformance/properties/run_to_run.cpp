// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

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
}

}  // namespace detgemm::conformance
