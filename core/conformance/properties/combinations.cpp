// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "core/conformance/format.hpp"
#include "core/conformance/properties/crossing.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::int64_t kSharedCases = 4;  // after the rows of the design: A and B are one array

/// All elements +0 or -0 in half of the rows, some of them in the others.
void scatter_zeros(Random& random, Elements& e, DType input) {
  const std::uint32_t sign = format_of(input).sign_bit();
  for (std::int64_t i = 0; i < e.rows; ++i) {
    const bool all = random.one_in(2);
    for (std::int64_t j = 0; j < e.cols; ++j) {
      if (all || random.one_in(4)) e.set(i, j, random.one_in(2) ? sign : 0U);
    }
  }
}

/// The typical magnitude of finite results, as a power of two: C and the bias must be of that size,
/// or they hide the product, or it them.
double scale_of(const Elements& acc) {
  double sum = 0.0;
  int count = 0;
  for (std::int64_t i = 0; i < acc.rows; ++i) {
    for (std::int64_t j = 0; j < acc.cols; ++j) {
      const double value = std::fabs(decode(acc.get(i, j), DType::fp32));
      if (!std::isfinite(value) || value == 0.0) continue;
      sum += std::log2(value);
      ++count;
    }
  }
  return count == 0 ? 1.0 : std::exp2(std::floor(sum / count));
}

/// Normal elements of that scale, with zeros of both signs between them, and what the data has.
Elements addends(Random& random, DType type, std::int64_t rows, std::int64_t cols, double scale,
                 bool specials) {
  Elements e = draw_normal(random, type, rows, cols, scale);
  const std::uint32_t sign = format_of(type).sign_bit();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      std::uint32_t bits = e.get(i, j);
      if (random.one_in(6)) bits = random.one_in(2) ? sign : 0U;
      if (specials && random.one_in(12)) {
        bits = random.one_in(3) ? some_nan(type)
                                : format_of(type).beyond_max() | (random.one_in(2) ? sign : 0U);
      }
      e.set(i, j, bits);
    }
  }
  return e;
}

void fill_with(Elements& e, std::uint32_t bits) {
  for (std::int64_t i = 0; i < e.rows; ++i) {
    for (std::int64_t j = 0; j < e.cols; ++j) e.set(i, j, bits);
  }
}

Distribution distribution_of(Case& c, const Crossed& row, std::int64_t k) {
  // 0 * Inf and 0 * -1 are what alpha = 0 is about.
  if (k <= 48 && (row.alpha() == 0.0F || c.random().one_in(10))) return Distribution::specials;
  if (row.level(Factor::data) == 0) return Distribution::residue;
  return c.random().one_in(2) ? Distribution::normal : Distribution::cancel;
}

/// C and the bias, of the size of the product. False if that could not be computed.
bool add_addends(Case& c, const Crossed& row, Request& request, bool specials) {
  const std::int64_t m = request.a.rows;
  const std::int64_t n = request.b.cols;
  const GemmSpec& spec = request.spec;
  const DType c_type = spec.continue_from_c ? DType::fp32 : spec.contract.output;
  if (row.c_use() == CUse::unread) {
    request.c = Elements(c_type, m, n);
    fill_with(request.c, canonical_nan(c_type));
  }
  if (!row.reads_c() && !spec.bias) return true;
  Request product;
  product.spec.contract = c.with_output(DType::fp32);
  product.a = request.a;
  product.b = request.b;
  const auto acc = c.has_oracle() ? c.run_oracle(product) : c.run(product);
  if (!acc) return false;
  const double scale = scale_of(acc->d);
  if (row.reads_c()) request.c = addends(c.random(), c_type, m, n, scale, specials);
  if (spec.bias) request.bias = addends(c.random(), *spec.bias, 1, n, scale, specials);
  return true;
}

void compare(Case& c, const Request& request) {
  std::string what = describe(request);
  if (!request.options.variant.empty()) what += ", variant " + request.options.variant;
  c.log(what);
  auto got = run_once(c.engine(), request);
  if (!got && got.status().code() == Errc::unsupported && !request.options.variant.empty()) {
    Request chosen = request;
    chosen.options.variant.clear();
    got = run_once(c.engine(), std::move(chosen));
  }
  const auto output = c.ran(std::move(got));
  if (!output) return;
  const auto expected = c.has_oracle() ? c.run_oracle(plain(request)) : c.run(plain(request));
  if (!expected) return;
  if (c.same(expected->d, output->d, what)) c.check_order_matters(plain(request), expected->d);
}

/// One of the engine's kernels by its name in every second case: what is crossed is crossed with
/// it.
void force_one(Case& c, Request& request) {
  const auto list = c.engine().variants(sized(request));
  if (list.empty() || c.random().one_in(2)) return;
  const std::string& variant = c.random().pick(std::span<const std::string>(list));
  // A kernel may refuse; then the engine chooses, as it does in the other cases.
  if (variant.size() > kMaxVariantName) return;
  Request forced = request;
  forced.options.variant = variant;
  const auto plan = Plan::create(c.engine(), sized(forced), forced.options);
  if (plan || plan.status().code() != Errc::unsupported) request.options.variant = variant;
}

/// A row times all rows: A and B are one array, read once as it is and once transposed.
void shared_operand(Case& c) {
  Shape shape{c.random().between(2, 20), 0, c.stretch() * 2 + c.random().below(40)};
  shape.n = shape.m;
  // The squares of the diagonal do not cancel: only fp32 shows their order.
  Request request = c.draw(shape, Distribution::wide);
  request.spec.contract = c.with_output(DType::fp32);
  // In every second one rows of zeros, of which a negative alpha makes -0.
  if (c.index() % 2 != 0) {
    scatter_zeros(c.random(), request.a, c.contract().input);
    request.spec.alpha = -1.0F;
  }
  request.b = transposed(request.a);
  request.b_is_a = true;
  request.spec.op_b = Op::transpose;
  if (c.random().one_in(2)) {
    request.a_layout.ld_padding = c.random().between(1, 9);
    request.a_layout.offset = c.random().below(9);
  }
  compare(c, request);
}

}  // namespace

std::int64_t combination_cases(const Contract&, Level level) {
  return static_cast<std::int64_t>(crossing(level).size()) + kSharedCases;
}

/// Operations, strides, addresses, C, the bias and the epilogue at once, by a covering design: the
/// bits of the same product in packed arrays by rows.
void combinations(Case& c) {
  const auto& rows = crossing(c.full() ? Level::full : Level::quick);
  const auto index = static_cast<std::size_t>(c.index());
  if (index >= rows.size()) return shared_operand(c);
  const Crossed row(c, rows[index]);
  const Shape shape = row.draw_shape(c);
  const Distribution distribution = distribution_of(c, row, shape.k);
  Request request = c.draw(shape, distribution);
  // A negative alpha makes -0 of a sum that is zero.
  if (c.random().one_in(std::signbit(row.alpha()) ? 4 : 10)) {
    scatter_zeros(c.random(), request.a, c.contract().input);
  }
  if (c.random().one_in(10)) scatter_zeros(c.random(), request.b, c.contract().input);
  row.apply(c, request);
  force_one(c, request);
  if (!add_addends(c, row, request, distribution == Distribution::specials)) return;
  compare(c, request);
}

}  // namespace detgemm::conformance
