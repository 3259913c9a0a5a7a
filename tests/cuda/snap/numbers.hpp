// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/arithmetic/formats.hpp"
#include "core/arithmetic/snap.hpp"
#include "tests/support/random_bits.hpp"

namespace detgemm::test {

/// A multiple of 2^t of at most 8 bits, as a bf16 number.
inline std::uint16_t units_as_bf16(int units, int t) {
  return static_cast<std::uint16_t>(arithmetic::bits_of(std::ldexp(static_cast<float>(units), t)) >>
                                    16);
}

/// Numbers made to find faults: any bits, windows of exponents, equal numbers, one that outweighs
/// the others, the ends of the range of grids, Inf and NaN in between.
inline std::vector<std::uint16_t> draw_leaf(Random& random, std::int64_t count) {
  std::vector<std::uint16_t> leaf(static_cast<std::size_t>(count));
  const auto kind = random.below(9);
  const auto low = random.below(250), width = 1 + random.below(12);
  const auto any = [&] { return static_cast<std::uint16_t>(random.next()); };
  const auto window = [&](std::int64_t from, std::int64_t wide) {
    const std::int64_t field = std::min<std::int64_t>(254, from + random.below(wide));
    return static_cast<std::uint16_t>((any() & 0x807fU) | field << 7);
  };
  const std::uint16_t same = window(low, width);
  for (std::uint16_t& bits : leaf) {
    switch (kind) {
      case 0:
        bits = any();
        break;
      case 1:
        bits = window(low, width);
        break;
      case 2:
        bits = same;
        break;
      case 3:
        bits = random.below(count) == 0 ? window(std::min<std::int64_t>(low + 12, 250), 4)
                                        : window(low, 2);
        break;
      case 4:  // about the least grid: 2^-62 * 2^8
        bits = window(127 - 62 + random.below(2) * 4, 10);
        break;
      case 5:  // about the largest grid: 2^51 * 2^8
        bits = window(127 + 51 + 6, 7);
        break;
      case 6:
        bits = random.below(40) == 0 ? static_cast<std::uint16_t>(0x7f80U | (any() & 0x80ffU))
                                     : window(low, width);
        break;
      case 7:
        bits = random.below(3) == 0 ? static_cast<std::uint16_t>(any() & 0x8000U) : window(0, 3);
        break;
      default:
        bits = random.below(4) == 0 ? window(low, 20) : static_cast<std::uint16_t>(any() & 0x8000U);
    }
  }
  return leaf;
}

}  // namespace detgemm::test
