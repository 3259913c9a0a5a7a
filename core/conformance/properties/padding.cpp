// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kMaxLines = 12;

/// D's rows end, or begin, where a page does, and what lies between them may not be written, not
/// even to be restored: another call may own it. One of the strides does not fit in 15 bits.
void rows_of_pages(Case& c, Request request, const Elements& packed) {
  if (request.a.rows > kMaxLines) {
    request.a = row_slice(request.a, 0, kMaxLines);
    if (request.c.rows > kMaxLines) request.c = row_slice(request.c, 0, kMaxLines);
  }
  const auto size = static_cast<std::int64_t>(size_of(request.spec.contract.output));
  const std::int64_t n = request.b.cols;
  const std::int64_t pages = (n * size + kPage - 1) / kPage;
  for (const bool ends : {true, false}) {
    const std::int64_t ld = ends ? (pages + 1) * kPage / size : (pages + 32) * kPage / size;
    Layout& layout = request.d_layout;
    layout = {false, ld - n, 0, !ends};
    if (ends) layout.offset = (256 - n * size % 256) % 256 / size;
    const auto got = c.run(request);
    if (!got) return;
    if (!c.same(row_slice(packed, 0, request.a.rows), got->d,
                "rows of D " + std::to_string(ld) + " elements apart")) {
      return;
    }
  }
}

}  // namespace

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
  rows_of_pages(c, request, packed->d);
}

}  // namespace detgemm::conformance
