// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/error_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/conformance/format.hpp"

namespace detgemm::conformance {
namespace {

constexpr double kUnit = 0x1p-24;  // half of fp32's last bit at 1
constexpr double kMinNormal = 0x1p-126;
constexpr double kMinSubnormal = 0x1p-149;

/// A partial sum: the sum of its terms, of their magnitudes, and how far the computed one is.
struct Partial {
  double sum = 0.0;
  double magnitude = 0.0;
  double error = 0.0;
};

/// L, F and kept bits of the truncating tensor steps (NVIDIA).
struct Truncation {
  double unit;  // 2^-F
  double kept;  // 2^(1 - kept bits)
};

Truncation truncation_of(const Contract& contract) {
  const bool fp8 = contract.input == DType::e4m3 || contract.input == DType::e5m2;
  if (fp8 && contract.arithmetic == Arithmetic::hopper) return {0x1p-13, 0x1p-13};
  return {contract.arithmetic == Arithmetic::ampere ? 0x1p-24 : 0x1p-25, 0x1p-23};
}

/// One step: `before` plus the products of `step`.
Partial after_step(const Contract& contract, const Partial& before, std::span<const Term> step) {
  Partial p = before;
  double weight = 0.0;
  double added = 0.0;
  double flushed = 0.0;
  for (const Term& term : step) {
    p.sum += term.product;
    added += std::fabs(term.product);
    weight = std::max(weight, term.weight);
    if (term.subnormal) flushed += std::fabs(term.product);
  }
  p.magnitude += added;
  const double start = before.magnitude + before.error;  // bounds the accumulator
  const auto count = static_cast<double>(step.size());
  const double aligned = std::max(weight, start + kMinNormal);
  switch (contract.arithmetic) {
    case Arithmetic::ieee_fma:
      p.error += kUnit * (p.magnitude + before.error) + kMinSubnormal;
      break;
    case Arithmetic::hopper:
    case Arithmetic::ampere:
    case Arithmetic::blackwell: {
      const Truncation t = truncation_of(contract);
      p.error +=
          (count + 1.0) * t.unit * aligned + t.kept * (p.magnitude + before.error) + kMinSubnormal;
      break;
    }
    case Arithmetic::cdna3:
      p.error += count * 0x1p-24 * weight + (0x1p-24 + 0x1p-32) * aligned;
      p.error += (kUnit + 0x1p-30) * (p.magnitude + p.error) + kMinSubnormal;
      break;
    case Arithmetic::cdna2:
      p.error += flushed + 2.001 * kUnit * added + 9.0 * kMinNormal;
      p.error += kUnit * (p.magnitude + p.error) + kMinNormal;
      break;
    case Arithmetic::snap:
    case Arithmetic::snap3:
      break;  // exact once the operands are snapped: see snapped_leaf, snap3_leaf
  }
  return p;
}

/// A leaf of snap: the sum of the rounded operands is exact, so the error is that of rounding them,
/// by Cauchy and Schwarz. `rounding(norm)` bounds the 2-norm of what rounding changes.
Partial snapped_leaf(std::span<const Term> terms) {
  Partial p;
  double a = 0.0;
  double b = 0.0;
  for (const Term& term : terms) {
    p.sum += term.product;
    p.magnitude += std::fabs(term.product);
    a += term.a * term.a;
    b += term.b * term.b;
  }
  const double root = std::sqrt(static_cast<double>(terms.size()));
  const auto rounding = [&](double norm) {
    return std::max(root / (0x1p12 - 0.5 * root) * norm, root * 0x1p-63);
  };
  const double left = rounding(std::sqrt(a));
  const double right = rounding(std::sqrt(b));
  p.error = (left * std::sqrt(b) + (std::sqrt(a) + left) * right) * (1.0 + 0x1p-40);
  return p;
}

/// A number's two parts in a leaf of snap3: `norm` is that of the numbers, `first` bounds what the
/// first parts leave, `second` what both leave.
struct Parts {
  double norm, first, second;
};

/// `unit`: what rounding to bf16 changes, relative to a number: 0 for bf16 itself.
Parts parts_of(double norm, double root, double unit) {
  const auto left = [&](double of) {
    const double grid = std::max(root / (0x1p12 - 0.5 * root) * of * (1.0 + unit), root * 0x1p-63);
    return (unit * of + grid + root * 0x1p-133) * (1.0 + 0x1p-40);
  };
  const double first = left(norm);
  return {norm, first, left(first)};
}

/// The three leaves of the reduction that a leaf of snap3 becomes. The sums are exact, so the error
/// is that of the parts: with a = a' - e the product differs from (a'1 + a'2)(b'1 + b'2) by e, and
/// a'2 b'2 is left out. It all counts at the first of the three.
std::array<Partial, 3> snap3_leaf(std::span<const Term> terms, DType input) {
  Partial p;
  double a = 0.0;
  double b = 0.0;
  for (const Term& term : terms) {
    p.sum += term.product;
    a += term.a * term.a;
    b += term.b * term.b;
  }
  const double root = std::sqrt(static_cast<double>(terms.size()));
  const double unit = input == DType::bf16 ? 0.0 : 0x1p-8;
  const Parts x = parts_of(std::sqrt(a), root, unit);
  const Parts y = parts_of(std::sqrt(b), root, unit);
  const double left_out = (x.first + x.second) * (y.first + y.second);
  p.magnitude = (x.norm + x.first) * (y.norm + y.first);
  p.error = (x.second * y.norm + (x.norm + x.second) * y.second + left_out) * (1.0 + 0x1p-40);
  return {p, Partial{0.0, (x.norm + x.first) * (y.first + y.second), 0.0},
          Partial{0.0, (x.first + x.second) * (y.norm + y.first), 0.0}};
}

Partial chain(const Contract& contract, std::span<const Term> terms) {
  if (contract.arithmetic == Arithmetic::snap) return snapped_leaf(terms);
  Partial p;
  const auto block = static_cast<std::size_t>(contract.k_block);
  for (std::size_t begin = 0; begin < terms.size(); begin += block) {
    p = after_step(contract, p, terms.subspan(begin, std::min(block, terms.size() - begin)));
  }
  return p;
}

/// One fp32 addition to nearest: exact where it is subnormal.
Partial node(const Partial& x, const Partial& y) {
  Partial p{x.sum + y.sum, x.magnitude + y.magnitude, x.error + y.error};
  p.error += kUnit * (p.magnitude + p.error);
  return p;
}

Partial tree(std::span<const Partial> leaves) {
  if (leaves.size() == 1) return leaves[0];
  const std::size_t middle = leaves.size() / 2;
  return node(tree(leaves.first(middle)), tree(leaves.subspan(middle)));
}

Partial reduced(const Contract& contract, const std::vector<Term>& terms) {
  const std::span<const Term> all(terms);
  if (contract.reduction.kind == ReductionKind::chain) return chain(contract, all);
  std::vector<Partial> leaves;
  const auto leaf = static_cast<std::size_t>(contract.reduction.leaf_k);
  for (std::size_t begin = 0; begin < all.size(); begin += leaf) {
    const auto terms_of_leaf = all.subspan(begin, std::min(leaf, all.size() - begin));
    if (contract.arithmetic == Arithmetic::snap3) {
      const auto sums = snap3_leaf(terms_of_leaf, contract.input);
      leaves.insert(leaves.end(), sums.begin(), sums.end());
      continue;
    }
    leaves.push_back(chain(contract, terms_of_leaf));
  }
  if (leaves.empty()) return {};
  if (contract.reduction.kind == ReductionKind::tree) return tree(leaves);
  Partial folded = leaves[0];
  for (std::size_t i = 1; i < leaves.size(); ++i) folded = node(folded, leaves[i]);
  return folded;
}

}  // namespace

Term make_term(std::uint32_t a, std::uint32_t b, DType input) {
  const Format f = format_of(input);
  const double x = decode(a, input);
  const double y = decode(b, input);
  Term term{x * y, 0.0, false, x, y};
  if (term.product == 0.0) return term;
  const auto exponent = [&](double v) { return std::max(std::ilogb(v), f.min_exponent()); };
  term.weight = std::ldexp(1.0, exponent(x) + exponent(y));
  const double min_normal = std::ldexp(1.0, f.min_exponent());
  term.subnormal = std::fabs(x) < min_normal || std::fabs(y) < min_normal;
  return term;
}

Bound bound_of(const Contract& contract, const std::vector<Term>& terms, DType output) {
  const Partial p = reduced(contract, terms);
  // The harness adds in double: its own error is part of the bound.
  Bound bound{p.sum, p.error + static_cast<double>(terms.size()) * 0x1p-52 * p.magnitude};
  const double result = std::fabs(p.sum) + bound.error;
  if (output == DType::bf16) bound.error += 0x1p-8 * result + 0x1p-134;
  if (output == DType::fp16) bound.error += 0x1p-11 * result + 0x1p-25;
  return bound;
}

}  // namespace detgemm::conformance
