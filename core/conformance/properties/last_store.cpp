// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <optional>

#include "core/conformance/format.hpp"
#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

/// Products that add up to one number. More than bf16 holds of an fp16 number at its largest.
constexpr std::int64_t kPieces = 4;
using Pieces = std::array<std::uint32_t, kPieces>;

/// The number as a sum of a few of the input type, of which every partial sum is exact in fp32;
/// none if there is none.
std::optional<Pieces> in_pieces(double value, DType input) {
  const double largest = decode(format_of(input).max(), input);
  Pieces pieces{};
  for (std::uint32_t& piece : pieces) {
    piece = encode(value, input);
    if (!std::isfinite(decode(piece, input))) piece = encode(std::copysign(largest, value), input);
    value -= decode(piece, input);
  }
  if (value != 0.0) return std::nullopt;
  return pieces;
}

/// One output per number, each a sum of pieces times `unit`.
void store(Case& c, DType output, std::span<const double> numbers, double unit) {
  const DType input = c.contract().input;
  std::vector<Pieces> rows;
  std::vector<double> sums;
  for (const double number : numbers) {
    for (const double value : {number, -number}) {
      if (const auto pieces = in_pieces(value / unit, input)) {
        rows.push_back(*pieces);
        sums.push_back(value);
      }
    }
  }
  if (rows.empty()) return;
  const auto count = static_cast<std::int64_t>(rows.size());
  Request request;
  request.spec.contract = c.with_output(output);
  request.a = Elements(stored_type(input), count, kPieces);
  request.b = Elements(stored_type(input), kPieces, 2);
  Elements expected(output, count, 2);
  for (std::int64_t k = 0; k < kPieces; ++k) {
    request.b.set(k, 0, encode(unit, input));
    request.b.set(k, 1, encode(-unit, input));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (std::int64_t k = 0; k < kPieces; ++k) {
      request.a.set(i, k, rows[at][static_cast<std::size_t>(k)]);
    }
    expected.set(i, 0, encode(sums[at], output));
    expected.set(i, 1, encode(-sums[at], output));
  }
  const auto got = c.run(request);
  if (got) c.same(expected, got->d, "sums at and beside the middle between two numbers of D");
}

}  // namespace

/// Sums in the middle between two numbers of a narrow output, and next to it: among ordinary
/// numbers, where the largest one ends, and among subnormals. Random sums are hardly ever there.
///
///   largest | rounds to it | middle: Inf         0 | to 0 | middle: 0 | to the least subnormal
void last_store(Case& c, DType output) {
  const Contract& contract = c.contract();
  const DType input = contract.input;
  // Numbers of e4m3 and e5m2 are too short, and snap rounds those that are beside larger ones.
  const bool rounds = contract.arithmetic == Arithmetic::snap ||
                      contract.arithmetic == Arithmetic::snap3 || size_of(input) == 1;
  if (output == DType::fp32 || rounds) return;
  const Format f = format_of(output);
  const double ulp = std::exp2(-f.fraction_bits), bit = ulp / 64;
  const double largest = decode(f.max(), output), last = std::exp2(f.bias()) * ulp;
  const std::array ordinary{1 + ulp / 2,
                            1 + 3 * ulp / 2,
                            1 + ulp / 2 + bit,
                            1 + 3 * ulp / 2 - bit,
                            2 - ulp / 2,
                            largest + last / 2,
                            largest + last / 2 - last / 64,
                            largest + last / 64};
  store(c, output, ordinary, 1.0);
  if (contract.arithmetic == Arithmetic::cdna2) return;  // it flushes subnormals
  const double tiny = std::exp2(f.min_exponent() - f.fraction_bits);
  const std::array small{8.5 * tiny,
                         9.5 * tiny,
                         8.5 * tiny + tiny / 64,
                         9.5 * tiny - tiny / 64,
                         0.5 * tiny,
                         1.5 * tiny,
                         0.5 * tiny + tiny / 64,
                         3 * tiny,
                         std::exp2(f.min_exponent()) - tiny / 2};
  store(c, output, small, 0x1p-8);
}

}  // namespace detgemm::conformance
