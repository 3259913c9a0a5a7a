// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"
#include "detgemm/gemm_spec.hpp"

namespace detgemm {

/// The scales of one operand flattened for a kernel: plain data, copyable to a device.
struct LeafScales {
  const void* data = nullptr;
  std::int64_t per = 1;
  std::int64_t stride = 0;
  std::int64_t leaf_stride = 0;
  ScaleType type = ScaleType::fp32;
};

/// Those of both operands; used under `scaled`, and with line_scales.
struct ScalePair {
  LeafScales a, b;
  bool of_lines = false;  ///< they multiply the finished sum
};

/// The number that a byte of e8m0 stands for: 2^(x - 127), of which 0 is subnormal in fp32.
DETGEMM_HD float e8m0_value(std::uint8_t x) {
  if (x == 255) return arithmetic::float_of(arithmetic::kNaNBits);
  return arithmetic::float_of(x == 0 ? 0x00400000U : static_cast<std::uint32_t>(x) << 23);
}

/// The scale of a row of op(A), or a column of op(B), and a leaf.
DETGEMM_HD float load_scale(const LeafScales& s, std::int64_t line, std::int64_t leaf) {
  const std::int64_t at = line / s.per * s.stride + leaf * s.leaf_stride;
  if (s.type == ScaleType::e8m0) return e8m0_value(static_cast<const std::uint8_t*>(s.data)[at]);
  return static_cast<const float*>(s.data)[at];
}

/// s_i of one output: the product of both scales of leaf i, rounded once.
DETGEMM_HD float scale_of_leaf(const ScalePair& s, std::int64_t row, std::int64_t col,
                               std::int64_t leaf) {
  return arithmetic::mul_rn(load_scale(s.a, row, leaf), load_scale(s.b, col, leaf));
}

/// What line_scales make of a sum, the column's scale first:
///
///   v = scale_b[n] * acc ;  v = scale_a[m] * v        each product rounded once
DETGEMM_HD float scaled_by_lines(const ScalePair& s, std::int64_t row, std::int64_t col,
                                 float acc) {
  if (!s.of_lines) return acc;
  const float v = arithmetic::mul_rn(load_scale(s.b, col, 0), acc);
  return arithmetic::mul_rn(load_scale(s.a, row, 0), v);
}

/// Extents of 1 make a stride 0, so that odd strides are harmless.
inline LeafScales flatten(const BlockScales& s) {
  return {s.data, s.per, s.blocks > 1 ? s.stride : 0, s.leaves > 1 ? s.leaf_stride : 0, s.type};
}

inline ScalePair flatten_scales(const GemmSpec& spec, const Operands& operands) {
  if (!spec.reads_scales()) return {};
  return {flatten(operands.scale_a), flatten(operands.scale_b), spec.line_scales};
}

}  // namespace detgemm
