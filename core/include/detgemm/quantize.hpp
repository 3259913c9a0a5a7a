// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "detgemm/matrix.hpp"
#include "detgemm/scales.hpp"
#include "detgemm/snap.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

class Backend;

/// How a matrix is cut into the blocks that share a scale: `per` lines by LEAF numbers along K,
/// from the first line and the first number on; blocks at the end may be smaller. Lines are rows
/// (KDimension::cols) or columns (rows) of the view.
struct QuantizeSpec {
  std::int64_t leaf_k = 128;  ///< LEAF of the contract, from 1 to kMaxLeaf
  std::int64_t per = 1;       ///< 1 for activations, 128 for weights
  KDimension k = KDimension::cols;
};

/// Where the scales go: block b of lines and leaf i at data + b * stride + i * leaf_stride. No two
/// scales overlap, so one of the strides is at least 1 and the other at least the extent along it.
struct ScalesOut {
  void* data = nullptr;
  ScaleType type = ScaleType::fp32;
  std::int64_t blocks = 0;  ///< ceil(lines / per)
  std::int64_t leaves = 0;  ///< ceil(K / leaf_k)
  std::int64_t stride = 0;
  std::int64_t leaf_stride = 1;
};

/// The same scales as an operand of a product.
inline BlockScales scales_of(const QuantizeSpec& spec, const ScalesOut& scales) {
  return {scales.data,   scales.type,   spec.per,          scales.blocks,
          scales.leaves, scales.stride, scales.leaf_stride};
}

/// ok, or the rule that the call breaks on every backend. No element is read.
DETGEMM_API Status validate(const QuantizeSpec& spec, const ConstMatrix& from, const Matrix& to,
                            const ScalesOut& scales);

/// Quantises bf16, fp16 or fp32 numbers to e4m3 with a scale per block. In fp32, every operation
/// rounded once to nearest even, with subnormals kept:
///
///   amax  the largest magnitude among the block's finite numbers, +0 where there is none
///   s     max(amax, 1e-4) / 448; for e8m0 then the least power of two that is not below it
///   q     x * (1 / s), rounded to e4m3 to nearest even; beyond 448 it is 448 with x's sign
///
/// where 1e-4 is the fp32 number nearest to it. A NaN or an Inf becomes the NaN 7f, since e4m3 has
/// no Inf, and leaves the other numbers of its block alone. A zero keeps its sign.
///
/// A maximum needs no order, so a block's bits depend on the block alone: with per = 1 a row has
/// the same bits alone and in any batch. (A scale of a whole batch would not have this property,
/// and there is none.)
///
/// `from` and `to` have the same shape and are in memory of the stream's device; `to`, `from` and
/// `scales` do not overlap. On the host the work is finished at return. Refuses, and writes
/// nothing: arguments that break a rule (invalid_argument), a backend that cannot run here or now
/// (unavailable) or does not quantise (unsupported).
DETGEMM_API Status quantize(const Backend& backend, Stream stream, const QuantizeSpec& spec,
                            const ConstMatrix& from, const Matrix& to, const ScalesOut& scales);

}  // namespace detgemm
