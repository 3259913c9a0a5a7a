// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "core/conformance/format.hpp"
#include "core/conformance/properties/crossing.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// C near -alpha * acc / beta, so that the sum cancels and shows how its terms were rounded.
Elements cancelling_c(Random& random, const Elements& acc, float alpha, float beta, DType type) {
  Elements c(type, acc.rows, acc.cols);
  for (std::int64_t i = 0; i < acc.rows; ++i) {
    for (std::int64_t j = 0; j < acc.cols; ++j) {
      const double wanted = -static_cast<double>(alpha) * as_float(acc.get(i, j)) / beta;
      c.set(i, j, encode(random.one_in(4) ? 1.0 + wanted : wanted, type));
    }
  }
  return c;
}

struct Terms {
  float alpha, acc, beta, c;
  bool has_bias;
  float bias;
};

/// The contract: every operation is rounded by itself. This file is compiled without contraction.
float separate(const Terms& t) {
  float v = t.alpha * t.acc;
  if (t.beta != 0.0F) {
    const float scaled = t.beta * t.c;
    v = v + scaled;
  }
  if (t.has_bias) v = v + t.bias;
  return v;
}

/// What a contracting compiler makes of it: one product is fused into the first addition.
float contracted(const Terms& t) {
  if (t.beta == 0.0F) return t.has_bias ? std::fma(t.alpha, t.acc, t.bias) : t.alpha * t.acc;
  const float v = std::fma(t.alpha, t.acc, t.beta * t.c);
  return t.has_bias ? v + t.bias : v;
}
float contracted_other(const Terms& t) {
  if (t.beta == 0.0F) return contracted(t);
  const float v = std::fma(t.beta, t.c, t.alpha * t.acc);
  return t.has_bias ? v + t.bias : v;
}

std::uint32_t rounded(float v, DType output) {
  return std::isnan(v) ? canonical_nan(output) : encode(static_cast<double>(v), output);
}

/// alpha * acc + beta * C + bias against the rule, on data where contraction would show.
void linear_part(Case& c, const Request& plain, const Elements& acc, DType output) {
  Request request = plain;
  GemmSpec& spec = request.spec;
  spec.contract = c.with_output(output);
  spec.alpha = c.index() % 2 == 0 ? 1.1F : -0.37F;
  spec.beta = c.index() % 4 == 3 ? 0.0F : 0.7F;
  if (c.index() % 2 != 0) {
    constexpr std::array types{DType::bf16, DType::fp16, DType::fp32};
    spec.bias = types[static_cast<std::size_t>(c.index() / 2) % types.size()];
    request.bias = draw_normal(c.random(), *spec.bias, 1, plain.b.cols);
  }
  request.c =
      cancelling_c(c.random(), acc, spec.alpha, spec.beta == 0.0F ? 1.0F : spec.beta, output);
  if (spec.beta == 0.0F) {  // C is passed nevertheless, and must not be read
    for (std::int64_t i = 0; i < request.c.rows; ++i) {
      for (std::int64_t j = 0; j < request.c.cols; ++j) request.c.set(i, j, canonical_nan(output));
    }
  } else {
    request.in_place = c.random().one_in(2);
  }
  Elements expected(output, acc.rows, acc.cols);
  bool visible = false;
  bool visible_other = false;
  for (std::int64_t i = 0; i < acc.rows; ++i) {
    for (std::int64_t j = 0; j < acc.cols; ++j) {
      const Terms t{
          spec.alpha,
          as_float(acc.get(i, j)),
          spec.beta,
          static_cast<float>(decode(request.c.get(i, j), output)),
          spec.bias.has_value(),
          spec.bias ? static_cast<float>(decode(request.bias.get(0, j), *spec.bias)) : 0.0F};
      expected.set(i, j, rounded(separate(t), output));
      visible = visible || rounded(contracted(t), output) != expected.get(i, j);
      visible_other = visible_other || rounded(contracted_other(t), output) != expected.get(i, j);
    }
  }
  const auto got = c.run(request);
  if (!got) return;
  if (visible && visible_other) c.count_discriminating();
  c.same(expected, got->d, "alpha * acc + beta * C + bias, each rounded by itself");
}

