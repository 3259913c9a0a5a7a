// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cluster/conformance/job.hpp"

namespace detgemm::cluster {

/// What the ranks say when one of them, each in its turn, brings something else or is refused: all
/// of them the same sentence, nothing is written, and the communicator stays of use. `like` gives
/// the report's facts.
Result<conformance::Report> run_refusals(const std::shared_ptr<Transport>& transport,
                                         const JobOptions& options, conformance::Report like);

}  // namespace detgemm::cluster
