// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "core/conformance/properties/list.hpp"

// What the scales of `scaled` may and may not do. Without an oracle, each by comparison with
// another run of the same engine.

namespace detgemm::conformance {
namespace {

constexpr std::uint32_t kNaN = 0x7fffffffU;

bool is_scaled(Case& c) {
  if (c.contract().reduction.kind == ReductionKind::scaled) return true;
  c.skip("only contracts of scaled take scales");
  return false;
}

/// Scales of both operands.
void add_scales(Case& c, Request& request, ScaleValues values, ScaleType type, std::int64_t per,
                bool any_layout = false) {
  const std::int64_t leaves = c.contract().leaves(request.a.cols);
  request.scale_a = draw_scales(c.random(), values, request.a.rows, leaves, type, per);
  request.scale_b = draw_scales(c.random(), values, request.b.cols, leaves, type, per);
  // An engine may refuse an order of D, and still be tested.
  if (any_layout || c.index() % 2 == 1) draw_layouts(c.random(), request);
}

/// A shape of 2 to 7 leaves, the last one often short.
Shape draw_leaves(Case& c) {
  Shape shape = c.draw_shape();
  const std::int64_t leaf = c.contract().reduction.leaf_k;
  shape.m = std::min<std::int64_t>(shape.m, 40);
  shape.k = c.random().between(leaf + 1, 7 * leaf);
  return shape;
}

/// The scales of leaves [begin, end).
ScaleArray of_leaves(const ScaleArray& all, std::int64_t begin, std::int64_t end) {
  ScaleArray some = all;
  some.values = col_slice(all.values, begin, end);
  return some;
}

}  // namespace

/// Scales that are all 1, of either type, for 1 or 128 lines, stored anyhow: the bits of `fold`.
void scales_one(Case& c) {
  if (!is_scaled(c)) return;
  Request request = c.draw(draw_leaves(c));
  Request folded = request;
  folded.spec.contract.reduction.kind = ReductionKind::fold;
  const auto expected = c.run(folded);
  if (!expected) return;
  for (const ScaleType type : {ScaleType::fp32, ScaleType::e8m0}) {
    for (const std::int64_t per : {std::int64_t{1}, std::int64_t{128}}) {
      add_scales(c, request, ScaleValues::ones, type, per, true);
      const auto got = c.run(request);
      if (!got) continue;  // noted
      if (!c.same(expected->d, got->d, "fold, against scales of 1")) return;
    }
  }
  c.check_order_matters(request, expected->d);
}

/// K cut at leaves, each part with its own leaves' scales and continuing from the sum before it.
void scales_cut(Case& c) {
  if (!is_scaled(c)) return;
  const std::int64_t leaf = c.contract().reduction.leaf_k;
  Request whole = c.draw(draw_leaves(c));
  const std::int64_t k = whole.a.cols;
  const std::int64_t leaves = c.contract().leaves(k);
  add_scales(c, whole, ScaleValues::moderate, ScaleType::fp32, c.random().one_in(2) ? 1 : 128);
  const auto expected = c.run(whole);
  if (!expected) return;
  Elements sum(DType::fp32, whole.a.rows, whole.b.cols);
  for (std::int64_t begin = 0; begin < leaves;) {
    const std::int64_t end =
        c.random().between(begin + 1, begin == 0 ? std::max<std::int64_t>(1, leaves - 1) : leaves);
    Request part = whole;
    part.spec.contract = end == leaves ? c.contract() : c.with_output(DType::fp32);
    part.spec.continue_from_c = begin > 0;
    part.a = col_slice(whole.a, begin * leaf, std::min(k, end * leaf));
    part.b = row_slice(whole.b, begin * leaf, std::min(k, end * leaf));
    part.scale_a = of_leaves(whole.scale_a, begin, end);
    part.scale_b = of_leaves(whole.scale_b, begin, end);
    part.c = sum;
    const auto output = c.run(part);
    if (!output) return;
    sum = output->d;
    begin = end;
  }
  if (!c.same(expected->d, sum, "K cut at leaves, with their scales")) return;
  c.check_order_matters(whole, expected->d);
}

/// A scale of zero, a leaf of zeros, and a leaf that is not there: three ways to say the same,
/// where numbers are finite and nothing underflows.
void scales_zero(Case& c) {
  if (!is_scaled(c)) return;
  const std::int64_t leaf = c.contract().reduction.leaf_k;
  Shape shape = draw_leaves(c);
  shape.k = std::max(shape.k, 2 * leaf);
  Request request = c.draw(shape, Distribution::normal);
  add_scales(c, request, ScaleValues::moderate, ScaleType::fp32, 1);
  const std::int64_t whole_leaves = request.a.cols / leaf;
  const std::int64_t at = c.random().below(whole_leaves);
  const auto with_leaf = c.run(request);

  Request zero_block = request;
  for (std::int64_t i = 0; i < shape.m; ++i) {
    for (std::int64_t k = at * leaf; k < (at + 1) * leaf; ++k) zero_block.a.set(i, k, 0);
  }
  const auto expected = c.run(zero_block);
  Request zero_scale = request;
  for (std::int64_t i = 0; i < shape.m; ++i) zero_scale.scale_a.values.set(i, at, 0);
  const auto got = c.run(zero_scale);
  if (!with_leaf || !expected || !got) return;
  if (!c.same(expected->d, got->d, "a leaf of zeros, against a scale of zero")) return;

  const auto without = [&](const Elements& all, std::int64_t unit) {
    Elements some(all.dtype, all.rows, all.cols - unit);
    for (std::int64_t i = 0; i < some.rows; ++i) {
      for (std::int64_t j = 0; j < some.cols; ++j) {
        some.set(i, j, all.get(i, j < at * unit ? j : j + unit));
      }
    }
    return some;
  };
  Request shorter = request;
  shorter.a = without(request.a, leaf);
  shorter.b = transposed(without(transposed(request.b), leaf));
  shorter.scale_a.values = without(request.scale_a.values, 1);
  shorter.scale_b.values = without(request.scale_b.values, 1);
  const auto left_out = c.run(shorter);
  if (!left_out) return;
  if (!c.same(left_out->d, got->d, "a leaf that is not there, against a scale of zero")) return;
  if (!(with_leaf->d == got->d)) c.count_discriminating();
}

/// A row among rows whose scales are NaN has the bits of the row alone, and so has a column; a
/// block of 128 rows shares one scale.
void scales_rows(Case& c) {
  if (!is_scaled(c)) return;
  const bool shared = c.index() % 2 == 1;
  const std::int64_t leaf = c.contract().reduction.leaf_k;
  const bool wide = c.full() && c.index() % 4 == 3;  // columns that share scales
  const Shape shape{c.random().between(2, wide     ? 9
                                          : shared ? 300
                                                   : 40),
                    wide ? c.random().between(257, 400) : c.random().between(2, 9),
                    c.random().between(leaf + 1, 4 * leaf)};
  Request request = c.draw(shape);
  add_scales(c, request, ScaleValues::moderate, ScaleType::fp32, 1);
  if (shared) {
    const std::int64_t leaves = request.scale_a.values.cols;
    request.scale_a =
        draw_scales(c.random(), ScaleValues::moderate, shape.m, leaves, ScaleType::fp32, 128);
    if (wide) {
      request.scale_b =
          draw_scales(c.random(), ScaleValues::moderate, shape.n, leaves, ScaleType::fp32, 128);
    }
  }
  request.spec.op_a = c.random().one_in(2) ? Op::transpose : Op::none;
  request.spec.op_b = c.random().one_in(2) ? Op::transpose : Op::none;
  if (!c.engine().supports(sized(request))) request.spec.op_a = request.spec.op_b = Op::none;
  const auto expected = c.run(request);
  if (!expected) return;
  const std::int64_t row = c.random().below(shape.m);
  const std::int64_t col = c.random().below(shape.n);
  const std::int64_t block = row / request.scale_a.per;

  Request alone = request;
  alone.a = row_slice(request.a, row, row + 1);
  alone.scale_a.values = row_slice(request.scale_a.values, block, block + 1);
  const auto one = c.run(alone);
  if (!one) return;
  const std::string what = "row " + std::to_string(row) + " of " + std::to_string(shape.m);
  if (!c.same(row_slice(expected->d, row, row + 1), one->d, what + " alone")) return;

  Request column = request;
  column.b = col_slice(request.b, col, col + 1);
  const std::int64_t column_block = col / request.scale_b.per;
  column.scale_b.values = row_slice(request.scale_b.values, column_block, column_block + 1);
  const auto other = c.run(column);
  if (!other) return;
  if (!c.same(col_slice(expected->d, col, col + 1), other->d,
              "column " + std::to_string(col) + " of " + std::to_string(shape.n) + " alone")) {
    return;
  }

  Request crowd = request;
  const auto spoil = [](Elements& scales, std::int64_t but) {
    for (std::int64_t i = 0; i < scales.rows; ++i) {
      for (std::int64_t j = 0; i != but && j < scales.cols; ++j) scales.set(i, j, kNaN);
    }
  };
  spoil(crowd.scale_a.values, block);
  spoil(crowd.scale_b.values, col / request.scale_b.per);
  const auto got = c.run(crowd);
  if (!got) return;
  const auto cell = [&](const Elements& d) {
    return col_slice(row_slice(d, row, row + 1), col, col + 1);
  };
  if (!c.same(cell(expected->d), cell(got->d), what + " next to scales that are NaN")) return;
  c.check_order_matters(alone, one->d);
}

}  // namespace detgemm::conformance
