// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "detgemm/types.hpp"

/// Arithmetics that a matrix core could have: those with a name, and a family of steps as data, in
/// which identify looks for what a chip computes and which the interpreter can be told to compute.
/// Operands are bf16, of which fp8 numbers are a part; results are +0 for every zero and the
/// canonical NaN.
namespace detgemm::test {

/// A step that aligns terms to the largest exponent E, cuts them there, adds exactly and rounds.
///
///   one stage     products and accumulator  -> multiples of 2^(E - fraction) -> sum -> fp32
///   two stages    products, by themselves   -> 24 bits, truncated -> dot product
///                 dot product -> 2^(E - fraction), accumulator -> 2^(E - 24) -> sum -> fp32
///   apart         two dot products, of even and of odd k, each by itself; their sum -> 24 bits
struct StepFamily {
  enum class Cut { floor, truncate, nearest };
  int products = 8;  ///< L: added in one step
  int stages = 2;
  int fraction = 32;
  Cut cut = Cut::floor;
  /// Fraction bits to which the sum is floored before it is rounded; 0: none is lost.
  int kept = 31;
  bool nearest = true;   ///< the last rounding is to nearest even; otherwise toward zero
  bool flushes = false;  ///< subnormal operands, accumulators and results count as zero
  bool apart = false;    ///< two dot products, see above; of two stages alone
  int far = 0;           ///< accumulators more than so many bits below E count as zero; 0: none

  bool operator==(const StepFamily&) const = default;
};
/// For example "L 8, 2 stages, F 32, floor, 31 kept, nearest".
std::string text(const StepFamily& family);

/// The two published models of gfx942's matrix core. They differ where the sum of a step lies near
/// a tie: the later one keeps a bit more of the dot product and drops it where the sum has passed a
/// power of two.
inline constexpr StepFamily kCdna3{};
inline constexpr StepFamily kCdna3OneFloor{.fraction = 31, .kept = 0};
/// The published model of its fp8.
inline constexpr StepFamily kCdna3Fp8{
    .products = 16, .fraction = 31, .kept = 0, .apart = true, .far = 25};

/// acc + sum of a[i] * b[i], i < count, in steps of `products`; the last one is filled with zeros.
float apply(const StepFamily& family, const std::uint16_t* a, const std::uint16_t* b, int count,
            float acc);

/// An arithmetic with a name or of the family.
struct StepModel {
  std::string name;
  float (*named)(const std::uint16_t*, const std::uint16_t*, int, float) = nullptr;
  StepFamily family{};

  float compute(const std::uint16_t* a, const std::uint16_t* b, int count, float acc) const {
    return named != nullptr ? named(a, b, count, acc) : apply(family, a, b, count, acc);
  }
};

/// cdna3 and cdna2 first, then what other units compute.
const std::vector<StepModel>& named_models();
/// Every member of the family for an instruction with `count` products of `input`: those with dot
/// products apart for fp8 alone.
std::vector<StepModel> family_models(int count, DType input = DType::bf16);
/// The model with a name of named_models, or of a member of the family as `text` writes it.
std::optional<StepModel> find_model(std::string_view name);

}  // namespace detgemm::test
