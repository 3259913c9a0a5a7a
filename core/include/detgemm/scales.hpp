// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "detgemm/status.hpp"

namespace detgemm {

/// How a scale is stored. Both are fp32 numbers to the arithmetic.
enum class ScaleType : std::int32_t {
  fp32 = 0,
  e8m0 = 1,  ///< one byte x for 2^(x - 127), of which 0 is the subnormal 2^-127; 255 is NaN
};

/// "fp32" or "e8m0"; "unknown" for a value that is not listed.
DETGEMM_API std::string_view name(ScaleType type) noexcept;
/// Bytes of one scale; 0 for a value that is not listed.
DETGEMM_API std::size_t size_of(ScaleType type) noexcept;

/// The scales of one operand under a contract of `scaled:LEAF`: one for `per` rows of op(A), or
/// `per` columns of op(B), and one leaf of K. With GemmSpec::line_scales `leaves` is 1, and the
/// scale is that of the whole sum. Row m and leaf i have the scale at
///
///   data + (m / per) * stride + i * leaf_stride        m / per without its remainder
///
/// in elements. Scales are read alone, so any strides from 0 on are allowed: with a stride of 0 all
/// rows share a scale, with a leaf_stride of 0 all leaves do. Layout does not enter the bits.
struct BlockScales {
  const void* data = nullptr;  ///< on the stream's device, aligned to the size of a scale
  ScaleType type = ScaleType::fp32;
  std::int64_t per = 1;          ///< 1 or 128
  std::int64_t blocks = 0;       ///< ceil(M / per), or ceil(N / per) for B
  std::int64_t leaves = 0;       ///< ceil(K / LEAF), or 1 with line_scales
  std::int64_t stride = 0;       ///< from a block of rows (or columns) to the next
  std::int64_t leaf_stride = 1;  ///< from a leaf to the next
};

}  // namespace detgemm
