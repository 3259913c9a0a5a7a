// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/cli/report.hpp"
#include "detgemm/conformance.hpp"

namespace detgemm::cli {

/// Every control and whether the property meant for it found its fault, as a table in text (or in
/// markdown) and in JSON; last, the same code without a fault, in which no property may find
/// anything. Its exit code is kFailed unless all of that holds.
Report run_controls(conformance::Level level, std::uint64_t seed, bool markdown);

}  // namespace detgemm::cli
