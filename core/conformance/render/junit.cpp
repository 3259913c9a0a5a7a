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

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

/// JUnit's timestamps have no time zone.
std::string timestamp(const std::string& utc) {
  return utc.empty() || utc.back() != 'Z' ? utc : utc.substr(0, utc.size() - 1);
}

std::string test_case(const Report& report, const Cell& cell) {
  std::string text = "    <testcase classname=\"" + escaped(report.engine + "." + cell.contract) +
                     "\" name=\"" + escaped(cell.property) + "\" assertions=\"" +
                     std::to_string(cell.outputs) + "\" time=\"" + seconds(cell.seconds) + "\"";
  const std::string message = " message=\"" + escaped(cell.reason) + "\"";
  if (cell.expected) {
    return text + "><skipped message=\"" + escaped("expected to fail: " + cell.reason) +
           "\"/></testcase>\n";
  }
  switch (cell.verdict) {
    case Verdict::passed:
      return text + "/>\n";
    case Verdict::skipped:
    case Verdict::unsupported:
      return text + "><skipped" + message + "/></testcase>\n";
    case Verdict::untested:
      return text + "><error type=\"untested\"" + message + "/></testcase>\n";
    case Verdict::mistrusted:
    case Verdict::failed:
      break;
  }
  return text + "><failure type=\"" + std::string(name(cell.verdict)) + "\"" + message + ">" +
         escaped(details(cell)) + "</failure></testcase>\n";
}

/// What <testsuite> and <testsuites> both count.
struct Totals {
  std::int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double time = 0.0;

  void add(const Report& report) {
    time += report.seconds;
    for (const Cell& cell : report.cells) {
      ++tests;
      if (cell.verdict == Verdict::passed) continue;
      if (cell.expected || !counts_as_failure(cell.verdict)) {
        ++skipped;
      } else {
        ++(cell.verdict == Verdict::untested ? errors : failures);
      }
    }
  }
  std::string attributes() const {
    return " tests=\"" + std::to_string(tests) + "\" failures=\"" + std::to_string(failures) +
           "\" errors=\"" + std::to_string(errors) + "\" skipped=\"" + std::to_string(skipped) +
           "\" time=\"" + seconds(time) + "\"";
  }
};

std::string property_line(const std::string& name, const std::string& value) {
  return "      <property name=\"" + name + "\" value=\"" + escaped(value) + "\"/>\n";
}

}  // namespace

std::string render_junit(std::span<const Report> reports) {
  Totals all;
  for (const Report& report : reports) all.add(report);
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"detgemm conform\"" +
      all.attributes() + ">\n";
  for (const Report& report : reports) {
    Totals one;
    one.add(report);
    text += "  <testsuite name=\"" + escaped("detgemm conform " + report.engine) + "\"" +
            one.attributes() + " timestamp=\"" + escaped(timestamp(report.date)) +
            "\" hostname=\"" + escaped(report.host) + "\">\n    <properties>\n";
    text += property_line("machine", report.machine) + property_line("device", report.device) +
            property_line("oracle", report.oracle) + property_line("level", report.level) +
            property_line("seed", std::to_string(report.seed)) +
            property_line("version", report.version) + property_line("commit", report.commit);
    text += "    </properties>\n";
    for (const Cell& cell : report.cells) text += test_case(report, cell);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace detgemm::conformance
