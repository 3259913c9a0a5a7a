// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

namespace detgemm::conformance {

/// One level per factor.
using LevelRow = std::vector<int>;

/// A covering design of strength 2: rows such that any two levels of any two factors occur together
/// in one of them, where factor i has the levels 0 to levels[i] - 1. Greedy, a few rows more than
/// the product of the two largest factors; the same rows for the same levels, always.
std::vector<LevelRow> covering_rows(std::span<const int> levels);

}  // namespace detgemm::conformance
