// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>

#include "bench/suite/run.hpp"

namespace detgemm::bench {

/// Whether `--suite cluster` is asked for, which is measured alone: ranks that this program starts
/// itself, one process per GPU, or the threads of this process on a machine without one. Throws
/// std::invalid_argument where options do not go with it.
bool asks_for_cluster(const Options& options);

/// Starts the ranks, times every case on all of them at once and calls `finish` with the result, on
/// rank 0. The exit code of the program. Nothing that does not survive a fork was started before.
int run_cluster(const Options& options, const std::string& command,
                const std::function<int(const RunResult&)>& finish);

}  // namespace detgemm::bench
