// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "detgemm/contract.hpp"

namespace detgemm::conformance {

/// One product as the bound sees it: its exact value, and what truncation depends on.
struct Term {
  double product = 0.0;     ///< exact: 2 x 24 bits fit a double
  double weight = 0.0;      ///< 2^(exponent of a + exponent of b); 0 for a zero product
  bool subnormal = false;   ///< one of the operands is
  double a = 0.0, b = 0.0;  ///< the operands
};
Term make_term(std::uint32_t a, std::uint32_t b, DType input);

/// The exact sum to within `error`, which bounds how far the contract's result may lie from it.
struct Bound {
  double exact = 0.0;
  double error = 0.0;
};

/// docs/error-bound.md, line by line: steps, leaves, nodes, and the rounding to `output`.
Bound bound_of(const Contract& contract, const std::vector<Term>& terms, DType output);

}  // namespace detgemm::conformance
