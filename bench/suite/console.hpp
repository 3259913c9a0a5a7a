// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "bench/suite/result.hpp"

namespace detgemm::bench {

/// FLOP per second as people read them: "812.345 TFLOP/s", "4.321 GFLOP/s" below one TFLOP/s.
std::string text_of_rate(double flops_per_s);

/// The ceilings of a run in one line, which also says what was not measured.
std::string text_of(const Ceilings& ceilings);

/// Where the time of an arm falls when M grows, in one line.
std::string text_of(const Fall& fall);

/// Seconds since some point in the past.
double now_s();

}  // namespace detgemm::bench
