// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

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

}  // namespace detgemm
