// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

/// The bytes around and between the rows, in D before the call and in the workspace (NaN, zeros, a
/// number) enter no result, and nothing but D is written.
void padding(Case& c) {
  constexpr std::array<std::uint8_t, 4> fills{0xff, 0x00, 0x7c, 0x3d};
  Request request = c.draw(c.draw_shape());
  auto packed = c.run(request);
  if (!packed || !c.try_add_c(request, *packed)) return;
  for (const std::uint8_t fill : fills) {
    request.fill = fill;
    request.a_layout.ld_padding = c.random().between(1, 9);
    request.b_layout.ld_padding = c.random().between(1, 9);
    for (Layout* one : {&request.d_layout, &request.c_layout}) {
      *one = {c.random().one_in(2), c.random().between(1, 9)};
    }
    const auto padded = c.run(request);
    if (!padded) continue;  // noted: an order may be refused
    if (!c.same(packed->d, padded->d, "other bytes around the operands")) return;
  }
  c.check_order_matters(request, packed->d);
}

}  // namespace detgemm::conformance