/// The activations whose values a rule gives: relu, and all of them at zero, which they return with
/// its sign (relu as +0).
bool activated_by_rule(Activation activation, float x, float& y) {
  if (activation == Activation::relu) {
    y = std::isnan(x) || x > 0.0F ? x : 0.0F;
    return true;
  }
  y = x;
  return activation == Activation::none || x == 0.0F;
}

/// activation(alpha * acc) must be what an empty product with alpha = -1, C = alpha * acc and
/// beta = 1 gives (-0 + C is C), rounded once to the output.
void activation_part(Case& c, const Request& plain, Activation activation) {
  Request request = plain;
  request.spec.alpha = c.index() % 2 == 0 ? 0.9F : -0.9F;  // of acc = +0: zeros of both signs
  request.spec.contract = c.with_output(DType::fp32);
  const auto before = c.run(request);
  if (!before) return;
  request.spec.activation = activation;
  request.spec.contract = c.contract();
  const auto got = c.run(request);
  if (!got) return;
  Request only;
  only.spec.contract = c.with_output(DType::fp32);
  only.spec.activation = activation;
  only.spec.alpha = -1.0F;
  only.spec.beta = 1.0F;
  only.a = Elements(plain.a.dtype, plain.a.rows, 0);
  only.b = Elements(plain.b.dtype, 0, plain.b.cols);
  only.c = before->d;
  const auto alone = c.run(only);
  if (!alone) return;
  const DType output = c.contract().output;
  Elements expected(output, got->d.rows, got->d.cols);
  for (std::int64_t i = 0; i < expected.rows; ++i) {
    for (std::int64_t j = 0; j < expected.cols; ++j) {
      float y = 0.0F;
      if (!activated_by_rule(activation, as_float(before->d.get(i, j)), y)) {
        y = as_float(alone->d.get(i, j));
      }
      expected.set(i, j, rounded(y, output));
    }
  }
  c.same(expected, got->d, std::string(name(activation)) + " of alpha * acc");
}

/// What C and a bias may hold: zeros, Inf, NaN of two kinds, a subnormal.
std::array<std::uint32_t, 8> special_addends(DType type) {
  const Format f = format_of(type);
  return {0U,
          f.sign_bit(),
          f.beyond_max(),
          canonical_nan(type),
          encode(-2.0, type),
          f.sign_bit(),
          f.sign_bit() | f.beyond_max() | 1U,
          f.sign_bit() | 3U};
}

/// Zeros of both signs, Inf and NaN through every operation: neither alpha = 0 nor a zero C is
/// special, and C is not read where beta is -0.
void special_part(Case& c, DType output) {
  constexpr std::array alphas{-0.0F, 0.0F, -1.0F};
  const auto turn = static_cast<std::size_t>(c.index());
  const Shape shape{c.random().between(9, 14), c.random().between(9, 14),
                    c.random().between(1, 40)};
  Request request = c.draw(shape, Distribution::specials);
  for (std::int64_t k = 0; k < shape.k; ++k) request.a.set(0, k, 0U);
  request.spec.contract = c.with_output(DType::fp32);
  const auto acc = c.run(request);
  if (!acc) return;
  GemmSpec& spec = request.spec;
  spec.contract = c.with_output(output);
  spec.alpha = alphas[turn % alphas.size()];
  spec.beta = turn % 2 == 0 ? 1.0F : -0.0F;
  spec.activation = turn % 4 < 2 ? Activation::none : Activation::relu;
  const std::array addends = special_addends(output);
  request.c = Elements(output, shape.m, shape.n);
  Elements expected(output, shape.m, shape.n);
  for (std::int64_t i = 0; i < shape.m; ++i) {
    for (std::int64_t j = 0; j < shape.n; ++j) {
      const std::uint32_t addend = c.random().pick(std::span<const std::uint32_t>(addends));
      request.c.set(i, j, spec.beta == 0.0F ? canonical_nan(output) : addend);
      const Terms t{spec.alpha, as_float(acc->d.get(i, j)),
                    spec.beta,  static_cast<float>(decode(request.c.get(i, j), output)),
                    false,      0.0F};
      float y = 0.0F;
      activated_by_rule(spec.activation, separate(t), y);
      expected.set(i, j, rounded(y, output));
    }
  }
  const auto got = c.run(request);
  if (!got || !c.same(expected, got->d, "zeros, Inf and NaN in " + describe(request))) return;

  constexpr std::array types{DType::bf16, DType::fp16, DType::fp32};
  spec.beta = 0.0F;
  spec.bias = types[turn % types.size()];
  if (!c.engine().supports(sized(request))) return;
  const std::array numbers = special_addends(*spec.bias);
  request.bias = Elements(*spec.bias, 1, shape.n);
  for (std::int64_t j = 0; j < shape.n; ++j) {
    const std::uint32_t bits = numbers[static_cast<std::size_t>(j) % numbers.size()];
    request.bias.set(0, j, bits);
    for (std::int64_t i = 0; i < shape.m; ++i) {
      const Terms t{spec.alpha, as_float(acc->d.get(i, j)),
                    0.0F,       0.0F,
                    true,       static_cast<float>(decode(bits, *spec.bias))};
      float y = 0.0F;
      activated_by_rule(spec.activation, separate(t), y);
      expected.set(i, j, rounded(y, output));
    }
  }
  const auto biased = c.run(request);
  if (biased) c.same(expected, biased->d, "zeros, Inf and NaN in " + describe(request));
}

