// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <utility>
#include <vector>

#include "core/conformance/controls/faulty_backend.hpp"
#include "core/contract/snap3_copies.hpp"

// Engines that take operands apart in another way than snap3 says, or add the sums in another
// order.

namespace detgemm::controls {
namespace {

using arithmetic::kSnap3Sums;
using arithmetic::Snap3Grids;
using arithmetic::Snap3Parts;

constexpr std::string_view kSplitFold = "snap3/bf16/fold:64->fp32";
constexpr std::string_view kSplitTree = "snap3/fp32/tree:64->fp32";

/// How a leaf becomes three.
struct SplitRule {
  bool one_sum = false;         ///< the second parts are left out
  bool swapped = false;         ///< the second sum comes last
  bool first_grid = false;      ///< second parts are on the grid of the first ones
  bool keeps_inf = false;       ///< Inf and NaN stay in all three sums
  bool not_snapped = false;     ///< first parts are the numbers as they are, as bf16
  bool unrounded_bf16 = false;  ///< fp32 numbers are cut to bf16 in place of rounded
};

/// A number as it is read.
template <DType T>
float number(arithmetic::Storage<T> raw, const SplitRule& rule) {
  const float value = arithmetic::to_float<T>(raw);
  const bool cut = rule.unrounded_bf16 && value == value;
  return cut ? arithmetic::float_of(arithmetic::bits_of(value) & 0xffff0000U) : value;
}

/// A copy of `lines` lines, as CONTRACT.md's section 3.6 has it but for the rule.
template <DType T>
std::vector<std::uint16_t> copied(const void* data, std::int64_t line, std::int64_t step,
                                  std::int64_t lines, std::int64_t k, const Snap3Copies& copies,
                                  bool of_a, const SplitRule& rule) {
  std::vector<std::uint16_t> copy(static_cast<std::size_t>(lines * copies.k));
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t leaf = 0; leaf < copies.leaves; ++leaf) {
      const std::int64_t begin = leaf * copies.leaf_k;
      const std::int64_t count = std::min(copies.leaf_k, k - begin);
      const auto* from = static_cast<const arithmetic::Storage<T>*>(data) + i * line + begin * step;
      const auto load = [&](std::int64_t j) { return number<T>(from[j * step], rule); };
      Snap3Grids grids = arithmetic::snap3_grids(count, load);
      if (rule.first_grid) grids.second = grids.first;
      std::uint16_t* to = copy.data() + i * copies.k + begin * kSnap3Sums;
      for (std::int64_t j = 0; j < count; ++j) {
        Snap3Parts parts = arithmetic::snap3_parts(load(j), grids);
        if (rule.not_snapped) parts.first = parts.bare = arithmetic::snap3_near(load(j));
        if (rule.keeps_inf) parts.bare = parts.first;
        if (rule.one_sum) parts.second = 0;
        for (int sum = 0; sum < kSnap3Sums; ++sum) {
          const int as = rule.swapped && sum != 0 ? kSnap3Sums - sum : sum;
          to[sum * copies.leaf_k + j] = arithmetic::snap3_operand(parts, of_a, as);
        }
      }
    }
  }
  return copy;
}

/// The contract's reduction over fp32 chains of what the rule makes of the operands.
void split_by(const Run& run, const SplitRule& rule) {
  const Contract& contract = run.spec.contract;
  if (contract.arithmetic != Arithmetic::snap3) return compute_honestly(run);
  GemmArguments g = flatten(run.spec, run.operands);
  const Snap3Copies copies = snap3_copies(g.k, g.reduction.leaf_k);
  const auto make = [&](const void* data, std::int64_t line, std::int64_t step, std::int64_t lines,
                        bool of_a) {
    return contract.input == DType::bf16
               ? copied<DType::bf16>(data, line, step, lines, g.k, copies, of_a, rule)
               : copied<DType::fp32>(data, line, step, lines, g.k, copies, of_a, rule);
  };
  const auto a = make(g.a, g.as.row, g.as.col, g.m, true);
  const auto b = make(g.b, g.bs.col, g.bs.row, g.n, false);
  g.a = a.data();
  g.b = b.data();
  g.as = {copies.k, 1};
  g.bs = {1, copies.k};
  g.k = copies.k;
  g.reduction.leaf_k = copies.leaf_k;
  for_outputs(g, [&](std::int64_t row, std::int64_t col) {
    compute_element<Arithmetic::ieee_fma, DType::bf16>(g, row, col);
  });
}

template <bool SplitRule::*kFault>
void with(const Run& run) {
  SplitRule rule;
  rule.*kFault = true;
  split_by(run, rule);
}

constexpr std::array kSplitFaults{
    Planted{"one_sum", "second parts are left out", "reference", kSplitFold,
            with<&SplitRule::one_sum>},
    Planted{"sums_swapped", "the sum of A's second parts is added before that of B's", "reference",
            kSplitTree, with<&SplitRule::swapped>},
    Planted{"first_grid", "second parts have the grid of the first ones", "reference", kSplitFold,
            with<&SplitRule::first_grid>},
    Planted{"inf_thrice", "Inf meets the zeros among second parts", "specials", kSplitTree,
            with<&SplitRule::keeps_inf>},
    Planted{"split_not_snapped", "first parts are not snapped", "permutation", kSplitFold,
            with<&SplitRule::not_snapped>},
    Planted{"split_truncates", "fp32 numbers are cut to bf16 before anything else", "reference",
            kSplitTree, with<&SplitRule::unrounded_bf16>},
};

}  // namespace

std::span<const Planted> split_faults() { return kSplitFaults; }

}  // namespace detgemm::controls
