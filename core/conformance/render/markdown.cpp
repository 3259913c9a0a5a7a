// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cctype>

#include "core/conformance/report.hpp"

namespace detgemm::conformance {
namespace {

std::vector<std::string> distinct(const Report& report, std::string Cell::*field) {
  std::vector<std::string> list;
  for (const Cell& cell : report.cells) {
    if (std::find(list.begin(), list.end(), cell.*field) == list.end()) list.push_back(cell.*field);
  }
  return list;
}

const Cell* find(const Report& report, const std::string& property, const std::string& contract) {
  for (const Cell& cell : report.cells) {
    if (cell.property == property && cell.contract == contract) return &cell;
  }
  return nullptr;
}

/// Table cells may not hold the characters that end them.
std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '\\');
  }
  return text;
}

std::string facts(const Report& report) {
  std::string text = "## " + report.engine + "\n\n" + report.description + "\n\n";
  text += "| | |\n|---|---|\n";
  text += "| device | " + escaped(report.device) + " |\n";
  text += "| machine | " + escaped(report.machine) + " |\n";
  text += "| oracle | " + escaped(report.oracle) + " |\n";
  text += "| run | " + report.level + ", seed " + std::to_string(report.seed) + ", " + report.date +
          ", detgemm " + report.version +
          (report.commit.empty() ? "" : " (" + escaped(report.commit) + ")") + ", " +
          std::to_string(static_cast<long long>(report.seconds + 0.5)) + " s |\n";
  std::string verdict(outcome(report));
  std::transform(verdict.begin(), verdict.end(), verdict.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  text += "| verdict | **" + verdict + "**: " + counts(report) + " |\n\n";
  return text;
}

/// One row per contract, one column per property: contracts are the longer list.
std::string table(const Report& report) {
  const auto properties = distinct(report, &Cell::property);
  std::string text = "| contract | digest |";
  std::string rule = "|---|---|";
  for (const std::string& property : properties) {
    text += " " + property + " |";
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::string& contract : distinct(report, &Cell::contract)) {
    std::string row("| `" + contract + "` |");
    bool first = true;
    for (const std::string& property : properties) {
      const Cell* cell = find(report, property, contract);
      if (first && cell != nullptr) row += " `" + cell->digest + "` |";
      first = false;
      if (cell == nullptr) {
        row += " |";
      } else if (cell->verdict == Verdict::passed) {
        row.append(" ").append(std::to_string(cell->outputs)).append(" |");
      } else {
        const char* mark = counts_as_failure(cell->verdict) ? "**" : "";
        row.append(" ").append(mark).append(name(cell->verdict)).append(mark).append(" |");
      }
    }
    text += row + "\n";
  }
  return text + "\nA number is a pass: the number of outputs that were compared.\n";
}

std::string explanations(const Report& report) {
  std::string text;
  std::set<std::string> seen;
  for (const Cell& cell : report.cells) {
    if (cell.reason.empty()) continue;
    const std::string verdict(name(cell.verdict));
    if (!counts_as_failure(cell.verdict)) {
      const bool part = cell.verdict == Verdict::passed;
      const std::string line = "- " + (part ? "unsupported in part" : verdict) + ", " +
                               cell.property + ": " + cell.reason + "\n";
      if (seen.insert(line).second) text += line;
      continue;
    }
    text += "- " + std::string(cell.expected ? "expected: " : "") + "**" + verdict + "**, " +
            cell.property + " under `" + cell.contract + "`: " + cell.reason + "\n";
    for (const Failure& f : cell.failures) {
      text += "  - case " + std::to_string(f.case_index) + ", " + f.problem + ": " + f.what;
      if (f.row >= 0) {
        text += "; at (" + std::to_string(f.row) + ", " + std::to_string(f.col) + ") expected " +
                f.expected + ", got " + f.got;
      }
      text += "\n    `" + f.repro + "`\n";
    }
  }
  if (!report.cut_short.empty()) text += "- **" + escaped(report.cut_short) + "**\n";
  return text.empty() ? text : "\n### Notes\n\n" + text;
}

std::string kernels(const Report& report) {
  std::set<std::string> all;
  for (const Cell& cell : report.cells) all.insert(cell.kernels.begin(), cell.kernels.end());
  std::string text = "\nKernels that ran:";
  for (const std::string& kernel : all) text += " `" + kernel + "`";
  return text + "\n";
}

}  // namespace

std::string render_markdown(std::span<const Report> reports) {
  std::string text = "# Conformance\n\n";
  for (const Report& raw : reports) {
    const Report report = printable(raw);
    text += facts(report) + table(report) + kernels(report) + explanations(report) + "\n";
  }
  return text;
}

}  // namespace detgemm::conformance
