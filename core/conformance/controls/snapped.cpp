// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <vector>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that snap in another way than the contract says, or not at all.

namespace detgemm::controls {
namespace {

using arithmetic::to_bf16;
using arithmetic::to_float;

constexpr std::string_view kSnapFold = "snap/bf16/fold:64->fp32";
constexpr std::string_view kSnapTree = "snap/bf16/tree:128->fp32";

/// How operands become what is multiplied.
struct Rule {
  std::int64_t leaf;       ///< the length of what shares a grid; 0: nothing is rounded
  bool truncates = false;  ///< toward zero in place of to nearest
  bool strict = false;     ///< squares that add up to 2^24 are too many
};

/// A packed copy of `lines` lines of k numbers.
std::vector<std::uint16_t> copied(const void* data, std::int64_t line, std::int64_t step,
                                  std::int64_t lines, std::int64_t k, const Rule& rule) {
  std::vector<std::uint16_t> copy(static_cast<std::size_t>(lines * k));
  for (std::int64_t i = 0; i < lines; ++i) {
    const auto* from = static_cast<const std::uint16_t*>(data) + i * line;
    std::uint16_t* to = copy.data() + i * k;
    for (std::int64_t j = 0; j < k; ++j) to[j] = from[j * step];
    if (rule.leaf == 0) continue;
    for (std::int64_t begin = 0; begin < k; begin += rule.leaf) {
      std::uint16_t* leaf = to + begin;
      const std::int64_t count = std::min(rule.leaf, k - begin);
      int t = arithmetic::snap_grid(count, [&](std::int64_t j) { return leaf[j]; });
      std::uint64_t squares = 0;
      for (std::int64_t j = 0; rule.strict && t != arithmetic::kSnapNone && j < count; ++j) {
        squares += arithmetic::snap_square(leaf[j], t);
      }
      t += squares == arithmetic::kSnapLimit ? 1 : 0;
      for (std::int64_t j = 0; j < count; ++j) {
        const float value = to_float<DType::bf16>(leaf[j]);
        const bool cut = rule.truncates && t != arithmetic::kSnapNone && std::isfinite(value);
        leaf[j] = cut ? to_bf16(std::ldexp(std::trunc(std::ldexp(value, -t)), t))
                      : arithmetic::snapped(leaf[j], t);
      }
    }
  }
  return copy;
}

/// The contract's reduction over fp32 chains of what the rule makes of the operands.
void compute_by(const Run& run, const Rule& rule) {
  if (run.spec.contract.arithmetic != Arithmetic::snap) return compute_honestly(run);
  GemmArguments g = flatten(run.spec, run.operands);
  const auto a = copied(g.a, g.as.row, g.as.col, g.m, g.k, rule);
  const auto b = copied(g.b, g.bs.col, g.bs.row, g.n, g.k, rule);
  g.a = a.data();
  g.b = b.data();
  g.as = {g.k, 1};
  g.bs = {1, g.k};
  for_outputs(g, [&](std::int64_t row, std::int64_t col) {
    compute_element<Arithmetic::ieee_fma, DType::bf16>(g, row, col);
  });
}

constexpr std::array kSnapFaults{
    Planted{"not_snapped", "operands are multiplied without snapping", "permutation", kSnapFold,
            [](const Run& run) { compute_by(run, {0}); }},
    Planted{"not_snapped", "operands are multiplied without snapping", "reference", kSnapTree,
            [](const Run& run) { compute_by(run, {0}); }},
    Planted{"double_leaf", "the grid is that of twice the leaf", "reference", kSnapFold,
            [](const Run& run) { compute_by(run, {2 * run.spec.contract.reduction.leaf_k}); }},
    Planted{"row_grid", "the grid is that of the whole row", "reference", kSnapTree,
            [](const Run& run) { compute_by(run, {std::max<std::int64_t>(run.spec.k, 1)}); }},
    Planted{"snap_truncates", "operands are cut to the grid in place of rounded", "reference",
            kSnapFold,
            [](const Run& run) {
              compute_by(run, {run.spec.contract.reduction.leaf_k, true});
            }},
    Planted{"strict_grid", "squares that add up to 2^24 count as too many", "specials", kSnapFold,
            [](const Run& run) {
              compute_by(run, {run.spec.contract.reduction.leaf_k, false, true});
            }},
    Planted{"promise_for_both", "a promise about one operand is taken for both", "snapped",
            kSnapTree,
            [](const Run& run) {
              if (run.spec.a_snapped || run.spec.b_snapped) return compute_by(run, {0});
              compute_honestly(run);
            }},
};

}  // namespace

std::span<const Planted> snap_faults() { return kSnapFaults; }

}  // namespace detgemm::controls
