// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// Rising cuts of [0, k) at multiples of `unit`, with both ends and at least one cut between them.
std::vector<std::int64_t> draw_cuts(Random& random, std::int64_t k, std::int64_t unit) {
  std::vector<std::int64_t> cuts{0};
  while (cuts.back() < k) {
    const std::int64_t left = (k - cuts.back() - 1) / unit + 1;
    const std::int64_t max_units = cuts.back() == 0 ? left - 1 : left;
    cuts.push_back(std::min(k, cuts.back() + random.between(1, max_units) * unit));
  }
  return cuts;
}

}  // namespace

/// A weight gradient, dB = A^T*dD: K counts tokens. Accumulated over micro-batches through an
/// fp32 buffer, cut at steps (chain) or leaves (fold, scaled), it equals the uncut product.
void microbatch(Case& c) {
  const Contract& contract = c.contract();
  if (contract.reduction.kind == ReductionKind::tree) {
    return c.skip("a tree does not continue: its shape depends on the whole of K");
  }
  const bool fold = contract.reduction.kind != ReductionKind::chain;  // scales are 1 here
  Shape shape = c.draw_shape();
  const std::int64_t unit = fold ? contract.reduction.leaf_k : contract.k_block;
  shape.k = c.random().between(2 * unit + 1, fold ? 7 * unit : 4 * c.stretch());
  Request whole = c.draw(shape);
  whole.spec.op_a = Op::transpose;
  const auto expected = c.run(whole);
  if (!expected) return;
  const auto cuts = draw_cuts(c.random(), shape.k, unit);
  Elements sum(DType::fp32, shape.m, shape.n);  // +0, from which an uncut run starts
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    Request part = whole;
    const bool last = i + 2 == cuts.size();
    part.spec.contract = last ? contract : c.with_output(DType::fp32);
    part.spec.continue_from_c = i > 0 || c.random().one_in(2);
    part.a = col_slice(whole.a, cuts[i], cuts[i + 1]);
    part.b = row_slice(whole.b, cuts[i], cuts[i + 1]);
    part.c = sum;
    part.in_place = part.spec.continue_from_c && part.spec.contract.output == DType::fp32 &&
                    c.random().one_in(2);
    const auto output = c.run(part);
    if (!output) return;
    sum = output->d;
  }
  if (!c.same(expected->d, sum, std::to_string(cuts.size() - 1) + " micro-batches")) return;
  c.check_order_matters(whole, expected->d);
}

}  // namespace detgemm::conformance
