// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace detgemm::conformance {

/// Processor, threads and operating system in one line, for reports.
std::string machine_description();
/// The name that the operating system gives this machine, or "unknown".
std::string machine_name();

}  // namespace detgemm::conformance
