// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "core/conformance/error_model.hpp"
#include "core/conformance/format.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// In sums without cancellation a coarse node or a lost product has the largest effect.
void make_positive(Elements& e, DType input) {
  for (std::int64_t i = 0; i < e.rows; ++i) {
    for (std::int64_t j = 0; j < e.cols; ++j) {
      e.set(i, j, e.get(i, j) & ~format_of(input).sign_bit());
    }
  }
}

constexpr int kAllDigits = 17;

}  // namespace

/// The only property with a tolerance, and that one is derived: docs/error-bound.md.
void error_bound(Case& c) {
  const DType input = c.contract().input;
  Shape shape = c.draw_shape();
  shape.m = c.random().between(1, 8);
  shape.n = c.random().between(1, 8);
  Request request = c.draw(shape);
  if (c.index() % 2 != 0) {
    make_positive(request.a, input);
    make_positive(request.b, input);
  }
  const DType output = c.index() % 3 == 2 ? c.contract().output : DType::fp32;
  request.spec.contract = c.with_output(output);
  const auto got = c.run(request);
  if (!got) return;
  c.count_outputs(got->d);
  bool discriminating = false;
  const double largest = decode(format_of(output).max(), output);
  for (std::int64_t i = 0; i < shape.m; ++i) {
    for (std::int64_t j = 0; j < shape.n; ++j) {
      std::vector<Term> terms;
      for (std::int64_t k = 0; k < shape.k; ++k) {
        terms.push_back(make_term(request.a.get(i, k), request.b.get(k, j), input));
      }
      const Bound bound = bound_of(c.contract(), terms, output);
      if (std::fabs(bound.exact) + bound.error > largest) continue;  // may overflow
      // A bound as large as the value itself would accept any result.
      discriminating = discriminating || bound.error < 0.25 * std::fabs(bound.exact);
      const double value = decode(got->d.get(i, j), output);
      if (std::fabs(value - bound.exact) <= bound.error) continue;
      c.fail_at("further from the exact sum than the bound " + decimal(bound.error, kAllDigits), i,
                j, decimal(bound.exact, kAllDigits), show(got->d.get(i, j), output));
      return;
    }
  }
  if (discriminating) c.count_discriminating();
}

}  // namespace detgemm::conformance
