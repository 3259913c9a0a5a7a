// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <string_view>

#include "core/conformance/elements.hpp"
#include "core/conformance/random.hpp"

namespace detgemm::conformance {

/// How elements are drawn. Every distribution is valid for every input format.
enum class Distribution {
  normal,     ///< bell-shaped around 0, deviation 1
  wide,       ///< exponents spread evenly over many binades
  bits,       ///< random bit patterns, NaN and Inf included
  subnormal,  ///< A small and often subnormal, B around 1
  cancel,     ///< products that cancel in pairs, exactly or almost
  residue,    ///< every product has its negative: the result is nothing but what rounding left,
              ///< so that even a narrow output shows the order of the additions
  specials,   ///< normal with zeros of both signs, Inf, NaN, the largest and smallest mixed in
};
inline constexpr std::array kDistributions{
    Distribution::normal, Distribution::wide,    Distribution::bits,    Distribution::subnormal,
    Distribution::cancel, Distribution::residue, Distribution::specials};
/// The distributions whose outputs are nearly all finite, which show invariance best.
inline constexpr std::array kFiniteDistributions{Distribution::normal, Distribution::wide,
                                                 Distribution::cancel, Distribution::residue};

std::string_view name(Distribution distribution);

/// The two operands of a product, as logical matrices: A is m x k and B is k x n.
struct Pair {
  Elements a;
  Elements b;
};
Pair draw_pair(Random& random, Distribution distribution, DType input, std::int64_t m,
               std::int64_t n, std::int64_t k);

/// A matrix of normally distributed elements, for C, the bias and the rows around an anchor; their
/// deviation is `scale`.
Elements draw_normal(Random& random, DType type, std::int64_t rows, std::int64_t cols,
                     double scale = 1.0);

}  // namespace detgemm::conformance
