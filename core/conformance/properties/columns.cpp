// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

/// A column's bits do not depend on N or on its neighbours.
void columns(Case& c) {
  Shape shape = c.draw_shape();
  shape.m = c.random().between(1, 9);
  shape.n = c.random().between(2, c.full() ? 600 : 150);
  shape.k = std::min<std::int64_t>(shape.k, c.full() ? 1000 : 150);
  const Request request = c.draw(shape);
  const auto whole = c.run(request);
  if (!whole) return;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t begin = c.random().below(shape.n);
    const std::int64_t end = i == 0 ? begin + 1 : c.random().between(begin + 1, shape.n);
    Request slice = request;
    slice.b = col_slice(request.b, begin, end);
    const auto part = c.run(slice);
    if (!part) return;
    if (!c.same(
            col_slice(whole->d, begin, end), part->d,
            "columns [" + std::to_string(begin) + ", " + std::to_string(end) + ") by themselves")) {
      return;
    }
  }
  c.check_order_matters(request, whole->d);
}

}  // namespace detgemm::conformance
