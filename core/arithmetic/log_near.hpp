// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/log_sum.hpp"

namespace detgemm::arithmetic {

// Nodes of `logsum16` without a reference: e^x is f 2^n as one fp32 number, and sums are plain.
//
//   contract   leaf: scale by its largest n, add 16;  join: scale to the larger k, add
//   near       add along the same tree;               at the end: k = the largest n, s = sum 2^-k
//
// The lemma of CONTRACT.md, section 8.3, says when the bits are the same: s 2^k is what the
// additions give with unlimited exponents, and for |x| <= kLogNear no partial sum of up to 2^26
// columns leaves the normal numbers (|n| <= 93). For a the contract's own text counts, which has
// unlimited exponents as long as nothing scaled falls below 2^-149. With |x| <= kLogNearWeighted,
// |n| <= 58. f x is a multiple of 2^-64 where n = 0 and |x| >= 2^-40, and else of 2^-26; so f x 2^n
// is a multiple of 2^-84, as are all sums of such numbers, and of 2^-142 after division by 2^k.

inline constexpr float kLogNear = 64.0F;          ///< |x| for sums of e^x
inline constexpr float kLogNearWeighted = 40.0F;  ///< |x| where x e^x is summed too,
inline constexpr float kLogNearLeast = 0x1p-40F;  ///< and its lower limit

/// e^x of a near x.
DETGEMM_HD float near_exponential(float x) {
  const LogTerm e = log_exponential(x);
  return float_of(bits_of(e.f) + (static_cast<std::uint32_t>(e.n) << 23));
}

/// Whether all columns between the extremes of a row are near. `least`: of their absolute values,
/// read where x e^x is summed. False for NaN.
template <bool kEntropy>
DETGEMM_HD bool is_near(float lowest, float highest, float least) {
  const float limit = kEntropy ? kLogNearWeighted : kLogNear;
  return lowest >= -limit && highest <= limit && (!kEntropy || least >= kLogNearLeast);
}

/// The node of near columns, from their plain sums and the largest x.
DETGEMM_HD LogNode near_node(float highest, float sum, float weighted) {
  const std::int32_t k = log_exponential(highest).n;
  const float power = float_of(static_cast<std::uint32_t>(127 - k) << 23);
  return {k, mul_rn(sum, power), mul_rn(weighted, power)};
}

}  // namespace detgemm::arithmetic
