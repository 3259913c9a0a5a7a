// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <bit>
#include <cmath>

#include "core/conformance/format.hpp"
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

/// activation(alpha * acc) must be what an empty product with C = alpha * acc and beta = 1 gives,
/// rounded once to the output; relu is checked by its rule.
void activation_part(Case& c, const Request& plain, Activation activation) {
  Request request = plain;
  request.spec.alpha = 0.9F;
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
      const float x = as_float(before->d.get(i, j));
      const float y =
          activation == Activation::relu ? (x > 0.0F ? x : 0.0F) : as_float(alone->d.get(i, j));
      // An empty product turns C = -0 into +0; the activation of -0 is left to the comparison with
      // the oracle.
      expected.set(i, j, x == 0.0F ? got->d.get(i, j) : rounded(y, output));
    }
  }
  c.same(expected, got->d, std::string(name(activation)) + " of alpha * acc");
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
  plain.spec.contract = c.with_output(DType::fp32);
  const auto acc = c.run(plain);
  if (!acc) return;
  linear_part(c, plain, acc->d, DType::fp32);
  linear_part(c, plain, acc->d, c.contract().output);
  activation_part(c, plain, activations[static_cast<std::size_t>(c.index()) % activations.size()]);
}

}  // namespace detgemm::conformance
