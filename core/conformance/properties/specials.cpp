// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>

#include "core/conformance/format.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// A zero is +0, a NaN canonical; the value is exact or overflows, so all roundings agree.
std::uint32_t expected_bits(double value, DType output) {
  const double accumulator = decode(encode(value, DType::fp32), DType::fp32);
  return accumulator == 0.0 ? 0U : encode(accumulator, output);
}

bool snaps(const Contract& contract) {
  return contract.arithmetic == Arithmetic::snap || contract.arithmetic == Arithmetic::snap3;
}

/// By contract cdna2 flushes subnormal operands to zero, and snap and snap3 round them to it; the
/// others keep them.
bool keeps_subnormals(const Contract& contract) {
  return contract.arithmetic != Arithmetic::cdna2 && !snaps(contract);
}

/// What an operand counts as. Snap and snap3 have no grid for a leaf whose largest number is beyond
/// 2^63, which then is NaN, and round what is below 2^-63 to zero; special values are beyond both.
double operand(std::uint32_t bits, const Contract& contract) {
  const double value = decode(bits, contract.input);
  if (!snaps(contract) || !std::isfinite(value)) return value;
  if (std::fabs(value) > 0x1p64) return std::nan("");
  return std::fabs(value) < 0x1p-64 ? 0.0 : value;
}

std::uint32_t min_subnormal(DType input) { return input == DType::tf32 ? 0x2000U : 1U; }

std::vector<std::uint32_t> special_values(const Contract& contract) {
  const DType input = contract.input;
  const Format f = format_of(input);
  std::vector<std::uint32_t> list{0U,
                                  f.sign_bit(),
                                  encode(1.0, input),
                                  encode(-1.0, input),
                                  encode(1.5, input),
                                  f.max(),
                                  f.max() | f.sign_bit(),
                                  1U << f.fraction_bits,
                                  some_nan(input),
                                  some_nan(input) | f.sign_bit()};
  if (f.has_inf) {
    list.push_back(f.beyond_max());
    list.push_back(f.beyond_max() | f.sign_bit());
  }
  if (keeps_subnormals(contract)) list.push_back(min_subnormal(input));
  // Its payload is in bits that are dropped before anything else: an Inf is left.
  if (input == DType::tf32) list.push_back(f.beyond_max() | 1U);
  return list;
}

/// The lengths at which a single product is tested, and its position in K.
struct Place {
  std::int64_t k;
  std::int64_t at;
};

std::array<Place, 3> places(Case& c) {
  const Contract& contract = c.contract();
  const std::int64_t part = std::max<std::int64_t>(contract.reduction.leaf_k, contract.k_block);
  const std::int64_t long_k = 3 * part + c.random().between(1, part);
  return {{{1, 0}, {part, c.random().below(part)}, {long_k, c.random().below(long_k)}}};
}

/// Every special value times every other; all other products are zero.
void products(Case& c, const Place& place, DType output) {
  const auto list = special_values(c.contract());
  const auto size = static_cast<std::int64_t>(list.size());
  Request request;
  request.spec.contract = c.with_output(output);
  const DType input = c.contract().input;
  request.a = Elements(stored_type(input), size, place.k);
  request.b = Elements(stored_type(input), place.k, size);
  Elements expected(output, size, size);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint32_t x = list[static_cast<std::size_t>(i)];
    request.a.set(i, place.at, x);
    request.b.set(place.at, i, x);
    for (std::int64_t j = 0; j < size; ++j) {
      const double y = operand(list[static_cast<std::size_t>(j)], c.contract());
      expected.set(i, j, expected_bits(operand(x, c.contract()) * y, output));
    }
  }
  const auto got = c.run(request);
  if (got) c.same(expected, got->d, "special value i times special value j");
}

