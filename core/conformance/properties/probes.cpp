// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "core/conformance/format.hpp"
#include "core/conformance/probe_model.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kCols = 3;

/// A = B = 1: the result is the number of products that were added.
void all_ones(Case& c, DType output) {
  // fp8 accumulators keep 14 bits: larger counts would be rounded.
  // More than 256 show a node kept in bf16, whatever the number of leaves.
  const std::int64_t k = c.random().between(c.index() % 8 == 0 ? 600 : 1, c.full() ? 8000 : 1500);
  Request request = c.draw({kRows, kCols, 1}, Distribution::normal);
  c.log("all ones, k=" + std::to_string(k));
  request.spec.contract = c.with_output(output);
  const DType input = c.contract().input;
  request.a = Elements(stored_type(input), kRows, k);
  request.b = Elements(stored_type(input), k, kCols);
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t row = 0; row < kRows; ++row) request.a.set(row, i, encode(1.0, input));
    for (std::int64_t col = 0; col < kCols; ++col) request.b.set(i, col, encode(1.0, input));
  }
  const auto got = c.run(request);
  if (!got) return;
  Elements expected(output, kRows, kCols);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kCols; ++j) {
      expected.set(i, j, encode(static_cast<double>(k), output));
    }
  }
  c.same(expected, got->d, "all ones must give k = " + std::to_string(k));
}

/// The positions of each row's +X and -X.
struct HugePair {
  std::int64_t plus;
  std::int64_t minus;
};

std::vector<HugePair> draw_pairs(Case& c, std::int64_t k) {
  const std::int64_t block = c.contract().k_block;
  std::vector<HugePair> pairs;
  std::vector<std::int64_t> taken;
  const auto draw = [&] {
    std::int64_t at = 0;
    do at = c.random().below(k);
    while (std::find(taken.begin(), taken.end(), at) != taken.end());
    return at;
  };
  while (static_cast<std::int64_t>(pairs.size()) < kRows) {
    const HugePair pair{draw(), draw()};
    if (pair.plus / block == pair.minus / block) continue;  // not defined within a step
    taken.push_back(pair.plus);
    taken.push_back(pair.minus);
    pairs.push_back(pair);
  }
  return pairs;
}

/// Units everywhere, to see how many survive, or one per leaf that weighs 2^leaf, to see which
/// ones.
std::vector<std::int64_t> draw_units(Case& c, std::int64_t k, bool by_leaf) {
  std::vector<std::int64_t> units(static_cast<std::size_t>(k), 0);
  const Contract& contract = c.contract();
  const std::int64_t part = std::max<std::int64_t>(contract.reduction.leaf_k, contract.k_block);
  if (by_leaf) {
    for (std::int64_t leaf = 0; leaf * part < k && leaf < 8; ++leaf) {
      const std::int64_t end = std::min(k, (leaf + 1) * part);
      units[static_cast<std::size_t>(c.random().between(leaf * part, end - 1))] = std::int64_t{1}
                                                                                  << leaf;
    }
    return units;
  }
  if (k <= kMaxUnits) return std::vector<std::int64_t>(static_cast<std::size_t>(k), 1);
  for (std::int64_t i = 0; i < kMaxUnits; ++i) {
    units[static_cast<std::size_t>(c.random().below(k))] = 1;
  }
  return units;
}

/// What a product of snap3 adds: three sums per leaf of K, padded to `part` products each.
/// `coarse_a`, `coarse_b`: whether a huge element of the operand shares the leaf, so that its tiny
/// ones are second parts there.
struct Sums {
  std::vector<ProbeProduct> products;
  std::int64_t part;

  void add(std::int64_t at, const ProbeProduct& product, bool coarse_a, bool coarse_b) {
    if (product.units != 0 && coarse_a && coarse_b) return;  // two second parts
    const std::int64_t sum = product.units == 0 ? 0 : coarse_b ? 1 : coarse_a ? 2 : 0;
    products[static_cast<std::size_t>((at / part * 3 + sum) * part + at % part)] = product;
  }
};

/// The contract whose leaves are those sums.
Contract of_sums(const Contract& contract, std::int64_t part) {
  return *Contract::make(Arithmetic::snap, DType::bf16, {contract.reduction.kind, part},
                         contract.output);
}

