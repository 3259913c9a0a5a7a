// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// The nodes of all ranks in leaf order: `ranks` shares, even ones or cut at random leaves, so that
/// a rank may have many leaves, one or none.
///
///     0   1   2 | 3   4 | 5   6   7        three shares of 8 leaves
///     [0,2)  [2] [3] [4] [5] [6,8)         and their nodes
Result<std::vector<LeafRange>> draw_nodes(Case& c, std::int64_t k, std::int64_t ranks) {
  const std::int64_t leaves = c.contract().leaves(k);
  std::vector<std::int64_t> cuts{0, leaves};
  const bool even = c.random().one_in(3);
  for (std::int64_t r = 1; r < ranks; ++r) {
    cuts.push_back(even ? leaves * r / ranks : c.random().between(0, leaves));
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<LeafRange> nodes;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    auto some = cover(c.contract(), k, {cuts[i], cuts[i + 1]});
    if (!some) return some.status();
    nodes.insert(nodes.end(), some->begin(), some->end());
  }
  return nodes;
}

/// What the ranks compute: the root of each node, in fp32 and without an epilogue.
std::optional<std::vector<Elements>> node_roots(Case& c, const Request& whole,
                                                std::span<const LeafRange> nodes) {
  std::vector<Elements> roots;
  for (const LeafRange& node : nodes) {
    const auto range = k_of(c.contract(), whole.a.cols, node);
    if (!range) {
      c.note(range.status());
      return std::nullopt;
    }
    Request part;
    part.spec.contract = c.with_output(DType::fp32);
    part.options = whole.options;
    part.a = col_slice(whole.a, range->begin, range->end);
    part.b = row_slice(whole.b, range->begin, range->end);
    const auto root = c.run(part);
    if (!root) return std::nullopt;
    roots.push_back(root->d);
  }
  return roots;
}

/// The tree over all leaves, whose nodes' roots are known: the harness's own additions.
class Tree {
 public:
  Tree(std::span<const LeafRange> nodes, std::span<const Elements> roots)
      : nodes_(nodes), roots_(roots) {}

  Elements sum(std::int64_t leaves) const {
    Elements d = roots_.front();
    for (std::int64_t i = 0; i < d.rows; ++i) {
      for (std::int64_t j = 0; j < d.cols; ++j) {
        d.set(i, j, std::bit_cast<std::uint32_t>(at(i, j, 0, leaves)));
      }
    }
    return d;
  }

 private:
  float at(std::int64_t i, std::int64_t j, std::int64_t begin, std::int64_t end) const {
    const auto known = std::find(nodes_.begin(), nodes_.end(), LeafRange{begin, end});
    if (known != nodes_.end()) {
      return std::bit_cast<float>(
          roots_[static_cast<std::size_t>(known - nodes_.begin())].get(i, j));
    }
    const std::int64_t middle = begin + (end - begin) / 2;
    const float left = at(i, j, begin, middle);
    return left + at(i, j, middle, end);
  }

  std::span<const LeafRange> nodes_;
  std::span<const Elements> roots_;
};

}  // namespace

/// K is shared between 1 to 9 ranks at leaves: even or uneven shares, some of them empty. The roots
/// of their nodes, added by the harness in the order of the tree, are the product; joined by the
/// engine with the epilogue, they give the bits of one rank.
void shares(Case& c) {
  const Reduction& reduction = c.contract().reduction;
  if (reduction.kind != ReductionKind::tree) {
    return c.skip("only a tree can be shared between ranks");
  }
  const std::int64_t ranks = 1 + c.index() % 9;
  // Under snap3 a leaf becomes three, and all cuts are between them where there are 2^i.
  const std::int64_t leaves = c.contract().arithmetic == Arithmetic::snap3
                                  ? std::int64_t{2} << c.random().below(c.full() ? 5 : 3)
                                  : c.random().between(2, c.full() ? 40 : 14);
  const std::int64_t k = leaves * reduction.leaf_k - c.random().below(reduction.leaf_k);
  Request request = c.draw({c.random().between(1, 7), c.random().between(3, 10), k});
  const auto nodes = draw_nodes(c, k, ranks);
  if (!nodes) return c.note(nodes.status());
  c.log(std::to_string(ranks) + " ranks, " + std::to_string(leaves) + " leaves, " +
        std::to_string(nodes->size()) + " nodes");
  Request plain = request;
  plain.spec.contract = c.with_output(DType::fp32);
  const auto product = c.run(plain);
  const auto roots = node_roots(c, request, *nodes);
  if (!product || !roots) return;
  const std::string what = "the roots of " + std::to_string(ranks) + " ranks";
  if (!c.same(product->d, Tree(*nodes, *roots).sum(leaves), what)) return;

  request.spec.alpha = 0.7F;
  request.spec.bias = DType::fp32;
  request.bias = draw_normal(c.random(), DType::fp32, 1, request.b.cols);
  const auto whole = c.run(request);
  if (!whole) return;
  Request join = request;
  join.roots = *roots;
  join.nodes = *nodes;
  // An engine may have no combine, or one of equal ranges alone: its roots were right all the same.
  if (const auto joined = c.run(join)) {
    if (!c.same(whole->d, joined->d, what + ", joined by the engine")) return;
  }
  c.check_order_matters(request, whole->d);
}

}  // namespace detgemm::conformance
