// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>

#include "detgemm/contract.hpp"
#include "detgemm/matrix.hpp"

namespace detgemm {

/// D = act(alpha * acc + beta * C + bias), where acc is A*B under the contract.
///
/// The problem without M: what a plan cannot see cannot change the arithmetic.
/// Shapes as stored: A is M x K (op none) or K x M (transpose), B is K x N or N x K,
/// C and D are M x N, bias has N elements.
struct GemmSpec {
  std::int64_t n = 0;
  std::int64_t k = 0;
  Contract contract;
  Op op_a = Op::none;
  Op op_b = Op::none;
  float alpha = 1.0F;
  float beta = 0.0F;          ///< 0: C is not read. C has the contract's output type.
  std::optional<DType> bias;  ///< type of the bias (bf16, fp16, fp32), or none
  Activation activation = Activation::none;
  /// The accumulator starts from fp32 C in place of +0, so that a K cut at a multiple of k_block
  /// (chain) or at a leaf (fold) gives the bits of the uncut one. Needs beta = 0; not for tree.
  bool continue_from_c = false;

  bool reads_c() const { return continue_from_c || beta != 0.0F; }
};

/// ok, or the rule the problem breaks, whatever the backend.
DETGEMM_API Status validate(const GemmSpec& spec);

/// The arrays of one run. C and bias are looked at only where the spec uses them.
/// D may be C itself (same pointer, strides and type); no other overlap with D is allowed.
struct Operands {
  ConstMatrix a;
  ConstMatrix b;
  Matrix d;
  ConstMatrix c{};
  ConstVector bias{};
};

/// ok, or the rule the arrays break: null pointers, shapes, strides, types, alignment, sizes
/// whose bytes overflow, overlap. `m` is D's number of rows.
DETGEMM_API Status validate(const GemmSpec& spec, const Operands& operands);

}  // namespace detgemm
