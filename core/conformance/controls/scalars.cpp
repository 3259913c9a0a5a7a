// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that are wrong where a scalar is of a special kind, or where there are no products.

namespace detgemm::controls {
namespace {

/// The contract, with a spec that `change` has altered.
template <class Change>
void with_spec(const Run& run, Change&& change) {
  GemmSpec spec = run.spec;
  change(spec);
  compute_honestly({spec, run.options, run.operands, run.workspace});
}

constexpr std::array kScalarSwitches{
    Planted{"empty_bias", "without products the bias is forgotten", "epilogue", kNarrowChain,
            [](const Run& run) {
              with_spec(run, [](GemmSpec& s) {
                if (s.k == 0) s.bias.reset();
              });
            }},
    Planted{"empty_beta", "without products beta is taken for 1", "epilogue", kNarrowChain,
            [](const Run& run) {
              with_spec(run, [](GemmSpec& s) {
                if (s.k == 0 && s.beta != 0.0F) s.beta = 1.0F;
              });
            }},
    Planted{"alpha_two", "an alpha of 2 is left out", "epilogue", kNarrowChain,
            [](const Run& run) {
              with_spec(run, [](GemmSpec& s) {
                if (s.alpha == 2.0F) s.alpha = 1.0F;
              });
            }},
    Planted{"tiny_beta", "a beta below 2^-100 counts as zero", "epilogue", kWideChain,
            [](const Run& run) {
              with_spec(run, [](GemmSpec& s) {
                if (std::fabs(s.beta) < 0x1p-100F) s.beta = 0.0F;
              });
            }},
    Planted{"alpha_in_half", "alpha is cut to what fp16 holds", "epilogue", kNarrowChain,
            [](const Run& run) {
              with_spec(run,
                        [](GemmSpec& s) { s.alpha = std::clamp(s.alpha, -65504.0F, 65504.0F); });
            }},
    Planted{"alpha_four", "an alpha of 4 is taken for 2", "epilogue", kNarrowChain,
            [](const Run& run) {
              with_spec(run, [](GemmSpec& s) {
                if (s.alpha == 4.0F) s.alpha = 2.0F;
              });
            }},
    Planted{"alpha_a_half", "an alpha of 0.5 is left out", "epilogue", kNarrowChain,
            [](const Run& run) {
              with_spec(run, [](GemmSpec& s) {
                if (s.alpha == 0.5F) s.alpha = 1.0F;
              });
            }},
    Planted{"minus_beta", "a beta of -1 is taken for 1", "epilogue", kNarrowChain,
            [](const Run& run) {
              with_spec(run, [](GemmSpec& s) {
                if (s.beta == -1.0F) s.beta = 1.0F;
              });
            }},
    Planted{"subnormal_alpha", "a subnormal alpha counts as zero", "epilogue", kWideChain,
            [](const Run& run) {
              with_spec(run, [](GemmSpec& s) {
                if (std::fpclassify(s.alpha) == FP_SUBNORMAL) s.alpha = 0.0F;
              });
            }},
};

}  // namespace

std::span<const Planted> scalar_switches() { return kScalarSwitches; }

}  // namespace detgemm::controls
