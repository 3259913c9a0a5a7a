// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/case.hpp"
#include "core/conformance/property.hpp"
#include "core/conformance/report.hpp"

namespace detgemm::conformance {

struct Options {
  const Backend* engine = nullptr;
  Oracle oracle;                        ///< if empty, `reference` is skipped
  std::vector<Contract> contracts;      ///< empty: default_contracts(*engine)
  std::vector<std::string> properties;  ///< names; empty: all
  Level level = Level::quick;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> only_case;
  /// How the command line names the engine, for repro lines; empty: "--backend NAME".
  std::string engine_flag;
  /// Called before each cell: how many are done, how many there are, and the cell's name.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
};

/// Every arithmetic and input type under chain, fold and tree with varied outputs, and with the
/// shortest leaf that the engine supports. Contracts that it does not support are listed too.
std::vector<Contract> default_contracts(const Backend& engine);

/// Runs the properties under the contracts. Refuses unknown names (not_found) and an engine that is
/// not available with a sentence; everything after that is in the report.
Result<Report> run_conformance(const Options& options);

}  // namespace detgemm::conformance
