// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

/// Leading dimensions and addresses that are not aligned for vector loads.
void strides(Case& c) {
  Request request = c.draw(c.draw_shape());
  auto packed = c.run(request);
  if (!packed || !c.try_add_c(request, *packed)) return;
  const auto draw = [&] {
    return Layout{c.random().one_in(3), c.random().below(18), c.random().below(10)};
  };
  for (int i = 0; i < 4; ++i) {
    request.a_layout = draw();
    request.b_layout = draw();
    request.d_layout = draw();
    request.c_layout = draw();
    const auto moved = c.run(request);
    if (!moved) continue;  // noted: an order may be refused
    const std::string what = "strides +" + std::to_string(request.a_layout.ld_padding) + " +" +
                             std::to_string(request.b_layout.ld_padding) + " +" +
                             std::to_string(request.d_layout.ld_padding) + " +" +
                             std::to_string(request.c_layout.ld_padding) + ", addresses +" +
                             std::to_string(request.a_layout.offset) + " +" +
                             std::to_string(request.b_layout.offset) + " +" +
                             std::to_string(request.d_layout.offset) + " +" +
                             std::to_string(request.c_layout.offset) + " elements (A, B, D, C)";
    if (!c.same(packed->d, moved->d, what)) return;
  }
  c.check_order_matters(request, packed->d);
}

}  // namespace detgemm::conformance