/// +X and -X somewhere and units elsewhere: the units that survive are compared with the model's.
void survivors(Case& c, DType output, bool by_leaf) {
  const Contract& contract = c.contract();
  const DType input = contract.input;
  const std::int64_t part = std::max<std::int64_t>(contract.reduction.leaf_k, contract.k_block);
  const bool snap3 = contract.arithmetic == Arithmetic::snap3;
  const bool snap = contract.arithmetic == Arithmetic::snap || snap3;
  const std::int64_t k = std::max<std::int64_t>(
      c.random().between(2 * part + 1, (snap ? 24 : 8) * part), 4 * kRows + 4 * contract.k_block);
  Request request = c.draw({kRows, kCols, 1}, Distribution::normal);
  c.log(std::string(by_leaf ? "leaf weights" : "unit counts") + ", k=" + std::to_string(k));
  request.spec.contract = c.with_output(output);
  const ProbeScale scale = probe_scale(input);
  const auto pairs = draw_pairs(c, k);
  auto units = draw_units(c, k, by_leaf);
  request.a = Elements(stored_type(input), kRows, k);
  request.b = Elements(stored_type(input), k, kCols);
  std::vector<std::uint32_t> b_line(static_cast<std::size_t>(k),
                                    encode(std::ldexp(1.0, scale.tiny), input));
  for (const HugePair& pair : pairs) {  // where one row has a huge product, the others have a zero
    for (const std::int64_t at : {pair.plus, pair.minus}) {
      units[static_cast<std::size_t>(at)] = 0;
      b_line[static_cast<std::size_t>(at)] = encode(std::ldexp(1.0, scale.huge), input);
    }
  }
  // Snap rounds a leaf to a grid (snap3 the first parts), on which nothing is left of the units
  // beside a huge element of B.
  std::vector<bool> coarse(static_cast<std::size_t>(k), false);
  for (const HugePair& pair : pairs) {
    for (const std::int64_t at : {pair.plus, pair.minus}) {
      const std::int64_t begin = at / part * part;
      for (std::int64_t i = begin; snap && i < std::min(k, begin + part); ++i) {
        coarse[static_cast<std::size_t>(i)] = true;
      }
    }
  }
  Elements expected(output, kRows, kCols);
  bool discriminating = false;
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<ProbeProduct> products(static_cast<std::size_t>(k));
    Sums sums{std::vector<ProbeProduct>(static_cast<std::size_t>(3 * ((k - 1) / part + 1) * part)),
              part};
    const HugePair& pair = pairs[static_cast<std::size_t>(row)];
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      auto& product = products[static_cast<std::size_t>(i)];
      product.units = units[static_cast<std::size_t>(i)];
      total += product.units;
      product.huge = i == pair.plus ? 1 : i == pair.minus ? -1 : 0;
      const double value = product.huge != 0
                               ? product.huge * std::ldexp(1.0, scale.huge)
                               : std::ldexp(static_cast<double>(product.units), scale.tiny);
      const bool coarse_b = coarse[static_cast<std::size_t>(i)];
      const bool coarse_a = i / part == pair.plus / part || i / part == pair.minus / part;
      sums.add(i, product, coarse_a, coarse_b);
      if (coarse_b) product.units = 0;
      request.a.set(row, i, encode(value, input));
      for (std::int64_t col = 0; col < kCols; ++col) {
        request.b.set(i, col, b_line[static_cast<std::size_t>(i)]);
      }
    }
    const std::int64_t left = snap3 ? predict(of_sums(contract, part), sums.products).units
                                    : predict(contract, products).units;
    discriminating = discriminating || (left > 0 && left < total);
    for (std::int64_t col = 0; col < kCols; ++col) {
      expected.set(row, col, encode(std::ldexp(static_cast<double>(left), 2 * scale.tiny), output));
    }
  }
  if (discriminating) c.count_discriminating();
  const auto got = c.run(request);
  if (!got) return;
  c.same(expected, got->d,
         by_leaf ? "bit i of the result / unit: leaf i survived +X - X"
                 : "the result / unit: how many products survived +X - X");
}

}  // namespace

void probes(Case& c) {
  // fp32 shows every count in full; a narrow output rounds the larger ones, predictably.
  const DType output = c.index() % 4 == 3 ? c.contract().output : DType::fp32;
  if (c.index() % 4 == 0) return all_ones(c, output);
  survivors(c, output, c.index() % 4 == 2);
}

}  // namespace detgemm::conformance
