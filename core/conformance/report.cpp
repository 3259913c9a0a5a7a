// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/report.hpp"

#include <algorithm>
#include <array>

namespace detgemm::conformance {
namespace {

/// Control characters, the two-byte ones of UTF-8 among them, as \xNN.
std::string without_controls(const std::string& text) {
  std::string out;
  bool second = false;  // of a two-byte control character
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool first = byte == 0xc2U && i + 1 < text.size() &&
                       (static_cast<unsigned char>(text[i + 1]) & 0xe0U) == 0x80U;
    if (byte >= 0x20U && byte != 0x7fU && !first && !second) {
      out += text[i];
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      out.append({'\\', 'x', digits[byte >> 4U], digits[byte & 15U]});
    }
    second = first;
  }
  return out;
}

}  // namespace

Report printable(Report report) {
  for (std::string* text : {&report.machine, &report.engine, &report.description, &report.device,
                            &report.oracle, &report.commit, &report.cut_short}) {
    *text = without_controls(*text);
  }
  for (Cell& cell : report.cells) {
    cell.reason = without_controls(cell.reason);
    std::set<std::string> kernels;
    for (const std::string& kernel : cell.kernels) kernels.insert(without_controls(kernel));
    cell.kernels = std::move(kernels);
    for (Failure& failure : cell.failures) {
      for (std::string* text :
           {&failure.what, &failure.problem, &failure.expected, &failure.got, &failure.repro}) {
        *text = without_controls(*text);
      }
    }
  }
  return report;
}

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
