// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/json.hpp"
#include "core/conformance/report.hpp"

namespace detgemm::conformance {

// https://shields.io/badges/endpoint-badge
std::string render_badge(std::span<const Report> reports) {
  std::int64_t passed = 0;
  std::int64_t bad = 0;
  bool ran = false;
  bool interrupted = false;
  std::string engines;
  for (const Report& report : reports) {
    passed += report.count(Verdict::passed);
    bad += report.bad();
    ran = ran || report.ran();
    interrupted = interrupted || report.interrupted;
    engines += (engines.empty() ? "" : ", ") + report.engine;
  }
  std::string message = std::to_string(passed) + " passed";
  const char* colour = "brightgreen";
  if (bad != 0) {
    message = std::to_string(bad) + " failed, " + message;
    colour = "red";
  } else if (interrupted) {
    message = "interrupted";
    colour = "lightgrey";
  } else if (!ran) {
    message = "nothing ran";
    colour = "lightgrey";
  }
  const Json json{{"schemaVersion", 1},
                  {"label", "detgemm conform " + engines},
                  {"message", message},
                  {"color", colour},
                  {"isError", bad != 0}};
  return line_of(json) + "\n";
}

}  // namespace detgemm::conformance
