// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/format.hpp"

#include <cmath>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>

namespace detgemm::conformance {

double decode(std::uint32_t bits, DType type) {
  const Format f = format_of(type);
  if (type == DType::tf32) bits &= 0xffffe000U;
  const std::uint32_t magnitude = bits & (f.sign_bit() - 1U);
  const double sign = (bits & f.sign_bit()) != 0 ? -1.0 : 1.0;
  if (magnitude > f.beyond_max() || (!f.has_inf && magnitude == f.beyond_max())) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (magnitude == f.beyond_max()) return sign * std::numeric_limits<double>::infinity();
  const std::uint32_t fraction = magnitude & ((1U << f.fraction_bits) - 1U);
  const int field = static_cast<int>(magnitude >> f.fraction_bits);
  const std::uint32_t significand = fraction | (field != 0 ? 1U << f.fraction_bits : 0U);
  const int exponent = (field != 0 ? field : 1) - f.bias();
  return sign * std::ldexp(static_cast<double>(significand), exponent - f.fraction_bits);
}

std::uint32_t encode(double value, DType type) {
  const Format f = format_of(type);
  if (std::isnan(value)) return some_nan(type);
  const std::uint32_t sign = std::signbit(value) ? f.sign_bit() : 0U;
  const double magnitude = std::fabs(value);
  const std::uint32_t overflow = f.has_inf ? f.beyond_max() : f.max();
  if (std::isinf(magnitude)) return sign | overflow;
  if (magnitude == 0.0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), f.min_exponent());
  if (exponent > f.bias() + 1) return sign | overflow;
  const double units = std::nearbyint(std::ldexp(magnitude, f.fraction_bits - exponent));
  // A normal number's hidden bit adds 1 to the exponent field; so does rounding up to 2^(e+1).
  const std::uint32_t bits =
      (static_cast<std::uint32_t>(exponent + f.bias() - 1) << f.fraction_bits) +
      static_cast<std::uint32_t>(units);
  return sign | (bits >= f.beyond_max() ? overflow : bits);
}

std::uint32_t canonical_nan(DType output) { return output == DType::fp32 ? 0x7fffffffU : 0x7fffU; }

std::uint32_t some_nan(DType input) { return format_of(input).sign_bit() - 1U; }

bool is_finite_nonzero(std::uint32_t bits, DType type) {
  const Format f = format_of(type);
  const std::uint32_t magnitude = bits & (f.sign_bit() - 1U);
  return magnitude != 0 && magnitude < f.beyond_max();
}

std::string decimal(double value, int digits) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(digits) << value;
  return text.str();
}

std::string show(std::uint32_t bits, DType type) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "0x" << std::hex << std::setfill('0') << std::setw(static_cast<int>(2 * size_of(type)))
       << bits << " (" << decimal(decode(bits, type), 9) << ")";
  return text.str();
}

}  // namespace detgemm::conformance