/// Whether an engine that takes no epilogue could run this: a pass would then say nothing of one.
bool has_none(const GemmSpec& spec) {
  return spec.alpha == 1.0F && spec.beta == 0.0F && !spec.bias &&
         spec.activation == Activation::none;
}

/// Without products the accumulator is +0, and the epilogue is as it always is.
void empty_part(Case& c, DType output) {
  constexpr std::array betas{0.0F, 1.0F, -0.7F, -1.0F};
  constexpr std::array types{DType::bf16, DType::fp16, DType::fp32};
  const Shape shape{c.random().between(1, 5), c.random().between(3, 9), 0};
  for (std::size_t which = 0; which < 2 * betas.size(); ++which) {
    Request request = c.draw(shape, Distribution::normal);
    GemmSpec& spec = request.spec;
    spec.contract = c.with_output(output);
    spec.alpha = c.random().one_in(2) ? 1.0F : -0.3F;
    spec.beta = betas[which / 2];
    spec.activation = c.random().one_in(2) ? Activation::none : Activation::relu;
    if (which % 2 != 0) {
      spec.bias = c.random().pick(std::span<const DType>(types));
      request.bias = draw_normal(c.random(), *spec.bias, 1, shape.n);
    }
    if (has_none(spec)) continue;
    if (spec.beta != 0.0F) request.c = draw_normal(c.random(), output, shape.m, shape.n);
    Elements expected(output, shape.m, shape.n);
    for (std::int64_t i = 0; i < shape.m; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        const Terms t{
            spec.alpha,
            0.0F,
            spec.beta,
            spec.beta != 0.0F ? static_cast<float>(decode(request.c.get(i, j), output)) : 0.0F,
            spec.bias.has_value(),
            spec.bias ? static_cast<float>(decode(request.bias.get(0, j), *spec.bias)) : 0.0F};
        float y = 0.0F;
        activated_by_rule(spec.activation, separate(t), y);
        expected.set(i, j, rounded(y, output));
      }
    }
    const auto got = c.run(request);
    if (!got) continue;  // noted: it may lack one of them
    if (!c.same(expected, got->d, "K = 0, " + describe(request))) return;
  }
}

/// Further scalars, a few in each case: what a program may have a path of its own for.
constexpr std::array kMoreScalars{
    -0.5F, 0.25F,  -0.25F,         8.0F,           -8.0F,    -4.0F,     3.0F,      -3.0F,
    16.0F, 0.125F, 0.1F,           10.0F,          -10.0F,   100.0F,    0.75F,     1.5F,
    -1.5F, 2.5F,   255.0F,         256.0F,         0x1p100F, -0x1p126F, 0x1p-126F, 0x1p-149F,
    1e-3F, 1e4F,   0x1.fffffep-1F, 0x1.000002p+0F, 6.0F,     -0.125F};
constexpr std::size_t kMorePerCase = 8;

