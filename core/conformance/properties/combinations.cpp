// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/conformance/format.hpp"
#include "core/conformance/properties/crossing.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::int64_t kSharedCases = 4;  // after the rows of the design: A and B are one array
// After those, with --full: extents as kernels and models have.
constexpr std::int64_t kWideCases = 120;

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

/// C and the bias, of the size of the product, which `some` of its rows and columns give. False if
/// that could not be computed.
bool add_addends(Case& c, const Crossed& row, Request& request, bool specials,
                 const Request& some) {
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
  product.a = some.a;
  product.b = some.b;
  const auto acc = c.has_oracle() ? c.run_oracle(product) : c.run(product);
  if (!acc) return false;
  const double scale = scale_of(acc->d);
  if (row.reads_c()) request.c = addends(c.random(), c_type, m, n, scale, specials);
  if (spec.bias) request.bias = addends(c.random(), *spec.bias, 1, n, scale, specials);
  return true;
}

std::string text_of(const Request& request) {
  const std::string& variant = request.options.variant;
  return describe(request) + (variant.empty() ? "" : ", variant " + variant);
}

/// By the variant that is forced, or as the engine chooses where that one refuses.
std::optional<Output> computed(Case& c, const Request& request) {
  c.log(text_of(request));
  auto got = run_once(c.engine(), request);
  if (!got && got.status().code() == Errc::unsupported && !request.options.variant.empty()) {
    Request chosen = request;
    chosen.options.variant.clear();
    got = run_once(c.engine(), std::move(chosen));
  }
  return c.ran(std::move(got));
}

void compare(Case& c, const Request& request) {
  const std::string what = text_of(request);
  const auto output = computed(c, request);
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

/// One, a few, whole tiles, a power of two, or anything below 2^16.
std::int64_t wide_extent(Random& random) {
  const std::int64_t power = std::int64_t{1} << random.between(4, 15);
  switch (random.below(8)) {
    case 0:
      return 1;
    case 1:
      return random.between(2, 17);
    case 2:
    case 3: {
      const std::int64_t tile = std::int64_t{8} << random.below(6);
      return tile * random.between(1, 9);
    }
    case 4:
      return power;
    default:
      return power + random.below(power);
  }
}

/// Extents of more than the design's, as far as a host computes them in milliseconds; in every
/// fourth case whole tiles in all three, as the fast paths of kernels need them.
Shape wide_shape(Case& c) {
  constexpr std::int64_t kElements = 1 << 19, kProducts = 1 << 23, kBeyond = 256;
  const std::int64_t tile = !c.random().one_in(4) ? 0 : c.random().one_in(2) ? 64 : 128;
  const auto extent = [&] {
    return tile > 0 ? tile * c.random().between(1, 4) : wide_extent(c.random());
  };
  for (;;) {
    const Shape s{extent(), extent(), extent()};
    if ((tile > 0 || std::max({s.m, s.n, s.k}) > kBeyond) && s.k > c.contract().k_block &&
        std::max({s.m * s.n, s.m * s.k, s.n * s.k}) <= kElements && s.m * s.n * s.k <= kProducts) {
      return s;
    }
  }
}

/// Scalars of ordinary programs, such as C - A*B.
void draw_scalars(Random& random, GemmSpec& spec) {
  constexpr std::array scalars{-1.0F, 3.0F, 0.25F, 8.0F, -0.5F, 10.0F, 1.0F / 3, -2.0F, 100.0F};
  const auto any = [&] { return random.pick(std::span<const float>(scalars)); };
  if (spec.alpha != 1.0F && spec.alpha != 0.0F) spec.alpha = random.one_in(4) ? -1.0F : any();
  if (spec.beta != 0.0F) spec.beta = random.one_in(3) ? 1.0F : any();
}

/// Some rows, and the columns [begin, end), as a product of their own in packed arrays.
Request part_of(const Request& request, const std::vector<std::int64_t>& rows, std::int64_t begin,
                std::int64_t end) {
  Request part = plain(request);
  const auto count = static_cast<std::int64_t>(rows.size());
  const bool has_c = request.c.rows > 0;
  part.a = Elements(request.a.dtype, count, request.a.cols);
  if (has_c) part.c = Elements(request.c.dtype, count, end - begin);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    paste_rows(part.a, i, row_slice(request.a, row, row + 1));
    if (has_c) paste_rows(part.c, i, col_slice(row_slice(request.c, row, row + 1), begin, end));
  }
  part.b = col_slice(request.b, begin, end);
  if (request.bias.cols > 0) part.bias = col_slice(request.bias, begin, end);
  return part;
}

/// A row of the design with wide extents: some rows and columns against the oracle, or against a
/// call of their own.
void wide(Case& c, const LevelRow& levels) {
  const Crossed row(c, levels);
  const Shape shape = wide_shape(c);
  const Distribution distribution = distribution_of(c, row, shape.k);
  Request request = c.draw(shape, distribution);
  row.apply(c, request);
  draw_scalars(c.random(), request.spec);
  force_one(c, request);
  std::vector<std::int64_t> rows{0, shape.m / 2, shape.m - 1};
  for (int i = 0; i < 5; ++i) rows.push_back(c.random().below(shape.m));
  const std::int64_t width = std::min<std::int64_t>(shape.n, 128);
  const std::int64_t some = c.random().below(shape.n - width + 1);
  if (!add_addends(c, row, request, distribution == Distribution::specials,
                   part_of(request, rows, some, some + width))) {
    return;
  }
  const auto whole = computed(c, request);
  if (!whole) return;
  for (const std::int64_t from : {some, std::int64_t{0}, shape.n - width}) {
    const Request part = part_of(request, rows, from, from + width);
    const auto expected = c.has_oracle() ? c.run_oracle(part) : c.run(part);
    if (!expected) return;
    Elements got(whole->d.dtype, static_cast<std::int64_t>(rows.size()), width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      paste_rows(got, static_cast<std::int64_t>(i),
                 col_slice(row_slice(whole->d, rows[i], rows[i] + 1), from, from + width));
    }
    if (!c.same(
            expected->d, got,
            "some rows, columns from " + std::to_string(from) + " on, of " + text_of(request))) {
      return;
    }
    if (from == some) c.check_order_matters(part, expected->d);
  }
}

}  // namespace

std::int64_t combination_cases(const Contract&, Level level) {
  const auto rows = static_cast<std::int64_t>(crossing(level).size());
  return rows + kSharedCases + (level == Level::full ? kWideCases : 0);
}

/// Operations, strides, addresses, C, the bias and the epilogue at once, by a covering design: the
/// bits of the same product in packed arrays by rows.
void combinations(Case& c) {
  const auto& rows = crossing(c.full() ? Level::full : Level::quick);
  const auto index = static_cast<std::size_t>(c.index());
  if (index >= rows.size() + kSharedCases) return wide(c, rows[7 * index % rows.size()]);
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
  if (!add_addends(c, row, request, distribution == Distribution::specials, request)) return;
  compare(c, request);
}

}  // namespace detgemm::conformance
