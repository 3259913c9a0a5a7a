// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>
#include <unistd.h>

#include "detgemm/conformance.hpp"

namespace detgemm::conformance {

/// A child process that runs the harness and says what it does through a pipe, one JSON object per
/// line: {"is": "start" | "cell" | "case" | "problem" | "failure" | "finished" | "end" |
/// "refusal"}.
struct Worker {
  pid_t pid = -1;
  int pipe = -1;  ///< our end, which does not block
};

Result<Worker> start_worker(const Options& options, const std::function<Result<Candidate>()>& load);

/// Ends it and what it has started, if they still run, and closes the pipe.
void end_worker(const Worker& worker);

}  // namespace detgemm::conformance
