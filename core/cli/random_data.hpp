// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>

#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm::cli {

/// What random data looks like. Half of them change the operands differently, so that their
/// products, not only their elements, are of the kind named.
enum class Distribution : std::int32_t {
  normal,     ///< bell-shaped, variance 1, within +-4.9
  wide,       ///< normal times 2^e: e in [-30, 30), or [-6, 6) for fp16, e4m3 and e5m2
  bits,       ///< random bit patterns: NaN, Inf and subnormals occur
  subnormal,  ///< A subnormal, the rest normal
  cancel,     ///< neighbouring products cancel exactly, one pair in eight only almost
  positive,   ///< |normal|
  specials,   ///< normal with one element in 32 a zero, Inf, NaN, largest or smallest number
  ones,       ///< 1: an output is then exactly K as long as the arithmetic counts exactly
};

Result<Distribution> parse_distribution(std::string_view text);

/// Which array is filled; each has its own stream of numbers.
enum class Role : std::uint64_t { a = 1, b = 2, c = 3, bias = 4 };

/// A place to fill: `lines` lines of `length` elements, `line_stride` and `step` elements apart.
struct Lines {
  std::int64_t lines = 0;
  std::int64_t length = 0;
  std::int64_t line_stride = 0;
  std::int64_t step = 1;
};

/// Fills an array with data that depends on the seed and on each element's logical place, and on
/// nothing else: the same on every platform, for every layout, and for any other extent.
///
/// A line is a row of op(A), a column of op(B), a row of C, or the bias; so row i of A has the
/// same elements whatever M is and whether A is stored transposed or not, and a longer K extends
/// it. With splitmix64's output function mix() and its increment G:
///
///   stream(role) = mix(seed + role * G)      key(line) = mix(stream + (line + 1) * G)
///   draw(line, i, j) = mix(key(line) + (4 * i + j + 1) * G),  j = 0, 1, 2
///
/// A normal number is the sum of the eight 16-bit parts of draws 0 and 1, centred and scaled by
/// one fp32 multiplication, then rounded to nearest even: no library function takes part.
void fill_random(void* data, DType type, const Lines& place, Distribution distribution,
                 std::uint64_t seed, Role role);

}  // namespace detgemm::cli
