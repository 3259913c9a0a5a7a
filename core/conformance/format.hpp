// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "detgemm/types.hpp"

namespace detgemm::conformance {

/// The harness's own reading of the element formats, separate from the library's on purpose: where
/// the two disagree, a property fails.
struct Format {
  int exponent_bits;
  int fraction_bits;
  bool has_inf;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int min_exponent() const { return 1 - bias(); }
  std::uint32_t sign_bit() const { return 1U << (exponent_bits + fraction_bits); }
  /// The positive Inf, or for e4m3 the NaN that follows the largest number.
  std::uint32_t beyond_max() const {
    const std::uint32_t top = ((1U << exponent_bits) - 1U) << fraction_bits;
    return has_inf ? top : top + (1U << fraction_bits) - 1U;
  }
  std::uint32_t max() const { return beyond_max() - 1; }
};

/// tf32 is read as fp32 here; `decode` drops its low 13 bits. Inline, since data are drawn by it.
constexpr Format format_of(DType type) {
  switch (type) {
    case DType::bf16:
      return {8, 7, true};
    case DType::fp16:
      return {5, 10, true};
    case DType::e4m3:
      return {4, 3, false};
    case DType::e5m2:
      return {5, 2, true};
    case DType::fp32:
    case DType::tf32:
      break;
  }
  return {8, 23, true};
}

/// What memory holds: fp32 for tf32.
constexpr DType stored_type(DType input) { return input == DType::tf32 ? DType::fp32 : input; }

/// The exact value of an element.
double decode(std::uint32_t bits, DType type);
/// The nearest element, ties to even, overflow to Inf; e4m3 saturates at its largest number.
std::uint32_t encode(double value, DType type);
/// 0x7fff or 0x7fffffff: the only NaN an output may hold.
std::uint32_t canonical_nan(DType output);
/// A NaN of an input format.
std::uint32_t some_nan(DType input);
bool is_finite_nonzero(std::uint32_t bits, DType type);

/// A number with so many significant digits, as printf's %g has it.
std::string decimal(double value, int digits = 6);
/// For example "0x3f80 (1)".
std::string show(std::uint32_t bits, DType type);

}  // namespace detgemm::conformance
