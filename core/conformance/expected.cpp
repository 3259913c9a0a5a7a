// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <sstream>

#include "detgemm/conformance.hpp"

namespace detgemm::conformance {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  return pattern == "*" || pattern == text;
}

bool known(const std::string& property) {
  const auto names = property_names();
  return property == "*" || std::any_of(names.begin(), names.end(), [&](const PropertyName& one) {
           return one.name == property;
         });
}

}  // namespace

Result<std::vector<std::string>> expect_failures(Report& report, std::string_view lines) {
  std::vector<std::string> unused;
  std::istringstream text{std::string(lines)};
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string property;
    std::string contract;
    std::string more;
    if (!(words >> property)) continue;
    if (!(words >> contract) || (words >> more)) {
      return invalid("line " + std::to_string(number) + " of the expected failures is \"" + line +
                     "\": it must read PROPERTY CONTRACT, and either may be *");
    }
    if (!known(property)) {
      return Status{Errc::not_found, "line " + std::to_string(number) +
                                         " of the expected failures names property \"" + property +
                                         "\": it must be * or one of detgemm conform --list"};
    }
    if (contract != "*") {
      auto parsed = Contract::parse(contract);
      if (!parsed) return parsed.status();
      contract = parsed->text();
    }
    bool used = false;
    for (Cell& cell : report.cells) {
      if (!counts_as_failure(cell.verdict) || !matches(property, cell.property) ||
          !matches(contract, cell.contract)) {
        continue;
      }
      cell.expected = true;
      used = true;
    }
    if (!used) unused.push_back(property + " " + contract);
  }
  return unused;
}

}  // namespace detgemm::conformance
