// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {

std::vector<std::int64_t> tail_lengths(const Contract& contract, Level level) {
  std::vector<std::int64_t> lengths;
  // Loops are unrolled by more than a step: with --full every residue of 128, and of 1,024 those at
  // its ends.
  const std::int64_t last =
      std::max<std::int64_t>(2 * contract.k_block, level == Level::full ? 128 : 0);
  for (std::int64_t k = 1; k <= last + 1; ++k) lengths.push_back(k);
  for (const std::int64_t whole : {256, 512, 1024}) {
    for (std::int64_t k = whole - 1; level == Level::full && k <= whole + 1; ++k) {
      lengths.push_back(k);
    }
  }
  const std::int64_t leaf =
      contract.reduction.leaf_k != 0 ? contract.reduction.leaf_k : 4 * contract.k_block;
  for (const std::int64_t around : {leaf, 2 * leaf, 3 * leaf}) {
    for (const std::int64_t k : {around - 1, around, around + 1}) lengths.push_back(k);
  }
  return lengths;
}

/// A K that ends inside a step equals the same K with explicit zeros to the step's end in both
/// operands, and to the leaf's end.
void k_tails(Case& c) {
  const auto lengths = tail_lengths(c.contract(), c.full() ? Level::full : Level::quick);
  const std::int64_t k = lengths[static_cast<std::size_t>(c.index()) % lengths.size()];
  const std::int64_t leaf = c.contract().reduction.leaf_k;
  const Request request = c.draw({c.random().between(1, 6), c.random().between(1, 12), k});
  const auto plain = c.run(request);
  if (!plain) return;
  const auto up_to = [&](std::int64_t unit) { return (k + unit - 1) / unit * unit; };
  std::vector<std::int64_t> targets{up_to(c.contract().k_block)};
  targets.push_back(leaf != 0 ? up_to(leaf) : up_to(64));
  for (const std::int64_t longer : targets) {
    Request padded = request;
    padded.a = with_zero_cols(request.a, longer - k);
    padded.b = with_zero_rows(request.b, longer - k);
    const auto other = c.run(padded);
    if (!other) return;
    if (!c.same(other->d, plain->d,
                "k = " + std::to_string(k) + " against zeros up to " + std::to_string(longer))) {
      return;
    }
  }
  c.check_order_matters(request, plain->d);
}

}  // namespace detgemm::conformance
