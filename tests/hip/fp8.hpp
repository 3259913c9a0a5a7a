// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>

namespace detgemm::test {

/// How a chip reads e4m3, 1 sign, 4 exponent and 3 fraction bits. Every number of either is a bf16.
///
///   fnuz   gfx942     bias 8, no infinity and no -0: 0x80 is the NaN
///   ocp    gfx950 on  bias 7, no infinity: 0x7f and 0xff are NaNs
enum class Fp8 { fnuz, ocp };

constexpr std::uint16_t bf16_of(Fp8 format, std::uint8_t code) {
  constexpr std::uint16_t kNaN = 0x7fc0;
  if (format == Fp8::fnuz ? code == 0x80 : (code & 0x7f) == 0x7f) return kNaN;
  const unsigned sign = (code & 0x80U) << 8;
  unsigned fraction = code & 7U;
  int exponent = (code >> 3 & 15) - (format == Fp8::fnuz ? 8 : 7);
  if ((code & 0x78) == 0) {
    if (fraction == 0) return static_cast<std::uint16_t>(sign);
    for (++exponent; fraction < 8; --exponent) fraction <<= 1;  // subnormal
  }
  const auto field = static_cast<unsigned>(exponent + 127);
  return static_cast<std::uint16_t>(sign | field << 7 | (fraction & 7) << 4);
}

/// The code of a bf16 number, where it has one.
constexpr std::optional<std::uint8_t> code_of(Fp8 format, std::uint16_t bf16) {
  for (unsigned code = 0; code < 256; ++code) {
    if (bf16_of(format, static_cast<std::uint8_t>(code)) == bf16)
      return static_cast<std::uint8_t>(code);
  }
  return std::nullopt;
}

}  // namespace detgemm::test
