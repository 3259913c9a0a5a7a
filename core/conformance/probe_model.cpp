// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/probe_model.hpp"

#include <algorithm>
#include <span>

namespace detgemm::conformance {
namespace {

ProbeProduct added(const ProbeProduct& x, const ProbeProduct& y) {
  if (x.huge != 0 || y.huge != 0) return {x.huge + y.huge, 0};
  return {0, x.units + y.units};
}

/// One accumulator that runs through all products step by step.
ProbeProduct chain(std::span<const ProbeProduct> products, std::int64_t k_block) {
  ProbeProduct acc;
  const auto size = static_cast<std::int64_t>(products.size());
  for (std::int64_t begin = 0; begin < size; begin += k_block) {
    ProbeProduct step;
    for (std::int64_t k = begin; k < std::min(size, begin + k_block); ++k) {
      step = added(step, products[static_cast<std::size_t>(k)]);
    }
    acc = added(acc, step);
  }
  return acc;
}

/// The middle leaf index splits a range of leaves.
ProbeProduct tree(std::span<const ProbeProduct> leaves) {
  if (leaves.size() == 1) return leaves[0];
  const std::size_t middle = leaves.size() / 2;
  return added(tree(leaves.first(middle)), tree(leaves.subspan(middle)));
}

}  // namespace

ProbeProduct predict(const Contract& contract, const std::vector<ProbeProduct>& products) {
  const std::span<const ProbeProduct> all(products);
  const Reduction& reduction = contract.reduction;
  if (reduction.kind == ReductionKind::chain) return chain(all, contract.k_block);
  std::vector<ProbeProduct> leaves;
  const auto leaf = static_cast<std::size_t>(reduction.leaf_k);
  for (std::size_t begin = 0; begin < all.size(); begin += leaf) {
    leaves.push_back(
        chain(all.subspan(begin, std::min(leaf, all.size() - begin)), contract.k_block));
  }
  if (reduction.kind == ReductionKind::tree) return tree(leaves);
  ProbeProduct folded;
  for (const ProbeProduct& value : leaves) folded = added(folded, value);
  return folded;
}

ProbeScale probe_scale(DType input) {
  // 500 units < 2^(2 huge - 25), a quarter of fp32's last bit at X. e4m3 needs its subnormals.
  return input == DType::e4m3 ? ProbeScale{8, -9} : ProbeScale{15, -10};
}

}  // namespace detgemm::conformance
