// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "core/conformance/harness.hpp"

namespace detgemm::cli {

/// Every control and whether the property meant for it found it, as a table; last, the same code
/// without a fault, which no property may find anything in.
struct ControlsTable {
  std::string text;
  bool all_caught = false;  ///< and the honest engine passed
};
Result<ControlsTable> run_controls(conformance::Level level, std::uint64_t seed, bool markdown);

}  // namespace detgemm::cli
