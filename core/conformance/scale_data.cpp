// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/scale_data.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::uint32_t kOne = 0x3f800000U;

/// A scale as it is stored.
std::uint32_t draw_one(Random& random, ScaleValues values, ScaleType type) {
  const bool bytes = type == ScaleType::e8m0;
  if (values == ScaleValues::ones) return bytes ? 127U : kOne;
  if (values == ScaleValues::bits && random.one_in(6)) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    constexpr std::uint32_t special[]{0U, 0x80000000U, 1U, 0x7f800000U, 0xff800000U, 0x7fc00001U};
    constexpr std::uint32_t edges[]{0U, 1U, 254U, 255U};
    if (bytes) return random.one_in(2) ? edges[bits & 3U] : bits & 255U;
    return random.one_in(2) ? special[bits % 6] : bits;
  }
  const auto exponent = static_cast<std::uint32_t>(random.between(120, 134));
  if (bytes) return exponent;
  const auto bits = static_cast<std::uint32_t>(random.next());
  return (bits & 0x807fffffU) | exponent << 23;
}

}  // namespace

ScaleArray draw_scales(Random& random, ScaleValues values, std::int64_t lines, std::int64_t leaves,
                       ScaleType type, std::int64_t per) {
  ScaleArray array;
  array.type = type;
  array.per = per;
  const DType stored = type == ScaleType::e8m0 ? DType::e4m3 : DType::fp32;
  array.values = Elements(stored, (lines + per - 1) / per, leaves);
  for (std::int64_t i = 0; i < array.values.rows; ++i) {
    for (std::int64_t j = 0; j < leaves; ++j)
      array.values.set(i, j, draw_one(random, values, type));
  }
  array.layout.col_major = random.one_in(2);
  array.layout.ld_padding = random.between(0, 3);
  array.layout.at_front = random.one_in(2);
  return array;
}

ScaleArray draw_scales(Random& random, ScaleValues values, std::int64_t lines,
                       std::int64_t leaves) {
  const ScaleType type = random.one_in(3) ? ScaleType::e8m0 : ScaleType::fp32;
  return draw_scales(random, values, lines, leaves, type, random.one_in(3) ? 128 : 1);
}

}  // namespace detgemm::conformance
