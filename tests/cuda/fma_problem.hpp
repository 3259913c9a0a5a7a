// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/cuda/problem.hpp"

namespace detgemm::test {

/// draw_problem's shapes, arrays and epilogues under ieee_fma: three input types, and chains, folds
/// and trees with leaves of any length.
Problem draw_fma_problem(std::uint64_t seed, std::uint64_t index);

}  // namespace detgemm::test
