// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/arithmetic/formats.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

std::uint32_t bits_of(float value) {
  return std::isnan(value) ? arithmetic::kNaNBits : std::bit_cast<std::uint32_t>(value);
}

/// The number that a scale stands for; drawn scales of e8m0 are neither 0 nor 255.
float value_of(const ScaleArray& scales, std::int64_t line) {
  const std::uint32_t stored = scales.values.get(line / scales.per, 0);
  return std::bit_cast<float>(scales.type == ScaleType::e8m0 ? stored << 23 : stored);
}

void add_scales(Case& c, Request& request, ScaleValues values) {
  request.spec.line_scales = true;
  // Powers of two would hide which product is rounded first.
  const ScaleType type = c.index() % 4 == 3 ? ScaleType::e8m0 : ScaleType::fp32;
  const auto draw = [&](std::int64_t lines) {
    return draw_scales(c.random(), values, lines, 1, type, c.random().one_in(3) ? 128 : 1);
  };
  request.scale_a = draw(request.a.rows);
  request.scale_b = draw(request.b.cols);
  // An engine may refuse an order of D, and still be tested.
  if (c.index() % 2 == 1) draw_layouts(c.random(), request);
}

/// Scales multiply before alpha, C and the bias, as far as the engine computes these, whatever the
/// operations are. `scaled` is the finished sum times its scales, in fp32. False if it failed.
bool within_epilogue(Case& c, Request request, const Elements& scaled) {
  const std::int64_t m = scaled.rows, n = scaled.cols;
  const auto if_supported = [&](auto&& change) { return change_if_supported(c, request, change); };
  if (c.random().one_in(2)) if_supported([](GemmSpec& spec) { spec.op_a = Op::transpose; });
  if (c.random().one_in(2)) if_supported([](GemmSpec& spec) { spec.op_b = Op::transpose; });
  if_supported([](GemmSpec& spec) { spec.alpha = 0.3F; });
  if (if_supported([](GemmSpec& spec) { spec.beta = -1.7F; })) {
    request.c = draw_normal(c.random(), DType::fp32, m, n);
  }
  if (if_supported([](GemmSpec& spec) { spec.bias = DType::fp32; })) {
    request.bias = draw_normal(c.random(), DType::fp32, 1, n);
  }
  const GemmSpec& spec = request.spec;
  Elements expected(DType::fp32, m, n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float v = spec.alpha * std::bit_cast<float>(scaled.get(i, j));
      if (spec.beta != 0.0F) {
        const float addend = spec.beta * std::bit_cast<float>(request.c.get(i, j));
        v = v + addend;
      }
      if (spec.bias) v = v + std::bit_cast<float>(request.bias.get(0, j));
      expected.set(i, j, bits_of(v));
    }
  }
  const auto got = c.run(request);
  return got && c.same(expected, got->d, "scales, then alpha, C and the bias");
}

/// A sum of nothing that continues from C: the last part of a K that was cut has the scales.
void continued(Case& c, Request request, std::int64_t m, std::int64_t n) {
  GemmSpec& spec = request.spec;
  spec = GemmSpec{};
  spec.contract = c.with_output(DType::fp32);
  spec.line_scales = true;
  spec.continue_from_c = true;
  request.a = col_slice(request.a, 0, 0);
  request.b = row_slice(request.b, 0, 0);
  request.c = draw_normal(c.random(), DType::fp32, m, n);
  if (!c.engine().supports(sized(request))) return;
  Elements expected(DType::fp32, m, n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const float sum = value_of(request.scale_b, j) * std::bit_cast<float>(request.c.get(i, j));
      expected.set(i, j, bits_of(value_of(request.scale_a, i) * sum));
    }
  }
  const auto got = c.run(request);
  if (got) c.same(expected, got->d, "a sum that continues, times its scales");
}

}  // namespace

/// Scales of whole rows and columns: those of 1 change nothing; others multiply the finished sum,
/// the column's first, each product rounded; and neither those of other rows nor a row's place
/// enter.
void line_scales(Case& c) {
  const ReductionKind kind = c.contract().reduction.kind;
  if (kind != ReductionKind::chain && kind != ReductionKind::fold) {
    return c.skip("chain and fold alone take scales of whole rows and columns");
  }
  Shape shape = c.draw_shape();
  shape.m = std::min<std::int64_t>(shape.m, c.index() % 2 == 0 ? 40 : 300);
  Request request = c.draw(shape);
  const auto plain = c.run(request);
  if (!plain) return;
  add_scales(c, request, ScaleValues::ones);
  const auto ones = c.run(request);
  if (!ones || !c.same(plain->d, ones->d, "without scales, against scales of 1")) return;

  request.spec.contract = c.with_output(DType::fp32);
  Request bare = request;
  bare.spec.line_scales = false;
  bare.scale_a = bare.scale_b = {};
  const auto acc = c.run(bare);
  add_scales(c, request, ScaleValues::moderate);
  const auto got = c.run(request);
  if (!acc || !got) return;
  Elements expected(DType::fp32, acc->d.rows, acc->d.cols);
  bool visible = false;
  for (std::int64_t i = 0; i < expected.rows; ++i) {
    for (std::int64_t j = 0; j < expected.cols; ++j) {
      const float sum = std::bit_cast<float>(acc->d.get(i, j));
      const float a = value_of(request.scale_a, i), b = value_of(request.scale_b, j);
      const float column_first = b * sum, row_first = a * sum, both = a * b;
      expected.set(i, j, bits_of(a * column_first));
      visible = visible || (bits_of(b * row_first) != expected.get(i, j) &&
                            bits_of(both * sum) != expected.get(i, j));
    }
  }
  if (!c.same(expected, got->d, "scale_a * (scale_b * acc), each product rounded")) return;

  // The rows in another order, and alone among rows whose scales are NaN.
  const std::int64_t row = c.random().below(shape.m);
  Request other = request;
  other.scale_a.per = 1;
  other.scale_a.values = Elements(request.scale_a.values.dtype, shape.m, 1);
  for (std::int64_t i = 0; i < shape.m; ++i) {
    const std::int64_t from = (i + row) % shape.m;
    const std::uint32_t nan = request.scale_a.type == ScaleType::e8m0 ? 255U : arithmetic::kNaNBits;
    const std::uint32_t own = request.scale_a.values.get(from / request.scale_a.per, 0);
    other.scale_a.values.set(i, 0, i == 0 ? own : nan);
    for (std::int64_t k = 0; k < shape.k; ++k) other.a.set(i, k, request.a.get(from, k));
  }
  const auto moved = c.run(other);
  if (!moved) return;
  if (!c.same(row_slice(expected, row, row + 1), row_slice(moved->d, 0, 1),
              "row " + std::to_string(row) + " moved to the front, next to scales that are NaN")) {
    return;
  }
  if (visible) c.count_discriminating();
  if (!within_epilogue(c, request, expected)) return;
  continued(c, request, expected.rows, expected.cols);
}

}  // namespace detgemm::conformance