/// Two products that add up to something special, at `first` and `second`.
void sums(Case& c, std::int64_t k, std::int64_t first, std::int64_t second, DType output) {
  const DType input = c.contract().input;
  const Format f = format_of(input);
  const std::uint32_t minus = f.sign_bit();
  const std::uint32_t one = encode(1.0, input);
  const std::uint32_t max = f.max();
  const std::uint32_t nan = some_nan(input);
  std::vector<std::array<std::uint32_t, 2>> pairs{
      {one, one | minus},         {one | minus, one}, {minus, minus}, {max, max},
      {max | minus, max | minus}, {max, max | minus}, {nan, one},     {one, nan}};
  if (f.has_inf) {
    const std::uint32_t inf = f.beyond_max();
    for (const auto& pair : {std::array{inf, inf | minus}, std::array{inf | minus, inf},
                             std::array{inf, inf}, std::array{one, inf | minus}}) {
      pairs.push_back(pair);
    }
  }
  if (keeps_subnormals(c.contract())) {
    pairs.push_back({min_subnormal(input), min_subnormal(input)});
    pairs.push_back({min_subnormal(input), min_subnormal(input) | minus});
  }
  const auto size = static_cast<std::int64_t>(pairs.size());
  Request request;
  request.spec.contract = c.with_output(output);
  request.a = Elements(stored_type(input), size, k);
  request.b = Elements(stored_type(input), k, 1);
  for (std::int64_t i = 0; i < k; ++i) request.b.set(i, 0, one);
  Elements expected(output, size, 1);
  for (std::int64_t i = 0; i < size; ++i) {
    const auto& [x, y] = pairs[static_cast<std::size_t>(i)];
    request.a.set(i, first, x);
    request.a.set(i, second, y);
    expected.set(i, 0, expected_bits(operand(x, c.contract()) + operand(y, c.contract()), output));
  }
  const auto got = c.run(request);
  if (got) c.same(expected, got->d, "the sum of special pair i");
}

/// K = 0 gives +0; M = 0 and N = 0 give no output and are no error.
void empty_extents(Case& c, DType output) {
  for (const Shape& shape : {Shape{3, 5, 0}, Shape{0, 5, 7}, Shape{3, 0, 7}, Shape{0, 0, 0}}) {
    Request request = c.draw(shape, Distribution::normal);
    request.spec.contract = c.with_output(output);
    const auto got = c.run(request);
    if (!got) return;
    c.same(Elements(output, shape.m, shape.n), got->d, "an empty product");
  }
}

/// What K = 0 leaves of an fp32 C that the accumulator starts from: C itself, -0 too. Under an
/// ieee_fma chain the same after a product of -0.
void continued(Case& c, DType output) {
  const Contract& contract = c.contract();
  if (contract.reduction.kind == ReductionKind::tree) return;
  const Format f = format_of(DType::fp32);
  const std::uint32_t minus = f.sign_bit();
  const std::array<std::uint32_t, 9> starts{
      0U,          minus,          encode(1.5, DType::fp32), encode(-1.5, DType::fp32),
      0xffc00001U, f.beyond_max(), f.beyond_max() | minus,   0x7fffffffU,
      0x7f800001U};
  const auto size = static_cast<std::int64_t>(starts.size());
  const bool fma_chain = contract.arithmetic == Arithmetic::ieee_fma &&
                         contract.reduction.kind == ReductionKind::chain;
  for (const std::int64_t k : {std::int64_t{0}, std::int64_t{2}}) {
    if (k > 0 && !fma_chain) continue;
    Request request;
    request.spec.contract = c.with_output(output);
    request.spec.continue_from_c = true;
    request.a = Elements(stored_type(contract.input), size, k);
    request.b = Elements(stored_type(contract.input), k, 2);
    for (std::int64_t at = 0; at < k; ++at) {
      for (std::int64_t i = 0; i < size; ++i) {
        request.a.set(i, at, format_of(contract.input).sign_bit());
      }
      for (std::int64_t j = 0; j < 2; ++j) request.b.set(at, j, encode(1.0, contract.input));
    }
    request.c = Elements(DType::fp32, size, 2);
    Elements expected(output, size, 2);
    for (std::int64_t i = 0; i < size; ++i) {
      const std::uint32_t start = starts[static_cast<std::size_t>(i)];
      const double value = decode(start, DType::fp32);
      for (std::int64_t j = 0; j < 2; ++j) {
        request.c.set(i, j, start);
        expected.set(i, j, std::isnan(value) ? canonical_nan(output) : encode(value, output));
      }
    }
    const auto got = c.run(request);
    if (!got) return;
    c.same(expected, got->d,
           "what continues from special C over " + std::to_string(k) + " products of -0");
  }
}

