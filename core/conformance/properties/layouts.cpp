// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

/// NN, NT, TN and TT, each with A, B and D stored by rows or by columns, are one product and give
/// one result.
void layouts(Case& c) {
  Request request = c.draw(c.draw_shape());
  const auto plain = c.run(request);
  if (!plain) return;
  for (int combination = 1; combination < 32; ++combination) {
    request.spec.op_a = (combination & 1) != 0 ? Op::transpose : Op::none;
    request.spec.op_b = (combination & 2) != 0 ? Op::transpose : Op::none;
    request.a_layout.col_major = (combination & 4) != 0;
    request.b_layout.col_major = (combination & 8) != 0;
    request.d_layout.col_major = (combination & 16) != 0;
    const auto other = c.run(request);
    if (!other) continue;  // noted; the rest may be supported
    const std::string what =
        std::string((combination & 1) != 0 ? "T" : "N") + ((combination & 2) != 0 ? "T" : "N") +
        ", column-major:" + ((combination & 4) != 0 ? " A" : "") +
        ((combination & 8) != 0 ? " B" : "") + ((combination & 16) != 0 ? " D" : "");
    if (!c.same(plain->d, other->d, what)) return;
  }
  c.check_order_matters(request, plain->d);
}

}  // namespace detgemm::conformance
