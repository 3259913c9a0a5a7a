// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdio>

#include "core/conformance/report.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::size_t kMaxListed = 20;

/// Text from an engine may not end a table's cell, open a tag or start a line.
std::string safe(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

struct Row {
  std::string property;
  std::int64_t passed = 0, bad = 0, other = 0, outputs = 0;
};

std::vector<Row> rows_of(const Report& report) {
  std::vector<Row> rows;
  for (const Cell& cell : report.cells) {
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const Row& one) { return one.property == cell.property; });
    if (row == rows.end()) row = rows.insert(rows.end(), {cell.property});
    row->outputs += cell.outputs;
    if (cell.verdict == Verdict::passed) {
      ++row->passed;
    } else {
      ++(counts_as_failure(cell.verdict) && !cell.expected ? row->bad : row->other);
    }
  }
  return rows;
}

std::string failures(const Report& report) {
  std::string text;
  std::size_t listed = 0;
  for (const Cell& cell : report.cells) {
    if (!counts_as_failure(cell.verdict) || cell.expected) continue;
    if (++listed > kMaxListed) continue;
    text += "- **" + std::string(name(cell.verdict)) + "** " + cell.property + ", `" +
            safe(cell.contract) + "`: " + safe(cell.reason) + "\n";
    if (!cell.failures.empty()) {
      text += "  ```\n  " + safe(cell.failures.front().repro) + "\n  ```\n";
    }
  }
  if (listed > kMaxListed) {
    text += "- and " + std::to_string(listed - kMaxListed) + " more\n";
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string render_summary(std::span<const Report> reports) {
  std::string text;
  for (const Report& report : reports) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.0f", report.seconds);
    text += "### detgemm conform: " + safe(report.engine) + " **" + std::string(outcome(report)) +
            "**\n\n" + counts(report) + ", in " + seconds + " s (" + report.level + ", seed " +
            std::to_string(report.seed) + ") on " + safe(report.device) + ", " +
            safe(report.machine) + "\n";
    text += failures(report);
    if (!report.cut_short.empty()) text += "\n**" + safe(report.cut_short) + "**\n";
    text += "\n<details><summary>Properties</summary>\n\n";
    text += "| property | passed | failed | left out | outputs compared |\n|---|---|---|---|---|\n";
    for (const Row& row : rows_of(report)) {
      text += "| " + row.property + " | " + std::to_string(row.passed) + " | " +
              (row.bad == 0 ? "0" : "**" + std::to_string(row.bad) + "**") + " | " +
              std::to_string(row.other) + " | " + std::to_string(row.outputs) + " |\n";
    }
    text += "\n</details>\n\n";
  }
  return text;
}

}  // namespace detgemm::conformance
