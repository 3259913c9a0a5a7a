// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

/// All rows in one call, and the same rows in several calls cut anywhere.
void chunked_prefill(Case& c) {
  Shape shape = c.draw_shape();
  shape.m = c.random().between(2, c.full() ? 300 : 40);
  shape.n = c.random().between(1, 9);
  const Request request = c.draw(shape);
  const auto whole = c.run(request);
  if (!whole) return;
  for (std::int64_t begin = 0; begin < shape.m;) {
    const std::int64_t end = c.random().between(begin + 1, shape.m);
    Request chunk = request;
    chunk.a = row_slice(request.a, begin, end);
    const auto part = c.run(chunk);
    if (!part) return;
    if (!c.same(
            row_slice(whole->d, begin, end), part->d,
            "rows [" + std::to_string(begin) + ", " + std::to_string(end) + ") by themselves")) {
      return;
    }
    begin = end;
  }
  c.check_order_matters(request, whole->d);
}

}  // namespace detgemm::conformance