/// Sums of two that lie just below the middle between two fp32 numbers. An fma that is emulated by
/// a product and a sum in double rounds twice, and to the other side.
void near_ties(Case& c, DType output) {
  const Contract& contract = c.contract();
  if (contract.arithmetic != Arithmetic::ieee_fma || contract.input != DType::fp32) return;
  if (contract.reduction.kind == ReductionKind::scaled) return;
  Request request;
  request.spec.contract = c.with_output(output);
  request.a = Elements(DType::fp32, 8, 2);
  request.b = Elements(DType::fp32, 2, 1);
  request.b.set(0, 0, encode(1.0, DType::fp32));
  request.b.set(1, 0, encode(1.0 - 0x1p-23, DType::fp32));
  Elements expected(output, 8, 1);
  for (std::int64_t i = 0; i < 8; ++i) {
    const double sign = i % 2 == 0 ? 1.0 : -1.0;
    const double first = sign * (1.0 + 0x1p-23 * static_cast<double>(2 * i + 1));  // an odd one
    const double half = sign * 0x1p-24 * (1.0 + 0x1p-23);
    request.a.set(i, 0, encode(first, DType::fp32));
    request.a.set(i, 1, encode(half, DType::fp32));
    expected.set(i, 0, expected_bits(first, output));
  }
  const auto got = c.run(request);
  if (got) c.same(expected, got->d, "sums just below a tie");
}

/// `count` numbers of eight bits at most whose squares add up to `sum`; none if there are none.
std::vector<double> with_squares(std::int64_t count, std::int64_t sum) {
  const auto fits = [](std::int64_t x) { return x <= 256 || (x % 2 == 0 && x <= 512); };
  auto each = static_cast<std::int64_t>(std::sqrt(static_cast<double>(sum / count)));
  while (!fits(each)) --each;
  std::vector<double> list(static_cast<std::size_t>(count - 4), static_cast<double>(each));
  const std::int64_t rest = sum - (count - 4) * each * each;
  for (std::int64_t x = 512; x >= 0; --x) {
    for (std::int64_t y = x; fits(x) && y >= 0; --y) {
      for (std::int64_t z = y; fits(y) && z >= 0; --z) {
        const std::int64_t last = rest - x * x - y * y - z * z;
        if (last < 0 || !fits(z)) continue;
        const auto w = static_cast<std::int64_t>(std::sqrt(static_cast<double>(last)) + 0.5);
        if (w > z) break;
        if (w * w != last || !fits(w)) continue;
        for (const std::int64_t one : {x, y, z, w}) list.push_back(static_cast<double>(one));
        return list;
      }
    }
  }
  return {};
}

/// Leaves of snap whose squares add up to 2^24, which is allowed, and to one more: then the grid is
/// the next one, and the ones are rounded away.
void grids(Case& c, DType output) {
  const Contract& contract = c.contract();
  if (contract.arithmetic != Arithmetic::snap) return;
  const std::int64_t k = std::min<std::int64_t>(contract.reduction.leaf_k, 64);
  for (const std::int64_t ones : {4, 5}) {
    // The others are even, so that the next grid holds them.
    auto list = with_squares(k - ones, (std::int64_t{1} << 22) - 1);
    if (list.empty()) continue;
    Request request;
    request.spec.contract = c.with_output(output);
    request.a = Elements(contract.input, 2, k);
    request.b = Elements(contract.input, k, 2);
    double sum = 0.0;
    for (std::int64_t i = 0; i < k; ++i) {
      const bool one = i < ones;
      const double magnitude = one ? 1.0 : 2.0 * list[static_cast<std::size_t>(i - ones)];
      const double value = !one && i % 2 == 0 ? -magnitude : magnitude;
      if (!one || ones == 4) sum += value;
      request.a.set(0, i, encode(value, contract.input));
      request.a.set(1, i, encode(-value, contract.input));
      for (std::int64_t j = 0; j < 2; ++j) {
        request.b.set(i, j, encode(j == 0 ? 1.0 : -1.0, contract.input));
      }
    }
    Elements expected(output, 2, 2);
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t j = 0; j < 2; ++j) {
        expected.set(i, j, expected_bits(i == j ? sum : -sum, output));
      }
    }
    const auto got = c.run(request);
    if (!got) return;
    c.same(expected, got->d,
           "a leaf whose squares add up to 2^24" + std::string(ones == 4 ? "" : " and 1"));
  }
}

}  // namespace

void specials(Case& c) {
  for (const DType output : {DType::bf16, DType::fp16, DType::fp32}) {
    c.count_discriminating();  // the expected bits come from the rules, not from another run
    for (const Place& place : places(c)) {
      products(c, place, output);
      if (place.k > 1) sums(c, place.k, place.at, (place.at + place.k / 2) % place.k, output);
    }
    sums(c, 2, 0, 1, output);
    empty_extents(c, output);
    continued(c, output);
    near_ties(c, output);
    grids(c, output);
    last_store(c, output);
  }
}

}  // namespace detgemm::conformance
