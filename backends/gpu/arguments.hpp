// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"

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

}  // namespace detgemm::gpu
