// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/cuda/problem.hpp"

namespace detgemm::test {

/// draw_problem's shapes, arrays and epilogues under snap/bf16: folds and trees with leaves of any
/// multiple of 64, and every promise about snapped operands. A scene keeps the promises.
/// `misaligned`: operands at any address, as misalign_operands places them.
Problem draw_snap_problem(std::uint64_t seed, std::uint64_t index, bool misaligned = false);

/// The same under snap3, bf16 or fp32 inputs, without promises.
Problem draw_snap3_problem(std::uint64_t seed, std::uint64_t index, bool misaligned = false);

}  // namespace detgemm::test
