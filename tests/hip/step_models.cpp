// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/hip/step_models.hpp"

#include <algorithm>
#include <array>

#include "core/arithmetic/step.hpp"

namespace detgemm::test {
namespace {

using arithmetic::bits_of;
using arithmetic::float_of;
using arithmetic::Unpacked;
using Cut = StepFamily::Cut;

constexpr int kMostProducts = 32;
constexpr int kDotBits = 24;  // of a dot product, or an accumulator, that is aligned by itself
constexpr std::array kCuts{"floor", "truncate", "nearest"};

/// value * 2^shift, cut to an integer. |value| < 2^48.
std::int64_t shifted(std::int64_t value, int shift, Cut cut) {
  if (shift >= 0) return value << shift;
  const int right = std::min(-shift, 62);
  const std::int64_t below = value >> right;  // floor
  const std::int64_t rest = value - (below << right);
  if (rest == 0 || cut == Cut::floor) return below;
  if (cut == Cut::truncate) return value < 0 ? below + 1 : below;
  const std::int64_t half = std::int64_t{1} << (right - 1);
  return rest > half || (rest == half && (below & 1) != 0) ? below + 1 : below;
}

struct Term {
  std::int64_t value;  ///< with its sign, in units of 2^(exponent - 14)
  int exponent;        ///< as the sum of the factors' exponents: the value lies in [1, 4)
  int k;
};

/// A sum of products in units of 2^(exponent - kDotBits).
struct Dot {
  bool empty = true;
  int exponent = 0;
  std::int64_t value = 0;
};

/// The products whose k, divided by `every`, leaves `rest`.
Dot dot_of(const Term* terms, int count, int every, int rest) {
  Dot dot;
  for (int i = 0; i < count; ++i) {
    if (terms[i].k % every != rest) continue;
    dot.exponent = dot.empty ? terms[i].exponent : std::max(dot.exponent, terms[i].exponent);
    dot.empty = false;
  }
  for (int i = 0; i < count; ++i) {
    if (terms[i].k % every == rest)
      dot.value +=
          shifted(terms[i].value, kDotBits - 14 + terms[i].exponent - dot.exponent, Cut::truncate);
  }
  return dot;
}

Dot joined(const Dot& x, const Dot& y, Cut cut) {
  if (x.empty || y.empty) return x.empty ? y : x;
  const int exponent = std::max(x.exponent, y.exponent);
  return {
      false, exponent,
      shifted(x.value, x.exponent - exponent, cut) + shifted(y.value, y.exponent - exponent, cut)};
}

Unpacked operand(std::uint16_t raw, bool flushes) {
  Unpacked x = arithmetic::unpack<DType::bf16>(raw);
  if (flushes && !x.inf && !x.nan && x.significand < 128) x.significand = 0;
  return x;
}

/// Inf and NaN as IEEE 754 has them; no value where all is finite.
std::optional<float> special(const Unpacked* x, const Unpacked* y, int n, const Unpacked& c) {
  bool nan = c.nan, plus = c.inf && !c.negative, minus = c.inf && c.negative;
  for (int i = 0; i < n; ++i) {
    nan = nan || x[i].nan || y[i].nan || (x[i].inf && y[i].zero()) || (x[i].zero() && y[i].inf);
    const std::uint32_t product = x[i].significand * y[i].significand;
    const bool too_large =
        product != 0 && arithmetic::bit_width(product) - 15 + x[i].exponent + y[i].exponent >= 128;
    if (x[i].inf || y[i].inf || too_large) (x[i].negative != y[i].negative ? minus : plus) = true;
  }
  if (nan || (plus && minus)) return float_of(arithmetic::kNaNBits);
  if (plus || minus) return float_of(arithmetic::kInfBits | (minus ? 0x80000000U : 0U));
  return std::nullopt;
}

float step(const StepFamily& f, const std::uint16_t* a, const std::uint16_t* b, float acc) {
  const int n = f.products;
  Unpacked x[kMostProducts], y[kMostProducts];
  for (int i = 0; i < n; ++i) x[i] = operand(a[i], f.flushes), y[i] = operand(b[i], f.flushes);
  Unpacked c = arithmetic::unpack<DType::fp32>(bits_of(acc));
  if (f.flushes && !c.inf && !c.nan && c.significand < 1U << 23) c.significand = 0;
  if (const auto result = special(x, y, n, c)) return *result;
  Term terms[kMostProducts];
  int count = 0, dot_exponent = 0;
  for (int i = 0; i < n; ++i) {
    const auto product = static_cast<std::int64_t>(x[i].significand) * y[i].significand;
    if (product == 0) continue;
    const int exponent = x[i].exponent + y[i].exponent;
    dot_exponent = count == 0 ? exponent : std::max(dot_exponent, exponent);
    terms[count++] = {x[i].negative != y[i].negative ? -product : product, exponent, i};
  }
  const int top = count == 0 ? c.exponent : std::max(dot_exponent, c.exponent);
  std::int64_t signed_c = c.negative ? -std::int64_t{c.significand} : std::int64_t{c.significand};
  if (f.far != 0 && c.exponent < top - f.far) signed_c = 0;
  std::int64_t sum = 0;  // in units of 2^(top - fraction)
  if (f.stages == 1) {
    sum = shifted(signed_c, f.fraction - 23 + c.exponent - top, f.cut);
    for (int i = 0; i < count; ++i)
      sum += shifted(terms[i].value, f.fraction - 14 + terms[i].exponent - top, f.cut);
  } else {
    const Dot dot = f.apart ? joined(dot_of(terms, count, 2, 0), dot_of(terms, count, 2, 1), f.cut)
                            : dot_of(terms, count, 1, 0);
    const int acc_bits = std::min(kDotBits, f.fraction);
    sum = shifted(signed_c, acc_bits - 23 + c.exponent - top, f.cut) << (f.fraction - acc_bits);
    if (!dot.empty) sum += shifted(dot.value, f.fraction - kDotBits + dot.exponent - top, f.cut);
  }
  if (sum == 0) return 0.0F;
  const int lsb = top - f.fraction;
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int leading = std::max(arithmetic::bit_width(magnitude) - 1 + lsb, -126);
  if (const int drop = leading - f.kept - lsb; f.kept != 0 && drop > 0 && drop < 62)
    sum = shifted(sum, -drop, Cut::floor) << drop;
  const float result = f.nearest ? arithmetic::round_nearest_even(sum, lsb)
                                 : arithmetic::round_toward_zero(sum, lsb, 24);
  return f.flushes ? arithmetic::add_rn(arithmetic::flushed(result), 0.0F) : result;
}

/// The contract's step, applied to whole steps; the last one is filled with zeros.
template <Arithmetic A>
float chain(const std::uint16_t* a, const std::uint16_t* b, int count, float acc) {
  using Step = arithmetic::Step<A, DType::bf16>;
  for (int k = 0; k < count; k += Step::products) {
    std::uint16_t x[Step::products] = {}, y[Step::products] = {};
    std::copy(a + k, a + std::min(count, k + Step::products), x);
    std::copy(b + k, b + std::min(count, k + Step::products), y);
    acc = Step::apply(x, y, acc);
  }
  return arithmetic::canonical(arithmetic::add_rn(acc, 0.0F));
}

}  // namespace

std::string text(const StepFamily& f) {
  return "L " + std::to_string(f.products) + (f.stages == 1 ? ", 1 stage, F " : ", 2 stages, F ") +
         std::to_string(f.fraction) + ", " + kCuts[static_cast<std::size_t>(f.cut)] +
         (f.kept == 0 ? "" : ", " + std::to_string(f.kept) + " kept") +
         (f.nearest ? ", nearest" : ", toward zero") + (f.flushes ? ", flushes" : "") +
         (f.apart ? ", even and odd apart" : "") +
         (f.far == 0 ? "" : ", accumulators to " + std::to_string(f.far) + " bits below");
}

float apply(const StepFamily& family, const std::uint16_t* a, const std::uint16_t* b, int count,
            float acc) {
  for (int k = 0; k < count; k += family.products) {
    if (k + family.products <= count) {
      acc = step(family, a + k, b + k, acc);
      continue;
    }
    std::uint16_t x[kMostProducts] = {}, y[kMostProducts] = {};
    std::copy(a + k, a + count, x);
    std::copy(b + k, b + count, y);
    acc = step(family, x, y, acc);
  }
  return arithmetic::canonical(arithmetic::add_rn(acc, 0.0F));
}

const std::vector<StepModel>& named_models() {
  static const std::vector<StepModel> models{
      {"cdna3", chain<Arithmetic::cdna3>},
      {"cdna2", chain<Arithmetic::cdna2>},
      {"cdna3-one-floor", nullptr, kCdna3OneFloor},
      {"ieee_fma", chain<Arithmetic::ieee_fma>},
      {"ampere", chain<Arithmetic::ampere>},
      {"hopper", chain<Arithmetic::hopper>},
      {"cdna3-fp8", nullptr, kCdna3Fp8},
  };
  return models;
}

std::vector<StepModel> family_models(int count, DType input) {
  std::vector<StepModel> models;
  const auto add = [&](const StepFamily& family) {
    models.push_back({text(family), nullptr, family});
  };
  for (int products = 4; products <= std::min(count, kMostProducts); products *= 2) {
    for (int fraction = 22; fraction <= 32; ++fraction) {
      for (const Cut cut : {Cut::floor, Cut::truncate, Cut::nearest}) {
        for (const bool nearest : {true, false}) {
          for (const bool flushes : {false, true}) {
            add({products, 1, fraction, cut, 0, nearest, flushes});
            add({products, 2, fraction, cut, 0, nearest, flushes});
            add({products, 2, fraction, cut, 31, nearest, flushes});
            if (input != DType::e4m3) continue;
            for (const int far : {0, 25}) {
              add({products, 2, fraction, cut, 0, nearest, flushes, true, far});
              add({products, 2, fraction, cut, 31, nearest, flushes, true, far});
            }
          }
        }
      }
    }
  }
  return models;
}

std::optional<StepModel> find_model(std::string_view name) {
  for (const StepModel& model : named_models()) {
    if (model.name == name) return model;
  }
  for (StepModel& model : family_models(kMostProducts, DType::e4m3)) {
    if (model.name == name) return std::move(model);
  }
  return std::nullopt;
}

}  // namespace detgemm::test
