// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

void run_to_run(Case& c) {
  const Request request = c.draw(c.draw_shape());
  const auto first = c.run(request);
  if (!first) return;
  for (int again = 0; again < 3; ++again) {
    const auto next = c.run(request);
    if (!next) return;
    if (!c.same(first->d, next->d, "the same call once more")) return;
  }
  c.check_order_matters(request, first->d);
}

}  // namespace detgemm::conformance
