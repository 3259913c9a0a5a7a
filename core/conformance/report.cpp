// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/report.hpp"

#include <algorithm>
#include <array>

namespace detgemm::conformance {

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 6> names{"passed",     "unsupported", "skipped",
                                                  "mistrusted", "untested",    "failed"};
  return names[static_cast<std::size_t>(verdict)];
}

std::int64_t Report::count(Verdict verdict) const {
  return std::count_if(cells.begin(), cells.end(),
                       [&](const Cell& cell) { return cell.verdict == verdict; });
}

std::int64_t Report::bad() const {
  return std::count_if(cells.begin(), cells.end(), [](const Cell& cell) {
    return counts_as_failure(cell.verdict) && !cell.expected;
  });
}

bool Report::ran() const {
  return std::any_of(cells.begin(), cells.end(), [](const Cell& cell) {
    return cell.verdict == Verdict::passed || counts_as_failure(cell.verdict);
  });
}

bool Report::passed() const { return ran() && bad() == 0 && !interrupted && cut_short.empty(); }

std::string_view outcome(const Report& report) {
  if (report.bad() != 0 || !report.cut_short.empty()) return "FAILED";
  if (report.interrupted) return "INTERRUPTED";
  return report.ran() ? "PASSED" : "NOTHING RAN";
}

std::string counts(const Report& report) {
  const auto failing =
      std::count_if(report.cells.begin(), report.cells.end(),
                    [](const Cell& cell) { return counts_as_failure(cell.verdict); });
  std::string text = std::to_string(report.count(Verdict::passed)) + " of " +
                     std::to_string(std::max(report.planned, report.cells.size())) +
                     " cells passed, " + std::to_string(report.bad()) + " failed";
  if (failing != report.bad()) {
    text += ", " + std::to_string(failing - report.bad()) + " failed as expected";
  }
  text += ", " + std::to_string(report.count(Verdict::skipped)) + " skipped, " +
          std::to_string(report.count(Verdict::unsupported)) + " unsupported";
  if (report.planned > report.cells.size()) {
    text += ", " + std::to_string(report.planned - report.cells.size()) + " not run";
  }
  return text;
}

}  // namespace detgemm::conformance
