// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

/// NN, NT, TN and TT, each with A, B, C and D stored by rows or by columns, are one product and
/// give one result.
void layouts(Case& c) {
  Request request = c.draw(c.draw_shape());
  auto plain = c.run(request);
  if (!plain || !c.try_add_c(request, *plain)) return;
  for (int combination = 1; combination < 32; ++combination) {
    request.spec.op_a = (combination & 1) != 0 ? Op::transpose : Op::none;
    request.spec.op_b = (combination & 2) != 0 ? Op::transpose : Op::none;
    request.a_layout.col_major = (combination & 4) != 0;
    request.b_layout.col_major = (combination & 8) != 0;
    request.d_layout.col_major = (combination & 16) != 0;
    // With every other choice C meets both of its orders.
    request.c_layout.col_major = std::popcount(static_cast<unsigned>(combination)) % 2 != 0;
    const auto other = c.run(request);
    if (!other) continue;  // noted; the rest may be supported
    const std::string what =
        std::string((combination & 1) != 0 ? "T" : "N") + ((combination & 2) != 0 ? "T" : "N") +
        ", column-major:" + ((combination & 4) != 0 ? " A" : "") +
        ((combination & 8) != 0 ? " B" : "") + ((combination & 16) != 0 ? " D" : "") +
        (request.spec.reads_c() && request.c_layout.col_major ? " C" : "");
    if (!c.same(plain->d, other->d, what)) return;
  }
  c.check_order_matters(request, plain->d);
}

}  // namespace detgemm::conformance
