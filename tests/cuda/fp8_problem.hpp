// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/cuda/problem.hpp"

namespace detgemm::test {

/// Problems of hopper/e4m3 under scaled, fold and chain, these two with line_scales every other
/// time. Three of four have operands as the tiles
/// take them: K-major, lines at multiples of 16 bytes. With `misaligned` they lie anywhere.
Problem draw_fp8_problem(std::uint64_t seed, std::uint64_t index, bool misaligned = false);

}  // namespace detgemm::test
