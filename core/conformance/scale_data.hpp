// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/conformance/buffer.hpp"
#include "core/conformance/elements.hpp"
#include "core/conformance/random.hpp"
#include "detgemm/scales.hpp"

namespace detgemm::conformance {

/// The scales of one operand, blocks x leaves, and how they are to lie in memory. Those of e8m0 are
/// bytes, in Elements of a type that has one; nobody looks at that type.
struct ScaleArray {
  Elements values;
  ScaleType type = ScaleType::fp32;
  std::int64_t per = 1;
  Layout layout;

  /// None: all scales then are 1.
  bool empty() const { return values.rows == 0 && values.cols == 0; }
};

enum class ScaleValues {
  ones,
  moderate,  ///< of both signs, a few binades around 1: no output overflows
  bits,      ///< random bit patterns among them: Inf, NaN, subnormals, zeros of both signs
};

/// Scales of so many rows of A or columns of B, with a random type, layout and `per`.
ScaleArray draw_scales(Random& random, ScaleValues values, std::int64_t lines, std::int64_t leaves);
/// The same with a type and `per` of the caller's.
ScaleArray draw_scales(Random& random, ScaleValues values, std::int64_t lines, std::int64_t leaves,
                       ScaleType type, std::int64_t per);

}  // namespace detgemm::conformance
