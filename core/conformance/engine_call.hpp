// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <string>

#include "detgemm/backend.hpp"
#include "detgemm/engine.h"

/// Problems and arrays as an engine in C gets them.
namespace detgemm::conformance {

using Sentence = std::array<char, 512>;

/// The text that an engine wrote, made safe: it may lack the final 0, or be missing altogether.
inline std::string text_of(Sentence& buffer, const char* otherwise) {
  buffer.back() = '\0';
  return buffer.front() == '\0' ? otherwise : buffer.data();
}

inline detgemm_engine_matrix to_c(const ConstMatrix& m) {
  return {const_cast<void*>(m.data),          m.rows, m.cols, m.row_stride, m.col_stride,
          static_cast<std::int32_t>(m.dtype), 0};
}

inline detgemm_engine_scales to_c(const BlockScales& s) {
  return {s.data,
          static_cast<std::int32_t>(s.type),
          static_cast<std::int32_t>(s.per),
          s.blocks,
          s.leaves,
          s.stride,
          s.leaf_stride};
}

/// The spec in C, with the strings that it points to.
struct CSpec {
  CSpec(const GemmSpec& spec, const PlanOptions& options)
      : contract(spec.contract.text()),
        arithmetic(name(spec.contract.arithmetic)),
        variant(options.variant) {
    c.struct_size = sizeof c;
    c.n = spec.n;
    c.k = spec.k;
    c.contract = contract.c_str();
    c.arithmetic = arithmetic.c_str();
    c.input = static_cast<std::int32_t>(spec.contract.input);
    c.output = static_cast<std::int32_t>(spec.contract.output);
    c.k_block = spec.contract.k_block;
    c.reduction = static_cast<std::int32_t>(spec.contract.reduction.kind);
    c.leaf_k = spec.contract.reduction.leaf_k;
    c.op_a = static_cast<std::int32_t>(spec.op_a);
    c.op_b = static_cast<std::int32_t>(spec.op_b);
    c.alpha = spec.alpha;
    c.beta = spec.beta;
    c.bias = spec.bias ? static_cast<std::int32_t>(*spec.bias) : -1;
    c.activation = static_cast<std::int32_t>(spec.activation);
    c.continue_from_c = spec.continue_from_c ? 1 : 0;
    c.max_workers = options.max_workers;
    c.variant = variant.c_str();
    c.line_scales = spec.line_scales ? 1 : 0;
    c.a_snapped = spec.a_snapped ? 1 : 0;
    c.b_snapped = spec.b_snapped ? 1 : 0;
  }
  CSpec(const CSpec&) = delete;

  std::string contract, arithmetic, variant;
  detgemm_engine_spec c{};
};

}  // namespace detgemm::conformance
