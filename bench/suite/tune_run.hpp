// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>

#include "bench/suite/run.hpp"

namespace detgemm::bench {

/// `detgemm tune`: times what the library chooses and the most promising kernels beside it, and
/// writes a tuning file of the kernels that took less time twice. Nothing where only an estimate
/// was asked for.
std::optional<RunResult> run_tune(const Options& options, const std::string& command);

}  // namespace detgemm::bench
