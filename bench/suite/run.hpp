// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <stdexcept>

#include "bench/suite/options.hpp"
#include "bench/suite/result.hpp"

namespace detgemm::bench {

/// No backend, or no case: said in a sentence, exit code 3.
struct NothingRan : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Finds the device, registers every arm of every case with Google Benchmark and runs them.
/// Nothing where only a list or an estimate was asked for.
std::optional<RunResult> run_bench(const Options& options, const std::string& command);

}  // namespace detgemm::bench
