// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/conformance.hpp"

namespace detgemm::conformance {

/// How a run ended, in two words at most: PASSED, FAILED, INTERRUPTED, NOTHING RAN.
std::string_view outcome(const Report& report);
/// "12 of 19 cells passed, 1 failed, 4 skipped, 2 unsupported"; also what was expected to fail.
std::string counts(const Report& report);

/// The report with \x1b in place of an escape character, and so on: what an engine says may not
/// steer a terminal, nor break a line.
Report printable(Report report);

}  // namespace detgemm::conformance
