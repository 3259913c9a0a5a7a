// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <bit>
#include <cstdint>

namespace detgemm {

/// The bf16 number (its 16 bits) nearest to an fp32 number, ties to the even one, as a contract
/// rounds to bf16 output: numbers beyond the range become Inf, subnormals are kept, and every NaN
/// becomes 0x7fff.
constexpr std::uint16_t bf16_from_float(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// The fp32 number that a bf16 number is: exact, and a NaN keeps its payload.
constexpr float float_from_bf16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detgemm
