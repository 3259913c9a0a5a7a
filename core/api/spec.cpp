// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <string>

#include "core/contract/wording.hpp"
#include "detgemm/gemm_spec.hpp"

namespace detgemm {

Status validate(const GemmSpec& spec) {
  if (Status s = spec.contract.validate(); !s) return s;
  if (spec.n < 0) {
    return invalid("n is " + std::to_string(spec.n) + ": it must not be negative");
  }
  if (spec.k < 0) {
    return invalid("k is " + std::to_string(spec.k) + ": it must not be negative");
  }
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(spec.n, spec.k, &elements)) {
    return invalid("n is " + std::to_string(spec.n) + " and k is " + std::to_string(spec.k) +
                   ": n * k must fit 2^63");
  }
  for (const auto& [what, op] : {std::pair{"op_a", spec.op_a}, std::pair{"op_b", spec.op_b}}) {
    if (op != Op::none && op != Op::transpose) {
      return invalid(std::string(what) + " is " + std::to_string(static_cast<int>(op)) +
                     ": it must be none (0) or transpose (1)");
    }
  }
  if (spec.activation < Activation::none || spec.activation > Activation::silu) {
    return invalid("activation is " + std::to_string(static_cast<int>(spec.activation)) +
                   ": it must be none (0), relu (1), gelu (2), gelu_tanh (3) or silu (4)");
  }
  for (const auto& [what, value] : {std::pair{"alpha", spec.alpha}, std::pair{"beta", spec.beta}}) {
    if (!std::isfinite(value)) {
      return invalid(std::string(what) + " is " + std::to_string(value) + ": it must be finite");
    }
  }
  if (spec.bias && *spec.bias != DType::bf16 && *spec.bias != DType::fp16 &&
      *spec.bias != DType::fp32) {
    return invalid("bias is " + described(*spec.bias) + ": it must be bf16, fp16 or fp32");
  }
  for (const auto& [what, promised] :
       {std::pair{"a_snapped", spec.a_snapped}, std::pair{"b_snapped", spec.b_snapped}}) {
    if (promised && spec.contract.arithmetic != Arithmetic::snap) {
      return invalid(std::string(what) + " is set and the contract is " + spec.contract.text() +
                     ": only contracts of snap have snapped operands");
    }
  }
  if (spec.line_scales && spec.contract.reduction.kind != ReductionKind::chain &&
      spec.contract.reduction.kind != ReductionKind::fold) {
    return unsupported("line_scales is set and the contract is " + spec.contract.text() +
                       ": scales of whole rows and columns go with chain and fold");
  }
  if (spec.continue_from_c) {
    if (spec.contract.reduction.kind == ReductionKind::tree) {
      return unsupported("continue_from_c is set and the contract is " + spec.contract.text() +
                         ": a tree's shape depends on the whole of K, so it cannot continue; use "
                         "chain, fold or scaled");
    }
    if (spec.adds_c()) {
      return invalid("beta is " + std::to_string(spec.beta) +
                     ": continue_from_c uses C as the accumulator and needs beta = 0");
    }
  }
  return {};
}

}  // namespace detgemm
