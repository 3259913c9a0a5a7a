// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "detgemm/contract.hpp"
#include "detgemm/matrix.hpp"
#include "detgemm/scales.hpp"

namespace detgemm {

/// D = act(alpha * acc + beta * C + bias), where acc is op(A) * op(B) under the contract.
///
/// This is the problem without M: what a plan cannot see cannot change the arithmetic.
/// Shapes as stored: A is M x K (op none) or K x M (transpose), B is K x N (none) or N x K
/// (transpose), C and D are M x N, and the bias has N elements, one per column. A and B have the
/// contract's input type (fp32 in memory for tf32), D its output type.
struct GemmSpec {
  std::int64_t n = 0;
  std::int64_t k = 0;
  Contract contract;
  Op op_a = Op::none;
  Op op_b = Op::none;
  float alpha = 1.0F;           ///< finite, as beta is
  float beta = 0.0F;            ///< 0: C is not read. Otherwise C has the contract's output type.
  std::optional<DType> bias{};  ///< the type of the bias (bf16, fp16 or fp32), or none
  Activation activation = Activation::none;
  /// Start the accumulator from fp32 C in place of +0, so that a K that is cut at a multiple of
  /// k_block (chain) or at the end of a leaf (fold, scaled) gives the bits of the uncut one. Needs
  /// beta = 0; a tree cannot continue, since its shape depends on the whole of K. `check_cuts`
  /// checks where K is cut; docs/contracts.md, "Micro-batches", has the whole of it.
  bool continue_from_c = false;
  /// Contracts of `snap` only: the caller promises that this operand is snapped already, for leaves
  /// of this contract that begin at its first product (`is_snapped` in snap.hpp tests it,
  /// `snap` makes it so). It is then used in place, and the workspace has no copy of it. Snapping
  /// what is snapped changes nothing, so the bits are those without the promise. Where it is
  /// broken, D has unspecified values, which may differ between runs; no other memory is touched.
  bool a_snapped = false;
  bool b_snapped = false;
  /// Under chain and fold: each row m of op(A) and column n of op(B) brings one scale, and alpha
  /// multiplies scale_a[m] * (scale_b[n] * acc) in place of acc, each product rounded once. A scale
  /// of 1 changes nothing.
  bool line_scales = false;

  /// Whether a run reads scales: under `scaled`, and with line_scales.
  bool reads_scales() const {
    return line_scales || contract.reduction.kind == ReductionKind::scaled;
  }
  /// The scales of a line: one per leaf of K, or one.
  std::int64_t scale_leaves() const { return line_scales ? 1 : contract.leaves(k); }
  /// Whether beta * C is added. The bits of beta decide: a comparison would take a subnormal for
  /// zero on a thread whose floating-point mode is set so.
  bool adds_c() const { return (std::bit_cast<std::uint32_t>(beta) & 0x7fffffffU) != 0; }
  /// Whether a run reads C.
  bool reads_c() const { return continue_from_c || adds_c(); }
};

/// ok, or the rule that the problem breaks on every backend.
DETGEMM_API Status validate(const GemmSpec& spec);

/// The arrays of one run, in memory of the stream's device. C and bias are looked at only where the
/// spec uses them. Scales belong to contracts of `scaled`, and to line_scales, where each operand
/// has scales of one leaf; both need both, others refuse them. D may be C itself (same pointer,
/// strides and type); no other overlap with D is allowed.
struct Operands {
  ConstMatrix a;
  ConstMatrix b;
  Matrix d;
  ConstMatrix c{};
  ConstVector bias{};
  BlockScales scale_a{};
  BlockScales scale_b{};
};

/// ok, or the rule that the arrays break: null pointers, shapes, strides, types, alignment, sizes
/// whose bytes overflow, overlap. M is D's number of rows. No element is read.
DETGEMM_API Status validate(const GemmSpec& spec, const Operands& operands);

}  // namespace detgemm
