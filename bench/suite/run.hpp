// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/suite/options.hpp"
#include "bench/suite/result.hpp"

namespace detgemm::bench {

/// No backend, or no case: said in a sentence, exit code 3.
struct NothingRan : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a result says before anything was measured: date, commit, command, version.
RunResult result_of_today(const Options& options, const std::string& command);

/// Whether a name matches --filter; everything does where there is none.
std::function<bool(const std::string&)> matcher(const std::string& filter);

/// The first device of --backend, or of cuda, hip and cpu, that can run; throws NothingRan.
std::unique_ptr<BenchDevice> find_device(const Options& options);

/// The cases that the options name, without arms of their own.
std::vector<Case> find_cases(const Options& options, const BenchDevice& device);

/// Finds the device and measures every arm of every case.
/// Nothing where only a list or an estimate was asked for.
std::optional<RunResult> run_bench(const Options& options, const std::string& command);

}  // namespace detgemm::bench
