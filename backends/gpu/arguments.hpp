// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/problem.hpp"

namespace detgemm::gpu {

/// The arguments of a run. What the spec does not use is null, so that no kernel can come to read
/// it.
inline GemmArguments arguments_of(const GemmSpec& spec, const Operands& operands) {
  GemmArguments g = flatten(spec, operands);
  if (!spec.reads_c()) g.c = nullptr;
  if (!spec.bias) g.bias = nullptr;
  return g;
}

/// A run of m rows whose arrays are as they usually are, to be described before there are any:
/// packed, row-major, and aligned. All pointers are null, which in such a description stands for
/// an aligned address; whether C is read follows from the epilogue and `continue_from_c`.
inline GemmArguments usual_arguments(const GemmSpec& spec, std::int64_t m) {
  const DType input = spec.contract.input;
  const DType output = spec.contract.output;
  const bool at = spec.op_a == Op::transpose;
  const bool bt = spec.op_b == Op::transpose;
  void* const aligned = nullptr;
  Operands usual;
  usual.a = row_major(aligned, at ? spec.k : m, at ? m : spec.k, input);
  usual.b = row_major(aligned, bt ? spec.n : spec.k, bt ? spec.k : spec.n, input);
  usual.d = row_major(aligned, m, spec.n, output);
  usual.c = row_major(aligned, m, spec.n, spec.continue_from_c ? DType::fp32 : output);
  usual.bias = {aligned, spec.n, spec.bias.value_or(DType::fp32)};
  return flatten(spec, usual);
}

/// The same as problems, with everything that kernels are told.
inline Problem problem_of(const GemmSpec& spec, const Operands& operands) {
  return {arguments_of(spec, operands), spec.contract.arithmetic, spec.contract.input,
          flatten_scales(spec, operands)};
}
inline Problem problem_of(const GroupedSpec& spec, const GroupedOperands& operands) {
  GroupedArguments p = flatten(spec, operands);
  if (!spec.gemm.reads_c()) p.all.c = nullptr;
  if (!spec.gemm.bias) p.all.bias = nullptr;
  return {p, spec.gemm.contract.arithmetic, spec.gemm.contract.input,
          flatten_scales(spec.gemm, operands.arrays)};
}

/// Scales for every row of A and for 128 columns of B.
inline ScalePair usual_scales(const GemmSpec& spec) {
  ScalePair s;
  if (!spec.reads_scales()) return s;
  s.a = {nullptr, 1, 1, 1};
  s.b = {nullptr, 128, 1, 1};
  return s;
}
inline Problem usual_problem(const GemmSpec& spec, std::int64_t m) {
  return {usual_arguments(spec, m), spec.contract.arithmetic, spec.contract.input,
          usual_scales(spec)};
}
/// Groups of m rows, one after the other.
inline Problem usual_problem(const GroupedSpec& spec, std::int64_t m) {
  GroupedArguments p;
  GemmSpec one = spec.gemm;
  if (spec.kind == GroupKind::k_grouped) one.k = spec.groups * 1024;
  p.all = usual_arguments(one, m);
  p.kind = spec.kind;
  p.groups = spec.groups;
  const std::int64_t n = spec.gemm.n, k = spec.gemm.k;
  const bool by_rows = spec.kind == GroupKind::m_grouped;
  const bool by_k = spec.kind == GroupKind::k_grouped;
  if (!by_rows && !by_k) p.distance.a = m * k;
  if (!by_k) p.distance.b = k * n;
  if (!by_rows) p.distance.d = p.distance.c = m * n;
  return {p, one.contract.arithmetic, one.contract.input, usual_scales(one)};
}

}  // namespace detgemm::gpu
