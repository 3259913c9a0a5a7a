// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "bench/suite/result.hpp"

namespace detgemm::bench {

/// How far ahead a larger M is looked for, and how many values of M make a curve.
inline constexpr std::int64_t kFallReach = 64;
inline constexpr int kMinPoints = 8;

/// Where the time of an arm falls when M grows: for every curve of the results (cases that differ
/// in M alone, at least kMinPoints of them) and every arm, the largest ratio of the time at M to
/// the time at a later M, at most kFallReach further on. Arms of role ceiling have none.
std::vector<Fall> find_falls(const std::vector<CaseResult>& results);

}  // namespace detgemm::bench
