// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that are wrong where a problem is large, or far from its first output.

namespace detgemm::controls {
namespace {

constexpr std::string_view kLargeProperty = "large";

/// Another order for the outputs for which `other(row, col)` holds.
template <class Other>
void switch_outputs(const Run& run, Other&& other) {
  with_step(run, [&](GemmArguments g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      g.reduction = other(row, col) ? another(run.spec.contract) : run.spec.contract.reduction;
      step.element(g, {}, row, col);
    });
  });
}

void drop_beyond_16_bits(const Run& run) {
  with_step(run, [&](GemmArguments g, const ScalarStep& step) {
    g.k = std::min<std::int64_t>(g.k, 65'536);
    for_outputs(g, [&](std::int64_t row, std::int64_t col) { step.element(g, {}, row, col); });
  });
}

constexpr std::array kLargeSwitches{
    Planted{"many_outputs", "more than 65,536 outputs mean another order", kLargeProperty,
            kWideChain,
            [](const Run& run) { switch_if(run.operands.d.rows * run.spec.n > 65'536, run); }},
    Planted{"split_k", "a K beyond 8,192 is split", kLargeProperty, kWideChain,
            [](const Run& run) { switch_if(run.spec.k > 8'192, run); }},
    Planted{"k_in_16_bits", "products from 65,536 on are dropped", kLargeProperty, kWideChain,
            drop_beyond_16_bits},
    Planted{"in_place_rows", "in place, rows from 64 on are added in another order", kLargeProperty,
            kWideChain,
            [](const Run& run) {
              const bool in_place = run.operands.c.data == run.operands.d.data;
              switch_outputs(run,
                             [&](std::int64_t row, std::int64_t) { return in_place && row >= 64; });
            }},
    Planted{"far_bias", "columns from 1,000 on with a bias are added in another order",
            kLargeProperty, kWideChain,
            [](const Run& run) {
              switch_outputs(run, [&](std::int64_t, std::int64_t col) {
                return run.spec.bias && col >= 1'000;
              });
            }},
    Planted{"wide_bias", "more than 600 columns and a bias mean another order", kLargeProperty,
            kWideChain, [](const Run& run) { switch_if(run.spec.bias && run.spec.n > 600, run); }},
    Planted{"one_corner", "output (511, 511) alone is added in another order", kLargeProperty,
            kWideChain,
            [](const Run& run) {
              switch_outputs(
                  run, [](std::int64_t row, std::int64_t col) { return row == 511 && col == 511; });
            },
            true},
    Planted{"last_row", "the last row of several is added in another order", "batch", kWideChain,
            [](const Run& run) {
              const std::int64_t m = run.operands.d.rows;
              switch_outputs(run,
                             [&](std::int64_t row, std::int64_t) { return m > 1 && row == m - 1; });
            }},
};

}  // namespace

std::span<const Planted> large_switches() { return kLargeSwitches; }

}  // namespace detgemm::controls
