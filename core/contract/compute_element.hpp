// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/step.hpp"
#include "core/contract/gemm_arguments.hpp"
#include "core/contract/leaf_scales.hpp"

namespace detgemm {

/// The first value of the accumulator: fp32 C for continue, otherwise +0.
DETGEMM_HD float start_value(const GemmArguments& g, std::int64_t row, std::int64_t col) {
  return g.continue_from_c ? static_cast<const float*>(g.c)[row * g.cs.row + col * g.cs.col] : 0.0F;
}

/// Epilogue, rounding and store of one output.
DETGEMM_HD void finish_element(const GemmArguments& g, std::int64_t row, std::int64_t col,
                               float acc) {
  const float c = g.epilogue.beta != 0.0F
                      ? load_as_float(g.c, row * g.cs.row + col * g.cs.col, g.c_type)
                      : 0.0F;
  const float bias = g.epilogue.has_bias ? load_as_float(g.bias, col, g.bias_type) : 0.0F;
  store_rounded(g.d, row * g.ds.row + col * g.ds.col, g.output,
                apply_epilogue(g.epilogue, acc, c, bias));
}

/// The chain over products [begin, end) of one output, from `acc`: k-blocks ascending, the last
/// one padded with zeros in both operands.
template <Arithmetic A, DType T>
DETGEMM_HD float chain_element(const GemmArguments& g, std::int64_t row, std::int64_t col,
                               std::int64_t begin, std::int64_t end, float acc) {
  using arithmetic::Step;
  using arithmetic::Storage;
  const auto* a = static_cast<const Storage<T>*>(g.a) + row * g.as.row;
  const auto* b = static_cast<const Storage<T>*>(g.b) + col * g.bs.col;
  if constexpr (A == Arithmetic::snap3) {  // the fold over the three sums of a leaf
    const auto x = [&](std::int64_t i) {
      return arithmetic::to_float<T>(a[(begin + i) * g.as.col]);
    };
    const auto y = [&](std::int64_t i) {
      return arithmetic::to_float<T>(b[(begin + i) * g.bs.row]);
    };
    const auto ga = arithmetic::snap3_grids(end - begin, x);
    const auto gb = arithmetic::snap3_grids(end - begin, y);
    for (int sum = 0; sum < arithmetic::kSnap3Sums; ++sum) {
      acc = arithmetic::add_rn(acc, arithmetic::snap3_sum(sum, end - begin, ga, gb, x, y));
    }
  } else if constexpr (A ==
                       Arithmetic::snap) {  // [begin, end) is a leaf; operands are not snapped yet
    const auto x = [&](std::int64_t i) { return a[(begin + i) * g.as.col]; };
    const auto y = [&](std::int64_t i) { return b[(begin + i) * g.bs.row]; };
    acc = arithmetic::add_rn(acc, arithmetic::snap_sum(end - begin, x, y));
  } else {
    constexpr int products = Step<A, T>::products;
    Storage<T> x[products];
    Storage<T> y[products];
    for (std::int64_t k = begin; k < end; k += products) {
      for (int i = 0; i < products; ++i) {
        const bool inside = k + i < end;
        x[i] = inside ? a[(k + i) * g.as.col] : Storage<T>{0};
        y[i] = inside ? b[(k + i) * g.bs.row] : Storage<T>{0};
      }
      acc = Step<A, T>::apply(x, y, acc);
    }
  }
  return acc;
}

/// The three sums of every leaf of K, which are leaves of the reduction here: 3 i + sum.
template <Arithmetic A, DType T>
DETGEMM_HD float reduce_snap3(const GemmArguments& g, std::int64_t row, std::int64_t col) {
  using arithmetic::Storage;
  using arithmetic::to_float;
  const auto* a = static_cast<const Storage<T>*>(g.a) + row * g.as.row;
  const auto* b = static_cast<const Storage<T>*>(g.b) + col * g.bs.col;
  const std::int64_t length = g.reduction.leaf_k;
  arithmetic::Snap3Grids ga{}, gb{};  // of the leaf whose sums come next
  const auto sum_of = [&](std::int64_t index, std::int64_t, float) {
    const std::int64_t begin = index / arithmetic::kSnap3Sums * length;
    const auto sum = static_cast<int>(index % arithmetic::kSnap3Sums);
    const std::int64_t count = g.k - begin < length ? g.k - begin : length;
    const auto x = [&](std::int64_t i) { return to_float<T>(a[(begin + i) * g.as.col]); };
    const auto y = [&](std::int64_t i) { return to_float<T>(b[(begin + i) * g.bs.row]); };
    if (sum == 0) {
      ga = arithmetic::snap3_grids(count, x);
      gb = arithmetic::snap3_grids(count, y);
    }
    return arithmetic::snap3_sum(sum, count, ga, gb, x, y);
  };
  const std::int64_t sums = g.k == 0 ? 0 : leaves_of(g.k, length) * arithmetic::kSnap3Sums;
  return reduce_leaves({g.reduction.kind, 1}, sums, start_value(g, row, col), sum_of);
}

/// One output from operands to memory: the contract, executable, one scalar at a time. The scales
/// are looked at under `scaled` and with line_scales alone.
template <Arithmetic A, DType T>
DETGEMM_HD void compute_element(const GemmArguments& g, const ScalePair& scales, std::int64_t row,
                                std::int64_t col) {
  const auto leaf = [&](std::int64_t begin, std::int64_t end, float start) {
    return chain_element<A, T>(g, row, col, begin, end, start);
  };
  const auto scale = [&](std::int64_t i) { return scale_of_leaf(scales, row, col, i); };
  float acc = 0.0F;
  if constexpr (A == Arithmetic::snap3) {
    acc = reduce_snap3<A, T>(g, row, col);
  } else {
    acc = reduce_leaves(g.reduction, g.k, start_value(g, row, col), leaf, scale);
  }
  finish_element(g, row, col, scaled_by_lines(scales, row, col, acc));
}

/// The same for reductions without scales.
template <Arithmetic A, DType T>
DETGEMM_HD void compute_element(const GemmArguments& g, std::int64_t row, std::int64_t col) {
  compute_element<A, T>(g, ScalePair{}, row, col);
}

/// One output of a combine: `count` roots of nodes that follow each other, joined as the tree joins
/// them. `load(i)` gives root i, and `closes(i)` how many nodes of the tree end with it (see
/// core/contract/cover.hpp).
template <class Load, class Closes>
DETGEMM_HD void combine_element(const GemmArguments& g, std::int64_t row, std::int64_t col,
                                std::int64_t count, Load&& load, Closes&& closes) {
  float stack[kMaxTreeDepth];
  int top = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    float value = load(i);
    for (int closed = closes(i); closed > 0; --closed) {
      value = arithmetic::add_rn(stack[--top], value);
    }
    stack[top++] = value;
  }
  finish_element(g, row, col, arithmetic::canonical(stack[0]));
}

}  // namespace detgemm
