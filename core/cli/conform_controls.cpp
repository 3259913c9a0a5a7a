// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_controls.hpp"

#include <cstdio>

#include "core/conformance/controls/control.hpp"

namespace detgemm::cli {
namespace {

std::string row(bool markdown, std::string_view name, std::string_view property,
                std::string_view caught, std::string_view fault) {
  char line[320];
  const char* format =
      markdown ? "| %.*s | %.*s | %.*s | %.*s |\n" : "%-20.*s %-16.*s %-8.*s %.*s\n";
  std::snprintf(line, sizeof line, format, static_cast<int>(name.size()), name.data(),
                static_cast<int>(property.size()), property.data(), static_cast<int>(caught.size()),
                caught.data(), static_cast<int>(fault.size()), fault.data());
  return line;
}

/// The verdict of one property on one engine.
Result<conformance::Verdict> verdict(const Backend& engine, const controls::Control& control,
                                     conformance::Level level, std::uint64_t seed) {
  conformance::Options options;
  options.engine = &engine;
  options.oracle.backend = &controls::honest();
  auto contract = Contract::parse(control.contract);
  if (!contract) return contract.status();
  options.contracts = {*contract};
  options.properties = {std::string(control.property)};
  options.level = level;
  options.seed = seed;
  auto report = conformance::run_conformance(options);
  if (!report) return report.status();
  return report->cells.front().verdict;
}

}  // namespace

Result<ControlsTable> run_controls(conformance::Level level, std::uint64_t seed, bool markdown) {
  ControlsTable table;
  table.text = row(markdown, "control", "property meant", "caught", "fault");
  if (markdown) table.text += "|---|---|---|---|\n";
  table.all_caught = true;
  bool honest_passes = true;
  for (const controls::Control& control : controls::controls()) {
    auto planted = verdict(*control.engine, control, level, seed);
    if (!planted) return planted.status();
    auto same_code = verdict(controls::honest(), control, level, seed);
    if (!same_code) return same_code.status();
    const bool caught = *planted == conformance::Verdict::failed;
    table.all_caught = table.all_caught && caught;
    honest_passes = honest_passes && !conformance::counts_as_failure(*same_code);
    table.text +=
        row(markdown, control.name, control.property, caught ? "yes" : "NO", control.fault);
  }
  table.text += row(markdown, controls::honest().name(), "all of these",
                    honest_passes ? "no" : "YES", "none: the same code without a fault");
  table.all_caught = table.all_caught && honest_passes;
  return table;
}

}  // namespace detgemm::cli
