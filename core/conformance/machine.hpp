// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace detgemm::conformance {

/// Processor, threads and operating system in one line, for reports.
std::string machine_description();

}  // namespace detgemm::conformance