/// Scalars that look special: each as alpha and as beta, with the others around it.
void scalar_part(Case& c, const Request& plain, const Elements& acc, DType output) {
  std::vector<float> scalars(kSpecialScalars.begin(), kSpecialScalars.end());
  for (std::size_t i = 0; i < kMorePerCase; ++i) {
    const std::size_t at = static_cast<std::size_t>(c.index()) * kMorePerCase + i;
    scalars.push_back(kMoreScalars[at % kMoreScalars.size()]);
  }
  const auto count = scalars.size();
  for (std::size_t which = 0; which < 2 * count; ++which) {
    Request request = plain;
    GemmSpec& spec = request.spec;
    spec.contract = c.with_output(output);
    const float special = scalars[which % count];
    const bool is_beta = which >= count;
    spec.alpha = is_beta ? (which % 2 == 0 ? 1.0F : 0.3F) : special;
    spec.beta = is_beta ? special : (which % 2 == 0 ? 0.0F : 1.0F);
    if (has_none(spec)) continue;
    if (spec.beta != 0.0F) request.c = cancelling_c(c.random(), acc, spec.alpha, spec.beta, output);
    Elements expected(output, acc.rows, acc.cols);
    for (std::int64_t i = 0; i < acc.rows; ++i) {
      for (std::int64_t j = 0; j < acc.cols; ++j) {
        const Terms t{
            spec.alpha,
            as_float(acc.get(i, j)),
            spec.beta,
            spec.beta != 0.0F ? static_cast<float>(decode(request.c.get(i, j), output)) : 0.0F,
            false,
            0.0F};
        expected.set(i, j, rounded(separate(t), output));
      }
    }
    const auto got = c.run(request);
    if (!got) continue;
    if (!c.same(expected, got->d, "special scalars, " + describe(request))) return;
  }
}

/// One row, or one column, for which kernels have paths of their own: with each type of bias the
/// sum is still added in its order.
void line_part(Case& c) {
  constexpr std::array types{DType::bf16, DType::fp16, DType::fp32};
  for (int which = 0; which < 3; ++which) {
    const std::int64_t even = 2 * c.random().between(2, 12);
    Shape shape{1, which == 0 ? even + 1 : even, 3 * c.stretch() + c.random().below(c.stretch())};
    if (which == 2) std::swap(++shape.n, shape.m);
    Request request = c.draw(shape, Distribution::residue);
    request.spec.contract = c.with_output(DType::fp32);
    const auto acc = c.run(request);
    if (!acc) return;
    for (const DType type : types) {
      request.spec.bias = type;
      // Of the size of what rounding leaves of residues.
      request.bias = draw_normal(c.random(), type, 1, shape.n, 0x1p-8);
      Elements expected(DType::fp32, shape.m, shape.n);
      for (std::int64_t i = 0; i < shape.m; ++i) {
        for (std::int64_t j = 0; j < shape.n; ++j) {
          const auto bias = static_cast<float>(decode(request.bias.get(0, j), type));
          expected.set(i, j, rounded(as_float(acc->d.get(i, j)) + bias, DType::fp32));
        }
      }
      const auto got = c.run(request);
      if (!got) continue;  // noted: it may lack this type
      if (!c.same(expected, got->d, "a line alone, " + describe(request))) return;
    }
  }
}

}  // namespace

void epilogue(Case& c) {
  constexpr std::array activations{Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                   Activation::silu};
  Shape shape = c.draw_shape();
  shape.m = c.random().between(8, 24);
  shape.n = c.random().between(8, 24);
  shape.k = std::min<std::int64_t>(shape.k, c.full() ? 1000 : 100);
  Request plain = c.draw(shape, Distribution::normal);
  for (std::int64_t k = 0; k < shape.k; ++k) plain.a.set(0, k, 0U);  // a row of acc = +0
  plain.spec.contract = c.with_output(DType::fp32);
  const auto acc = c.run(plain);
  if (!acc) return;
  linear_part(c, plain, acc->d, DType::fp32);
  linear_part(c, plain, acc->d, c.contract().output);
  activation_part(c, plain, activations[static_cast<std::size_t>(c.index()) % activations.size()]);
  special_part(c, DType::fp32);
  special_part(c, c.contract().output);
  empty_part(c, c.index() % 2 == 0 ? DType::fp32 : c.contract().output);
  Request few = plain;
  few.a = row_slice(plain.a, 0, 6);
  few.b = col_slice(plain.b, 0, 7);
  scalar_part(c, few, col_slice(row_slice(acc->d, 0, 6), 0, 7),
              c.index() % 2 == 0 ? c.contract().output : DType::fp32);
  line_part(c);
}

}  // namespace detgemm::conformance
