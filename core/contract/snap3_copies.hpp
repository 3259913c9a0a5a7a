// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>

#include "core/arithmetic/snap3.hpp"
#include "core/contract/reduction.hpp"

namespace detgemm {

/// Operands under snap3 as operands under snap (core/contract/CONTRACT.md, section 3.6): copies of
/// three times the leaves, of bf16 numbers, a short last leaf padded with zeros.
///
///     op(A), a leaf   |a a a a|      ->   |p p p p|p p p p|q q q q|    the second one without
///     op(B), a leaf   |b b b b|      ->   |P P P P|Q Q Q Q|P P P P|    NaN and Inf, and B's third
struct Snap3Copies {
  std::int64_t leaf_k = 0;  ///< LEAF, or K in whole steps where that is less
  std::int64_t leaves = 0;  ///< of K
  std::int64_t k = 0;       ///< numbers of a line; the largest integer where there are too many
};

inline Snap3Copies snap3_copies(std::int64_t k, std::int64_t leaf_k) {
  if (k == 0) return {leaf_k, 0, 0};
  const std::int64_t steps = ceil_div(k, arithmetic::kSnapMultiple);
  const bool one_leaf = steps <= leaf_k / arithmetic::kSnapMultiple;
  Snap3Copies copies{one_leaf ? steps * arithmetic::kSnapMultiple : leaf_k, leaves_of(k, leaf_k),
                     0};
  if (__builtin_mul_overflow(copies.leaves * arithmetic::kSnap3Sums, copies.leaf_k, &copies.k)) {
    copies.k = std::numeric_limits<std::int64_t>::max();
  }
  return copies;
}

}  // namespace detgemm
