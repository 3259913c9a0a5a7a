// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_controls.hpp"

#include <array>
#include <cstdio>
#include <set>
#include <tuple>

#include "core/conformance/controls/control.hpp"

namespace detgemm::cli {
namespace {

std::string row(bool markdown, const std::array<std::string_view, 4>& cells) {
  char line[320];
  const char* format =
      markdown ? "| %.*s | %.*s | %.*s | %.*s |\n" : "%-20.*s %-16.*s %-8.*s %.*s\n";
  const auto width = [&](std::size_t i) { return static_cast<int>(cells[i].size()); };
  std::snprintf(line, sizeof line, format, width(0), cells[0].data(), width(1), cells[1].data(),
                width(2), cells[2].data(), width(3), cells[3].data());
  return line;
}

/// The verdict of one property on one engine.
conformance::Verdict verdict(const Backend& engine, const controls::Control& control,
                             conformance::Level level, std::uint64_t seed) {
  conformance::Options options;
  options.engine = &engine;
  options.oracle.backend = &controls::honest();
  options.contracts = {need(Contract::parse(control.contract))};
  options.properties = {std::string(control.property)};
  options.level = control.full ? conformance::Level::full : level;
  options.seed = seed;
  return need(conformance::run_conformance(options)).cells.front().verdict;
}

}  // namespace

Report run_controls(conformance::Level level, std::uint64_t seed, bool markdown) {
  Report report;
  report.text = row(markdown, {"control", "property meant", "caught", "fault"});
  if (markdown) report.text += "|---|---|---|---|\n";
  report.json["command"] = "conform";
  Json& list = report.json["controls"] = Json::array();
  bool all_caught = true;
  bool honest_passes = true;
  std::size_t caught_count = 0;
  std::set<std::tuple<std::string_view, std::string_view, bool>> asked;
  Progress progress;
  for (const controls::Control& control : controls::controls()) {
    progress.show(std::to_string(list.size() + 1) + "/" +
                  std::to_string(controls::controls().size()) + " " + std::string(control.name) +
                  " " + std::string(control.property));
    const bool caught =
        verdict(*control.engine, control, level, seed) == conformance::Verdict::failed;
    all_caught = all_caught && caught;
    caught_count += caught ? 1 : 0;
    // The same question of the honest engine is asked once.
    if (asked.insert({control.property, control.contract, control.full}).second) {
      honest_passes = honest_passes && !conformance::counts_as_failure(
                                           verdict(controls::honest(), control, level, seed));
    }
    list.push_back({{"control", control.name},
                    {"property", control.property},
                    {"contract", control.contract},
                    {"caught", caught},
                    {"fault", control.fault}});
    report.text +=
        row(markdown, {control.name, control.property, caught ? "yes" : "NO", control.fault});
  }
  const std::string_view honest = controls::honest().name();
  report.text += row(markdown, {honest, "all of these", honest_passes ? "no" : "YES",
                                "none: the same code without a fault, which must pass"});
  report.text += (markdown ? "\n" : "") + std::to_string(caught_count) + " of " +
                 std::to_string(list.size()) +
                 " planted faults were caught; the same code without one " +
                 (honest_passes ? "passes" : "FAILS") + "\n";
  report.json["all_caught"] = all_caught;
  report.json["honest_passes"] = honest_passes;
  report.exit = all_caught && honest_passes ? kOk : kFailed;
  return report;
}

}  // namespace detgemm::cli
