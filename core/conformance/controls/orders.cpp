// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <vector>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that add the right products in the wrong order, or in a changing one.

namespace detgemm::controls {
namespace {

/// The roots of the slices of one output, as a split-K kernel leaves them.
std::vector<float> slice_roots(const ScalarStep& step, const GemmArguments& g, std::int64_t slice,
                               std::int64_t row, std::int64_t col) {
  std::vector<float> roots;
  for (std::int64_t begin = 0; begin < g.k; begin += slice) {
    roots.push_back(step.chain(g, row, col, begin, std::min(g.k, begin + slice), 0.0F));
  }
  return roots;
}

/// Atomic adds land in the order in which blocks finish; a counter stands in for the scheduler,
/// so that the order changes at every call and not only at most of them.
void add_as_they_arrive(const Run& run) {
  static std::atomic<std::size_t> calls{0};
  const std::size_t turn = calls.fetch_add(1);
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      const auto roots = slice_roots(step, g, 2 * run.spec.contract.k_block, row, col);
      float acc = start_value(g, row, col);
      for (std::size_t i = 0; i < roots.size(); ++i) {
        acc = arithmetic::add_rn(acc, roots[(i + turn) % roots.size()]);
      }
      finish_element(g, row, col, arithmetic::canonical(acc));
    });
  });
}

/// Splits the range of products in the middle, at a multiple of a step, not the range of leaves.
float split_range(const ScalarStep& step, const GemmArguments& g, std::int64_t block,
                  std::int64_t row, std::int64_t col, std::int64_t begin, std::int64_t end) {
  if (end - begin <= g.reduction.leaf_k) {
    return step.chain(g, row, col, begin, end, 0.0F);
  }
  const std::int64_t middle = begin + ((end - begin) / 2 + block - 1) / block * block;
  return arithmetic::add_rn(split_range(step, g, block, row, col, begin, middle),
                            split_range(step, g, block, row, col, middle, end));
}

void tree_over_ranges(const Run& run) {
  if (run.spec.contract.reduction.kind != ReductionKind::tree || run.spec.k == 0) {
    return compute_honestly(run);
  }
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      const float acc = split_range(step, g, run.spec.contract.k_block, row, col, 0, g.k);
      finish_element(g, row, col, arithmetic::canonical(acc));
    });
  });
}

float in_sequence(std::span<const float> roots) {
  float acc = roots[0];
  for (const float root : roots.subspan(1)) acc = arithmetic::add_rn(acc, root);
  return arithmetic::canonical(acc);
}

/// The list of roots is halved, whatever leaves they stand for: right where all nodes are equal.
float halved(std::span<const float> roots) {
  if (roots.size() == 1) return roots[0];
  const std::size_t half = roots.size() / 2;
  return arithmetic::add_rn(halved(roots.first(half)), halved(roots.subspan(half)));
}
float as_equal_nodes(std::span<const float> roots) { return arithmetic::canonical(halved(roots)); }

/// The product by itself, and C added at the end: right to about one ulp, and not the contract.
void add_c_last(const Run& run) {
  if (!run.spec.continue_from_c) return compute_honestly(run);
  with_step(run, [&](const GemmArguments& g, const ScalarStep& step) {
    for_outputs(g, [&](std::int64_t row, std::int64_t col) {
      const float product = reduce_leaves(g.reduction, g.k, 0.0F,
                                          [&](std::int64_t begin, std::int64_t end, float start) {
                                            return step.chain(g, row, col, begin, end, start);
                                          });
      finish_element(g, row, col, arithmetic::add_rn(product, start_value(g, row, col)));
    });
  });
}

}  // namespace

Fault arrival_order() { return {"arrival_order", add_as_they_arrive}; }
Fault range_tree() { return {"range_tree", tree_over_ranges}; }
Fault sequential_combine() { return {"sequential_combine", compute_honestly, in_sequence}; }
Fault equal_nodes() { return {"equal_nodes", compute_honestly, as_equal_nodes}; }
Fault late_continue() { return {"late_continue", add_c_last}; }

}  // namespace detgemm::controls
