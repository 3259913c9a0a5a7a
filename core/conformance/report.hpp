// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace detgemm::conformance {

/// The result of one property under one contract, from best to worst.
enum class Verdict {
  passed,
  unsupported,  ///< the backend's sentence says what it does not compute
  skipped,      ///< the property does not apply; the reason says why
  mistrusted,   ///< nothing differed, but the data could not have shown a difference
  untested,     ///< an error kept it from being tested
  failed,
};
std::string_view name(Verdict verdict);
/// Failed, mistrusted and untested make a run fail.
constexpr bool counts_as_failure(Verdict verdict) { return verdict >= Verdict::mistrusted; }

/// The first wrong output of a case, or a broken promise without one (row = -1).
struct Failure {
  std::int64_t case_index = 0;
  std::string what;     ///< what was compared, or what happened
  std::string problem;  ///< shapes, data, layout
  std::int64_t row = -1;
  std::int64_t col = -1;
  std::string expected;  ///< bits and value
  std::string got;
  std::string repro;  ///< the command that runs this case alone
};

/// One property under one contract.
struct Cell {
  std::string property;
  std::string contract;
  std::string digest;
  Verdict verdict = Verdict::passed;
  std::string reason;  ///< for every verdict but passed; for passed, what was left out
  std::int64_t cases = 0;
  std::int64_t runs = 0;          ///< calls of the engine
  std::int64_t outputs = 0;       ///< outputs compared
  std::int64_t mismatches = 0;    ///< outputs that differ
  std::vector<Failure> failures;  ///< the first of each failing case, at most kMaxFailures
  std::set<std::string> kernels;  ///< what ran
  std::vector<std::string> log;   ///< one line per problem drawn
};
inline constexpr std::size_t kMaxFailures = 8;

/// One engine's run.
struct Report {
  std::string version;
  std::string commit;  ///< as `detgemm info` names it; empty where another program ran the harness
  std::string machine;
  std::string engine;
  std::string description;
  std::string device;
  std::string oracle;  ///< what `reference` compared with, or "none"
  std::string date;    ///< UTC, ISO 8601
  std::string level;
  std::uint64_t seed = 0;
  double seconds = 0.0;
  std::vector<Cell> cells;

  std::int64_t count(Verdict verdict) const;
  /// Whether anything was compared.
  bool ran() const;
  /// Whether something was compared and no cell counts as a failure.
  bool passed() const;
};

std::string render_text(std::span<const Report> reports);
/// A table of properties by contracts, then every failure with the command that repeats it.
std::string render_markdown(std::span<const Report> reports);
std::string render_json(std::span<const Report> reports);
std::string render_junit(std::span<const Report> reports);

}  // namespace detgemm::conformance
