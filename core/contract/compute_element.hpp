// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/step.hpp"
#include "core/contract/epilogue.hpp"
#include "core/contract/reduction.hpp"
#include "detgemm/gemm_spec.hpp"

namespace detgemm {

/// Distances between neighbours of a view in elements, with op applied: element (i, j) of op(X)
/// lies at i * row + j * col. Extents of 1 make a stride 0, so that odd strides are harmless.
struct Strides {
  std::int64_t row = 0;
  std::int64_t col = 0;
};

inline Strides strides_of(const ConstMatrix& view, Op op) {
  Strides s{view.rows > 1 ? view.row_stride : 0, view.cols > 1 ? view.col_stride : 0};
  if (op == Op::transpose) return {s.col, s.row};
  return s;
}

/// The arguments of one GEMM flattened for a kernel: plain data, copyable to a device.
struct GemmArguments {
  const void* a = nullptr;  // op(A): m x k
  const void* b = nullptr;  // op(B): k x n
  const void* c = nullptr;
  const void* bias = nullptr;
  void* d = nullptr;
  Strides as, bs, cs, ds;
  std::int64_t m = 0, n = 0, k = 0;
  Reduction reduction;
  Epilogue epilogue;
  DType output = DType::fp32;
  DType c_type = DType::fp32;
  DType bias_type = DType::fp32;
  bool continue_from_c = false;
};

inline GemmArguments flatten(const GemmSpec& spec, const Operands& operands) {
  GemmArguments g;
  g.a = operands.a.data;
  g.b = operands.b.data;
  g.c = operands.c.data;
  g.bias = operands.bias.data;
  g.d = operands.d.data;
  g.as = strides_of(operands.a, spec.op_a);
  g.bs = strides_of(operands.b, spec.op_b);
  g.cs = strides_of(operands.c, Op::none);
  g.ds = strides_of(operands.d, Op::none);
  g.m = operands.d.rows;
  g.n = spec.n;
  g.k = spec.k;
  g.reduction = spec.contract.reduction;
  g.epilogue = {spec.alpha, spec.beta, spec.bias.has_value(), spec.activation};
  g.output = spec.contract.output;
  g.c_type = operands.c.dtype;
  g.bias_type = spec.bias.value_or(DType::fp32);
  g.continue_from_c = spec.continue_from_c;
  return g;
}

/// The accumulator C gives: fp32 for continue, else +0.
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
  constexpr int products = Step<A, T>::products;
  const auto* a = static_cast<const Storage<T>*>(g.a) + row * g.as.row;
  const auto* b = static_cast<const Storage<T>*>(g.b) + col * g.bs.col;
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
  return acc;
}

/// One output from operands to memory: the contract, executable, one scalar at a time.
template <Arithmetic A, DType T>
DETGEMM_HD void compute_element(const GemmArguments& g, std::int64_t row, std::int64_t col) {
  const auto leaf = [&](std::int64_t begin, std::int64_t end, float start) {
    return chain_element<A, T>(g, row, col, begin, end, start);
  };
  finish_element(g, row, col, reduce_leaves(g.reduction, g.k, start_value(g, row, col), leaf));
}

/// The tree over `count` roots of one output; `load(i)` gives root i.
template <class Load>
DETGEMM_HD void combine_element(const GemmArguments& g, std::int64_t row, std::int64_t col,
                                std::int64_t count, Load&& load) {
  const Reduction over_roots{ReductionKind::tree, 1};
  const auto leaf = [&](std::int64_t begin, std::int64_t, float) { return load(begin); };
  finish_element(g, row, col, reduce_leaves(over_roots, count, 0.0F, leaf));
}

}  // namespace detgemm
