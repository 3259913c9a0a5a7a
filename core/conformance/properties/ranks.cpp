// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/properties/crossing.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::int64_t kManyRanks = 64;

/// Every rank's root over its share of K, in fp32 and without an epilogue.
std::optional<std::vector<Elements>> rank_roots(Case& c, const Request& whole, std::int64_t count) {
  std::vector<Elements> roots;
  for (std::int64_t rank = 0; rank < count; ++rank) {
    const auto share = rank_share(c.contract(), whole.a.cols, rank, count);
    if (!share) {
      c.note(share.status());
      return std::nullopt;
    }
    Request part;
    part.spec.contract = c.with_output(DType::fp32);
    part.a = col_slice(whole.a, share->begin, share->end);
    part.b = row_slice(whole.b, share->begin, share->end);
    const auto root = c.run(part);
    if (!root) return std::nullopt;
    roots.push_back(root->d);
  }
  return roots;
}

/// The same roots, stored with gaps, joined into a D by columns, with all of the epilogue that the
/// engine computes: C, a narrow bias and an activation.
void joined_otherwise(Case& c, const Request& request, std::int64_t count) {
  const auto roots = rank_roots(c, request, count);
  if (!roots) return;
  Request plain = request;
  const auto if_supported = [&](auto&& change) { return change_if_supported(c, plain, change); };
  if_supported([](GemmSpec& spec) { spec.alpha = -1.3F; });
  if (if_supported([](GemmSpec& spec) { spec.bias = DType::bf16; })) {
    plain.bias = draw_normal(c.random(), DType::bf16, 1, request.b.cols);
  }
  for (const Activation activation : {Activation::silu, Activation::relu, Activation::gelu}) {
    if (if_supported([&](GemmSpec& spec) { spec.activation = activation; })) break;
  }
  if (if_supported([](GemmSpec& spec) { spec.beta = 0.7F; })) {
    plain.c = draw_normal(c.random(), plain.spec.contract.output, request.a.rows, request.b.cols);
  }
  const auto whole = c.run(plain);
  if (!whole) return;
  Request join = plain;
  join.roots = *roots;
  // Without products, this is how the roots are stored.
  join.a_layout = {c.random().one_in(2), c.random().between(1, 9), c.random().below(9)};
  join.c_layout = draw_layout(c.random());
  for (const bool col_major : {false, true}) {
    join.d_layout = {col_major, c.random().between(1, 9)};
    const auto joined = c.run(join);
    if (!joined) continue;  // noted: an order may be refused
    if (!c.same(whole->d, joined->d,
                std::to_string(count) + " ranks, joined as " + describe(join))) {
      return;
    }
  }
}

}  // namespace

/// K is shared between 1, 2, 4, 8, 16 and 64 tensor-parallel ranks, and their roots are combined in
/// rank order with the epilogue: this gives the bits of one rank with all of K.
void ranks(Case& c) {
  const Reduction& reduction = c.contract().reduction;
  if (reduction.kind != ReductionKind::tree) {
    return c.skip("only a tree can be shared between ranks");
  }
  // The first case has many roots too.
  const bool many = c.index() == 0;
  const std::int64_t max_ranks = many ? kManyRanks : std::int64_t{1} << (c.index() % 4);
  const std::int64_t leaves =
      max_ranks * (many ? 1 : c.random().between(1, max_ranks >= 4 ? 2 : 5));
  const std::int64_t k =
      leaves * reduction.leaf_k - c.random().below(reduction.leaf_k);  // the last leaf may be short
  Shape shape{c.random().between(2, 9), c.random().between(4, 12), k};
  if (many) shape.m = 2, shape.n = 4;
  Request request = many ? c.draw(shape, Distribution::residue) : c.draw(shape);
  request.spec.alpha = 0.7F;
  request.spec.bias = DType::fp32;
  request.bias = draw_normal(c.random(), DType::fp32, 1, request.b.cols);
  const auto whole = c.run(request);
  if (!whole) return;
  for (std::int64_t count = many ? 16 : 1; count <= max_ranks; count *= many ? 4 : 2) {
    const auto roots = rank_roots(c, request, count);
    if (!roots) return;
    Request join = request;
    join.roots = *roots;
    const auto joined = c.run(join);
    if (!joined) return;
    if (!c.same(whole->d, joined->d, std::to_string(count) + " ranks")) return;
  }
  if (leaves > 1) c.check_order_matters(request, whole->d);
  joined_otherwise(c, request, max_ranks);
}

}  // namespace detgemm::conformance
