// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "core/conformance/data.hpp"
#include "core/conformance/request.hpp"

namespace detgemm::test {

/// A problem of the sweep: shape, layouts, epilogue and data are a function of the generator's
/// state. About half of the layouts suit the fast kernels; the others have odd strides and offsets.
conformance::Request draw_problem(conformance::Random& random, Arithmetic arithmetic, DType input,
                                  ReductionKind kind, std::int64_t max_products);

/// The whole problem in one line.
std::string text(const conformance::Request& request);

}  // namespace detgemm::test
