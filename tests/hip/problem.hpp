// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "core/conformance/data.hpp"
#include "core/conformance/request.hpp"

namespace detgemm::test {

/// What a problem has so that one kernel takes it; all else is drawn.
struct Suited {
  enum class Line {
    drawn,
    k,       ///< neighbours in memory follow each other along K, in aligned chunks of 16 bytes
    mn,      ///< the same along M or N
    nowhere  ///< no element is at the start of a chunk
  };
  Line a = Line::drawn, b = Line::drawn;
  bool stages = false;  ///< leaves are multiples of 64
  bool parts = false;   ///< 2 leaves or more, under fold at most 31
  bool roots = false;   ///< fp32 roots in place of A and B, often more than a launch has arguments
};

/// A problem of the sweep: shape, layouts, epilogue and data are a function of the generator's
/// state. About half of the layouts suit the fast kernels; the others have odd strides and offsets.
conformance::Request draw_problem(conformance::Random& random, Arithmetic arithmetic, DType input,
                                  ReductionKind kind, std::int64_t max_products,
                                  const Suited& suited = {});

/// The whole problem in one line.
std::string text(const conformance::Request& request);

}  // namespace detgemm::test
