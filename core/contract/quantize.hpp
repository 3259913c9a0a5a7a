// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"
#include "detgemm/quantize.hpp"

// The rule of detgemm/quantize.hpp, one number and one block at a time.

namespace detgemm {

/// 448, the largest number of e4m3, and the least magnitude that a block is taken to have.
inline constexpr float kMaxE4m3 = 448.0F;
inline constexpr float kMinAmax = 1e-4F;

/// The larger of a magnitude so far and |x|, both as fp32 words, where x is finite.
DETGEMM_HD std::uint32_t larger_magnitude(std::uint32_t so_far, float x) {
  const std::uint32_t magnitude = arithmetic::bits_of(x) & 0x7fffffffU;
  return magnitude < arithmetic::kInfBits && magnitude > so_far ? magnitude : so_far;
}

/// The scale of a block whose largest magnitude is `amax`: the quotient, or for e8m0 the least
/// power of two that is not below it. The quotient is normal and below 2^120, so adding the largest
/// fraction carries into the exponent wherever there is a fraction.
DETGEMM_HD float scale_of_block(std::uint32_t amax, ScaleType type) {
  const float largest = arithmetic::float_of(amax);
  const float s = arithmetic::div_rn(largest > kMinAmax ? largest : kMinAmax, kMaxE4m3);
  if (type == ScaleType::fp32) return s;
  return arithmetic::float_of((arithmetic::bits_of(s) + 0x7fffffU) >> 23 << 23);
}

/// v as e4m3, to nearest even; 448 of its sign beyond that. A NaN or an Inf is 7f.
///
///   normal     the 20 fraction bits that e4m3 lacks are rounded off, and the bias is moved
///   below 2^-6 v + 2^14 has a unit in the last place of 2^-9, that of e4m3's subnormals, so the
///              addition rounds; the word's low bits then are v in units of 2^-9
DETGEMM_HD std::uint8_t e4m3_of(float v) {
  using namespace arithmetic;
  const std::uint32_t bits = bits_of(v);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude >= kInfBits) return 0x7f;
  std::uint32_t rounded = 0;
  if (magnitude < 0x3c800000U) {  // 2^-6
    rounded = bits_of(add_rn(float_of(magnitude), 0x1p14F)) - bits_of(0x1p14F);
  } else {
    rounded = ((magnitude + 0x7ffffU + ((magnitude >> 20) & 1U)) >> 20) - ((127U - 7U) << 3);
  }
  if (rounded > 0x7eU) rounded = 0x7eU;
  return static_cast<std::uint8_t>(rounded | (bits >> 31 << 7));
}

/// The arguments of one call flattened for a kernel: plain data. Line i and number k lie at
/// i * row + k * col.
struct QuantizeArguments {
  const void* from = nullptr;
  std::uint8_t* to = nullptr;
  Strides from_at, to_at;
  DType type = DType::bf16;
  std::int64_t lines = 0, k = 0, per = 1, leaf_k = 128;
  ScalesOut scales;
};

inline QuantizeArguments flatten(const QuantizeSpec& spec, const ConstMatrix& from,
                                 const Matrix& to, const ScalesOut& scales) {
  const Op op = spec.k == KDimension::cols ? Op::none : Op::transpose;
  QuantizeArguments q;
  q.from = from.data;
  q.to = static_cast<std::uint8_t*>(to.data);
  q.from_at = strides_of(from, op);
  q.to_at = strides_of(to, op);
  q.type = from.dtype;
  q.lines = op == Op::none ? from.rows : from.cols;
  q.k = op == Op::none ? from.cols : from.rows;
  q.per = spec.per;
  q.leaf_k = spec.leaf_k;
  q.scales = scales;
  if (q.scales.blocks <= 1) q.scales.stride = 0;
  if (q.scales.leaves <= 1) q.scales.leaf_stride = 0;
  return q;
}

/// One block: the numbers of `per` lines and one leaf, and their scale.
///
///          <-- leaf_k -->
///   line 0 x x x x x x x x      amax over all of them, in any order; then the scale,
///   line 1 x x x x x x x x      then each number by itself
DETGEMM_HD void quantize_block(const QuantizeArguments& q, std::int64_t block, std::int64_t leaf) {
  using arithmetic::div_rn;
  using arithmetic::mul_rn;
  const std::int64_t begin = leaf * q.leaf_k;
  const std::int64_t end = q.k - begin < q.leaf_k ? q.k : begin + q.leaf_k;
  const std::int64_t first = block * q.per;
  const std::int64_t last = q.lines - first < q.per ? q.lines : first + q.per;
  const auto load = [&](std::int64_t i, std::int64_t k) {
    return load_as_float(q.from, i * q.from_at.row + k * q.from_at.col, q.type);
  };
  std::uint32_t amax = 0;
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t k = begin; k < end; ++k) amax = larger_magnitude(amax, load(i, k));
  }
  const float s = scale_of_block(amax, q.scales.type);
  const float inverse = div_rn(1.0F, s);
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t k = begin; k < end; ++k) {
      q.to[i * q.to_at.row + k * q.to_at.col] = e4m3_of(mul_rn(load(i, k), inverse));
    }
  }
  const std::int64_t at = block * q.scales.stride + leaf * q.scales.leaf_stride;
  if (q.scales.type == ScaleType::e8m0) {
    static_cast<std::uint8_t*>(q.scales.data)[at] =
        static_cast<std::uint8_t>(arithmetic::bits_of(s) >> 23);
  } else {
    static_cast<float*>(q.scales.data)[at] = s;
  }
}

}  // namespace detgemm
