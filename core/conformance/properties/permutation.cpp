// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/conformance/format.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// K in another order, in which every leaf keeps its products.
std::vector<std::int64_t> shuffled(Case& c, std::int64_t k) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  const std::int64_t leaf = c.contract().reduction.leaf_k;
  for (std::int64_t begin = 0; begin < k; begin += leaf) {
    const std::int64_t end = std::min(k, begin + leaf);
    for (std::int64_t i = end - 1; i > begin; --i) {
      std::swap(order[static_cast<std::size_t>(i)],
                order[static_cast<std::size_t>(c.random().between(begin, i))]);
    }
  }
  return order;
}

Elements ordered(const Elements& source, const std::vector<std::int64_t>& order, bool rows) {
  Elements e(source.dtype, source.rows, source.cols);
  for (std::int64_t i = 0; i < e.rows; ++i) {
    for (std::int64_t j = 0; j < e.cols; ++j) {
      e.set(i, j,
            rows ? source.get(order[static_cast<std::size_t>(i)], j)
                 : source.get(i, order[static_cast<std::size_t>(j)]));
    }
  }
  return e;
}

/// The first output's first leaf as an fp32 chain of the operands as they are: what a unit returns
/// that does not snap them.
float plain_chain(const Request& request, std::int64_t leaf, DType input) {
  float sum = 0.0F;
  for (std::int64_t k = 0; k < std::min(leaf, request.a.cols); ++k) {
    sum = std::fma(static_cast<float>(decode(request.a.get(0, k), input)),
                   static_cast<float>(decode(request.b.get(k, 0), input)), sum);
  }
  return sum;
}

}  // namespace

/// Under snap and snap3 the sums of a leaf are exact, so the order of its products does not enter.
void permutation(Case& c) {
  const Contract& contract = c.contract();
  if (contract.arithmetic != Arithmetic::snap && contract.arithmetic != Arithmetic::snap3) {
    return c.skip("only contracts of snap and snap3 promise it");
  }
  Shape shape = c.draw_shape();
  shape.k = std::max<std::int64_t>(shape.k, 40);
  const Request request = c.draw(shape);
  const auto straight = c.run(request);
  if (!straight) return;
  for (int i = 0; i < 2; ++i) {
    const auto order = shuffled(c, shape.k);
    Request other = request;
    other.a = ordered(request.a, order, false);
    other.b = ordered(request.b, order, true);
    const auto got = c.run(other);
    if (!got) return;
    if (!c.same(straight->d, got->d, "products in another order inside of each leaf")) return;
    const std::int64_t leaf = contract.reduction.leaf_k;
    if (plain_chain(request, leaf, contract.input) != plain_chain(other, leaf, contract.input)) {
      c.count_discriminating();
    }
  }
}

}  // namespace detgemm::conformance
