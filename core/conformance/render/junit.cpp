// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>

#include "core/conformance/report.hpp"

namespace detgemm::conformance {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:  // XML 1.0 has no other control characters
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

std::string details(const Cell& cell) {
  std::string text;
  for (const Failure& f : cell.failures) {
    text += "case " + std::to_string(f.case_index) + ", " + f.problem + ": " + f.what;
    if (f.row >= 0) {
      text += " at (" + std::to_string(f.row) + ", " + std::to_string(f.col) + "): expected " +
              f.expected + ", got " + f.got;
    }
    text += "\n" + f.repro + "\n";
  }
  return text;
}

std::string test_case(const Report& report, const Cell& cell) {
  std::string text = "    <testcase classname=\"" + escaped(report.engine + "." + cell.contract) +
                     "\" name=\"" + escaped(cell.property) + "\" assertions=\"" +
                     std::to_string(cell.outputs) + "\"";
  const std::string message = " message=\"" + escaped(cell.reason) + "\"";
  switch (cell.verdict) {
    case Verdict::passed:
      return text + "/>\n";
    case Verdict::skipped:
    case Verdict::unsupported:
      return text + "><skipped" + message + "/></testcase>\n";
    case Verdict::untested:
      return text + "><error" + message + "/></testcase>\n";
    case Verdict::mistrusted:
    case Verdict::failed:
      break;
  }
  return text + "><failure type=\"" + std::string(name(cell.verdict)) + "\"" + message + ">" +
         escaped(details(cell)) + "</failure></testcase>\n";
}

}  // namespace

std::string render_junit(std::span<const Report> reports) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const Report& report : reports) {
    char time[32];
    std::snprintf(time, sizeof time, "%.3f", report.seconds);
    text += "  <testsuite name=\"" + escaped("detgemm conform " + report.engine) + "\" tests=\"" +
            std::to_string(report.cells.size()) + "\" failures=\"" +
            std::to_string(report.count(Verdict::failed) + report.count(Verdict::mistrusted)) +
            "\" errors=\"" + std::to_string(report.count(Verdict::untested)) + "\" skipped=\"" +
            std::to_string(report.count(Verdict::skipped) + report.count(Verdict::unsupported)) +
            "\" time=\"" + time + "\" timestamp=\"" + escaped(report.date) + "\" hostname=\"" +
            escaped(report.machine) + "\">\n";
    for (const Cell& cell : report.cells) text += test_case(report, cell);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace detgemm::conformance
