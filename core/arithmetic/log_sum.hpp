// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/formats.hpp"
#include "core/arithmetic/host_device.hpp"

namespace detgemm::arithmetic {

// The sum of exponentials of `logsum16` (core/contract/CONTRACT.md, section 8), one definition for
// host and devices. e^x is f 2^n with an integer n, and a node carries its own power of two, so
// that no maximum has to be known first and rescaling is exact:
//
//   columns  0 1   8 9   2 3  10 11   4 5  12 13   6 7  14 15     one leaf
//            \ /   \ /   \ /   \ /    \ /   \ /    \ /   \ /      bit 0
//              \   /       \   /        \   /        \   /        bit 3
//                \___________/            \___________/           bit 1
//                      \________________________/                 bit 2
//                                  leaf i
//   leaves   2i and 2i + 1 join, then pairs of pairs: an aligned binary tree over the vocabulary

inline constexpr int kLogLeaf = 16;                       ///< columns of a leaf
inline constexpr std::int32_t kLogSpecial = 1 << 20;      ///< n of NaN and +Inf
inline constexpr std::int32_t kLogAbsent = -kLogSpecial;  ///< n of a column that adds nothing
inline constexpr float kLogLimit = 65536.0F;              ///< beyond it x counts as infinite

/// What a column adds: e^x = f 2^n, and g = f x for the entropy.
struct LogTerm {
  std::int32_t n;
  float f, g;
};

/// A node of the tree: s 2^k is the sum of e^x over its columns, a 2^k that of x e^x.
struct LogNode {
  std::int32_t k;
  float s, a;
};

/// The node that changes nothing: -0 is the neutral number of addition.
DETGEMM_HD LogNode absent_node() { return {kLogAbsent, 0.0F, -0.0F}; }

namespace log_detail {

// By masks, so that loops over columns become vectors.
DETGEMM_HD std::uint32_t pick(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}
DETGEMM_HD float pick(bool condition, float yes, float no) {
  return float_of(pick(condition, bits_of(yes), bits_of(no)));
}
DETGEMM_HD std::int32_t pick_int(bool condition, std::int32_t yes, std::int32_t no) {
  return static_cast<std::int32_t>(
      pick(condition, static_cast<std::uint32_t>(yes), static_cast<std::uint32_t>(no)));
}

}  // namespace log_detail

/// The exponential with an integer exponent. Precondition: |x| <= kLogLimit.
DETGEMM_HD LogTerm log_exponential(float x) {
  // 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
  const float shifted = fma_rn(x, 0x1.715476p+0F /* log2 e */, 0x1.8p+23F);
  const float n = add_rn(shifted, -0x1.8p+23F);
  const auto integer = static_cast<std::int32_t>(bits_of(shifted) - 0x4b400000U);
  const float r = fma_rn(n, -0x1.7f7d1cp-20F, fma_rn(n, -0x1.62e4p-1F, x));
  float p = 0x1.6a4154p-10F;
  p = fma_rn(p, r, 0x1.1239c8p-7F);
  p = fma_rn(p, r, 0x1.5558bcp-5F);
  p = fma_rn(p, r, 0x1.555492p-3F);
  p = fma_rn(p, r, 0x1.fffffcp-2F);
  const float f = add_rn(1.0F, fma_rn(mul_rn(r, r), p, r));
  return {integer, f, mul_rn(f, x)};
}

/// Whether a logit adds nothing: -Inf, and what is below -65536.
DETGEMM_HD bool is_absent(float x) {
  const std::uint32_t bits = bits_of(x);
  return bits > (0x80000000U | 0x47800000U) && bits <= (0x80000000U | kInfBits);
}

/// What any logit adds.
DETGEMM_HD LogTerm log_term(float x) {
  using log_detail::pick;
  using log_detail::pick_int;
  const std::uint32_t magnitude = bits_of(x) & 0x7fffffffU;
  const bool ordinary = magnitude <= bits_of(kLogLimit);
  const bool absent = is_absent(x);
  const LogTerm e = log_exponential(pick(ordinary, x, 0.0F));
  const float infinite = float_of(pick(magnitude > kInfBits, kNaNBits, kInfBits));
  return {pick_int(ordinary, e.n, pick_int(absent, kLogAbsent, kLogSpecial)),
          pick(ordinary, e.f, pick(absent, 0.0F, infinite)),
          pick(ordinary, e.g, pick(absent, -0.0F, float_of(kNaNBits)))};
}

/// 2^d for d <= 0; +0 below 2^-126.
DETGEMM_HD float power_below(std::int32_t d) {
  const auto field = static_cast<std::uint32_t>(d + 127) << 23;
  return float_of(log_detail::pick(d >= -126, field, 0U));
}

/// A leaf's 16 terms added in pairs that differ in bit 0 of the column, then bit 3, bit 1, bit 2.
DETGEMM_HD float add_leaf(const float (&t)[kLogLeaf]) {
  float p[8];
  for (int i = 0; i < 8; ++i) p[i] = add_rn(t[2 * i], t[2 * i + 1]);
  float q[4];
  for (int i = 0; i < 4; ++i) q[i] = add_rn(p[i], p[i + 4]);
  return add_rn(add_rn(q[0], q[1]), add_rn(q[2], q[3]));
}

/// The node of 16 columns. Without kEntropy its a is -0.
template <bool kEntropy>
DETGEMM_HD LogNode log_leaf(const float (&x)[kLogLeaf]) {
  std::int32_t n[kLogLeaf];
  float f[kLogLeaf], g[kLogLeaf];
  for (int i = 0; i < kLogLeaf; ++i) {
    const LogTerm term = log_term(x[i]);
    n[i] = term.n;
    f[i] = term.f;
    g[i] = term.g;
  }
  std::int32_t k = kLogAbsent;
  for (int i = 0; i < kLogLeaf; ++i) k = n[i] > k ? n[i] : k;
  for (int i = 0; i < kLogLeaf; ++i) {
    const float power = power_below(n[i] - k);
    f[i] = mul_rn(f[i], power);
    g[i] = mul_rn(g[i], power);
  }
  return {k, canonical(add_leaf(f)), kEntropy ? canonical(add_leaf(g)) : -0.0F};
}

/// The node above two neighbours.
DETGEMM_HD LogNode log_join(const LogNode& left, const LogNode& right) {
  const std::int32_t k = left.k > right.k ? left.k : right.k;
  const float l = power_below(left.k - k);
  const float r = power_below(right.k - k);
  return {k, canonical(add_rn(mul_rn(left.s, l), mul_rn(right.s, r))),
          canonical(add_rn(mul_rn(left.a, l), mul_rn(right.a, r)))};
}

/// ln(q 2^n) for a normal q > 0, the logarithm of docs/python-orders.md: nothing is fused.
DETGEMM_HD float log_scaled(float q, std::int32_t n) {
  const std::uint32_t bits = bits_of(q);
  const std::uint32_t fraction = bits & 0x7fffffU;
  const bool above = (fraction | 0x3f800000U) > 0x3fb504f3U;  // sqrt(2)
  const float whole = static_cast<float>(static_cast<std::int32_t>(bits >> 23) - 127 + n +
                                         static_cast<std::int32_t>(above));
  const float f = add_rn(float_of(fraction | (above ? 0x3f000000U : 0x3f800000U)), -1.0F);
  float p = 0x1.646558p-4F;
  p = add_rn(mul_rn(p, f), -0x1.243bc6p-3F);
  p = add_rn(mul_rn(p, f), 0x1.317752p-3F);
  p = add_rn(mul_rn(p, f), -0x1.53815cp-3F);
  p = add_rn(mul_rn(p, f), 0x1.98d796p-3F);
  p = add_rn(mul_rn(p, f), -0x1.000384p-2F);
  p = add_rn(mul_rn(p, f), 0x1.5556dap-2F);
  const float square = mul_rn(f, f);
  const float cubic = add_rn(mul_rn(mul_rn(f, square), p), -mul_rn(square, 0.5F));
  const float low = add_rn(mul_rn(whole, 0x1.7f7d1cp-20F), add_rn(cubic, f));
  return add_rn(low, mul_rn(whole, 0x1.62e4p-1F));
}

/// Whether a row has a finite log-sum-exp.
DETGEMM_HD bool is_ordinary(const LogNode& root) {
  return root.k != kLogSpecial && root.k != kLogAbsent;
}

/// ln of the sum of e^x: NaN, +Inf, or -Inf where no column is left.
DETGEMM_HD float log_sum_exp(const LogNode& root) {
  if (root.k == kLogSpecial) return canonical(root.s);
  if (root.k == kLogAbsent) return float_of(0x80000000U | kInfBits);
  return log_scaled(root.s, root.k);
}

/// Its entropy, with lse = log_sum_exp(root); NaN unless lse is finite.
DETGEMM_HD float log_entropy(const LogNode& root, float lse) {
  if (!is_ordinary(root)) return float_of(kNaNBits);
  return add_rn(lse, -div_rn(root.a, root.s));
}

/// ln of e^x / sum for one x of the row's columns. Never above 0.
DETGEMM_HD float log_probability(const LogNode& root, float lse, float x) {
  if (!is_ordinary(root) || x != x) return float_of(kNaNBits);
  if (is_absent(x)) return add_rn(x, -lse);  // -Inf stays
  const LogTerm e = log_exponential(x);
  return add_rn(0.0F, -log_scaled(div_rn(root.s, e.f), root.k - e.n));
}

/// What the gradient of a row's logits needs.
struct LogGradient {
  std::int32_t k = 0;                    ///< the root's
  float inverse = 0.0F;                  ///< 1 / S
  float lse = 0.0F, entropy = 0.0F;      ///< read where has_entropy
  float d_logp = 0.0F;                   ///< upstream gradients
  float d_lse = 0.0F, d_entropy = 0.0F;  ///< read where the flag is set
  bool has_lse = false, has_entropy = false;
  float scale = 1.0F, alpha = 1.0F;  ///< x = scale * (alpha * product + bias)
  bool ignored = false;
};

/// 1 / S of a root; +0 where the row is special.
DETGEMM_HD float log_inverse(const LogNode& root) {
  return is_ordinary(root) ? div_rn(1.0F, root.s) : 0.0F;
}

/// e^x / sum: an exact power of two times f / S, and +0 below 2^-126.
DETGEMM_HD float probability(const LogTerm& e, std::int32_t k, float inverse) {
  const float q = mul_rn(e.f, inverse);
  const std::int32_t field = static_cast<std::int32_t>(bits_of(q) >> 23) + (e.n - k);
  const std::uint32_t moved = bits_of(q) + (static_cast<std::uint32_t>(e.n - k) << 23);
  return float_of(log_detail::pick(field >= 1, moved, 0U));
}

/// The bf16 gradient of one logit of the product, from x after the scale.
DETGEMM_HD std::uint16_t log_gradient(const LogGradient& row, float x, bool is_target) {
  if (row.ignored || is_absent(x)) return 0;
  if (row.k == kLogSpecial) return 0x7fff;
  const float p = probability(log_exponential(x), row.k, row.inverse);
  float g = mul_rn(row.d_logp, add_rn(is_target ? 1.0F : 0.0F, -p));
  if (row.has_lse) g = add_rn(g, mul_rn(row.d_lse, p));
  if (row.has_entropy) {
    const float surprise = add_rn(add_rn(x, -row.lse), row.entropy);
    g = add_rn(g, -mul_rn(row.d_entropy, mul_rn(p, surprise)));
  }
  const std::uint16_t rounded = to_bf16(mul_rn(mul_rn(g, row.scale), row.alpha));
  return (rounded & 0x7fffU) == 0 ? std::uint16_t{0} : rounded;
}

}  // namespace detgemm::arithmetic
