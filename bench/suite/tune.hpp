// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "bench/suite/result.hpp"
#include "detgemm/tuning.hpp"

namespace detgemm::bench {

/// A kernel gets a row where it takes so much less time than the chosen one, twice.
inline constexpr double kTuneGain = 0.01;
/// A row covers so many values of M below the one that was measured, since tiles of tokens end at
/// multiples of 8; up to the measured M before only where the same kernel won there too.
inline constexpr std::int64_t kTuneReach = 7;

/// Adds to every arm of every case an arm NAME@KERNEL for each of the `count` kernels that the
/// backend's model of time expects to be fastest. Throws std::invalid_argument where the backend
/// has no kernels that are chosen by time.
void add_candidates(const Backend& backend, int count, std::vector<Case>& cases);

/// The arm that the library chose and the fastest candidate, for each arm of a result where the
/// candidate won: a case with those arms alone, to be timed again. No arms: none won.
Case winners_of(const CaseResult& result);

/// Rows from all results and from those of winners_of, timed again: what still wins.
std::vector<TunedProduct> tuned_products(const std::vector<CaseResult>& results,
                                         const std::vector<CaseResult>& again);

/// Adds to every arm that forces no kernel an arm NAME@tuned under a tuning file. Throws
/// std::invalid_argument with the library's sentence where the file is refused.
void add_tuned_arms(const Backend& backend, const std::string& path, std::vector<Case>& cases);

}  // namespace detgemm::bench
