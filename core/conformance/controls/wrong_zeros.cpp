// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines with a wrong epilogue, or a zero of the wrong sign.

namespace detgemm::controls {
namespace {

constexpr std::string_view kFma = "ieee_fma/bf16/chain->fp32";

/// The value before the activation.
float linear(const GemmArguments& g, std::int64_t row, std::int64_t col, float acc) {
  Epilogue e = g.epilogue;
  e.activation = Activation::none;
  const float c =
      e.beta != 0.0F ? load_as_float(g.c, row * g.cs.row + col * g.cs.col, g.c_type) : 0.0F;
  const float bias = e.has_bias ? load_as_float(g.bias, col, g.bias_type) : 0.0F;
  return apply_epilogue(e, acc, c, bias);
}

/// Stores `value` as it is.
void store(const GemmArguments& g, std::int64_t row, std::int64_t col, float value) {
  store_rounded(g.d, row * g.ds.row + col * g.ds.col, g.output, value);
}

/// `activate` in place of the contract's function where `which` is asked.
template <class Activate>
void with_activation(const Run& run, Activation which, Activate&& activate) {
  if (run.spec.activation != which) return compute_honestly(run);
  with_own_epilogue(run,
                    [&](const GemmArguments& g, std::int64_t row, std::int64_t col, float acc) {
                      store(g, row, col, arithmetic::canonical(activate(linear(g, row, col, acc))));
                    });
}

void skip_product_for_alpha_zero(const Run& run) {
  with_own_epilogue(run,
                    [&](const GemmArguments& g, std::int64_t row, std::int64_t col, float acc) {
                      finish_element(g, row, col, g.epilogue.alpha == 0.0F ? 0.0F : acc);
                    });
}

/// v + (+0): a -0 of the epilogue is lost.
void add_plus_zero(const Run& run) {
  const Epilogue e{run.spec.alpha, run.spec.beta, run.spec.bias.has_value(), run.spec.activation};
  if (only_rounds(e) || run.spec.activation != Activation::none) return compute_honestly(run);
  with_own_epilogue(run,
                    [&](const GemmArguments& g, std::int64_t row, std::int64_t col, float acc) {
                      store(g, row, col, arithmetic::add_rn(linear(g, row, col, acc), 0.0F));
                    });
}

void start_from_plus_zero(const Run& run) {
  if (!run.spec.continue_from_c) return compute_honestly(run);
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      const float start = arithmetic::add_rn(start_value(g, row, col), 0.0F);
      finish_element(g, row, col,
                     reduce_leaves(g.reduction, g.k, start,
                                   [&](std::int64_t begin, std::int64_t end, float acc) {
                                     return step.chain(g, row, col, begin, end, acc);
                                   }));
    });
  });
}

/// Two products, both -0, and no +0 to start from.
void keep_minus_zero(const Run& run) {
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      bool all = g.k == 2 && !g.continue_from_c;
      for (std::int64_t k = 0; all && k < g.k; ++k) {
        const float product = arithmetic::mul_rn(step.load(g.a, row * g.as.row + k * g.as.col),
                                                 step.load(g.b, k * g.bs.row + col * g.bs.col));
        all = product == 0.0F && std::signbit(product);
      }
      if (all) return finish_element(g, row, col, -0.0F);
      step.element(g, {}, row, col);
    });
  });
}

constexpr std::array kWrongZeroFaults{
    Planted{"alpha_zero", "alpha = 0 gives 0, and Inf and NaN are lost", "epilogue", kNarrowChain,
            skip_product_for_alpha_zero},
    Planted{"relu_minus_zero", "relu(-0) is -0", "epilogue", kNarrowChain,
            [](const Run& run) {
              with_activation(run, Activation::relu,
                              [](float v) { return std::isnan(v) || v >= 0.0F ? v : 0.0F; });
            }},
    Planted{"leaky_relu", "relu lets a hundredth of a negative value through", "epilogue",
            kNarrowChain,
            [](const Run& run) {
              with_activation(run, Activation::relu, [](float v) {
                return std::isnan(v) || v > 0.0F ? v : arithmetic::mul_rn(v, 0.01F);
              });
            }},
    Planted{"lost_minus_zero", "a -0 of the epilogue is +0", "epilogue", kNarrowChain,
            add_plus_zero},
    Planted{"lost_minus_zero", "a -0 of the epilogue is +0", "combinations", kNarrowChain,
            add_plus_zero},
    Planted{"continue_plus_zero", "an accumulator that starts from C = -0 starts from +0",
            "specials", kFma, start_from_plus_zero},
    Planted{"kept_minus_zero", "(-0) + (-0) is -0", "specials", kNarrowChain, keep_minus_zero},
    Planted{"library_silu", "silu is computed with the library's exp", "reference", kFma,
            [](const Run& run) {
              with_activation(run, Activation::silu,
                              [](float v) { return v / (1.0F + std::exp(-v)); });
            }},
};

}  // namespace

std::span<const Planted> wrong_zeros() { return kWrongZeroFaults; }

}  // namespace detgemm::controls
