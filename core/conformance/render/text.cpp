// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <map>

#include "core/conformance/report.hpp"

namespace detgemm::conformance {
namespace {

std::string where(const Failure& failure) {
  if (failure.row < 0) return "";
  return " at (" + std::to_string(failure.row) + ", " + std::to_string(failure.col) +
         "): expected " + failure.expected + ", got " + failure.got;
}

/// A property over all contracts in one line.
std::string summary(const Report& report, const std::string& property) {
  std::map<Verdict, int> verdicts;
  std::int64_t runs = 0;
  std::int64_t outputs = 0;
  for (const Cell& cell : report.cells) {
    if (cell.property != property) continue;
    ++verdicts[cell.verdict];
    runs += cell.runs;
    outputs += cell.outputs;
  }
  std::string counts;
  for (const auto& [verdict, count] : verdicts) {
    counts +=
        (counts.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(name(verdict));
  }
  char line[256];
  std::snprintf(line, sizeof line, "  %-16s %-34s %9lld calls %12lld outputs\n", property.c_str(),
                counts.c_str(), static_cast<long long>(runs), static_cast<long long>(outputs));
  return line;
}

std::string render(const Report& report) {
  std::string text = "engine    " + report.engine + ": " + report.description + "\n";
  text += "device    " + report.device + "\n";
  text += "machine   " + report.machine + "\n";
  text += "oracle    " + report.oracle + "\n";
  text += "run       " + report.level + ", seed " + std::to_string(report.seed) + ", " +
          report.date + ", detgemm " + report.version +
          (report.commit.empty() ? "" : " (" + report.commit + ")") + "\n\n";
  std::string last;
  std::set<std::string> done;
  for (const Cell& cell : report.cells) {
    if (done.insert(cell.property).second) text += summary(report, cell.property);
  }
  text += "\n";
  std::set<std::string> reasons;
  for (const Cell& cell : report.cells) {
    if (counts_as_failure(cell.verdict)) {
      if (cell.expected) text += "expected: ";
      text += std::string(name(cell.verdict)) + ": " + cell.property + " under " + cell.contract +
              ": " + cell.reason + "\n";
      for (const Failure& failure : cell.failures) {
        text += "  case " + std::to_string(failure.case_index) + ", " + failure.problem + ": " +
                failure.what + where(failure) + "\n    " + failure.repro + "\n";
      }
    } else if (!cell.reason.empty() &&
               reasons.insert(cell.property + std::string(name(cell.verdict)) + cell.reason)
                   .second) {
      // What a passed cell leaves out is what the engine does not compute.
      const bool part = cell.verdict == Verdict::passed;
      text += (part ? "unsupported in part" : std::string(name(cell.verdict))) + ": " +
              cell.property + ": " + cell.reason + "\n";
    }
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, ", %.1f s\n", report.seconds);
  if (!report.cut_short.empty()) text += report.cut_short + "\n";
  return text + "\n" + std::string(outcome(report)) + ": " + counts(report) + seconds;
}

}  // namespace

std::string render_text(std::span<const Report> reports) {
  std::string text;
  for (const Report& report : reports) text += render(printable(report));
  return text;
}

}  // namespace detgemm::conformance
