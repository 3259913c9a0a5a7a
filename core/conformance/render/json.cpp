// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include "core/conformance/report.hpp"

namespace detgemm::conformance {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Failure& f) {
  Json json{{"case", f.case_index}, {"what", f.what}, {"problem", f.problem}, {"repro", f.repro}};
  if (f.row >= 0) {
    json["row"] = f.row;
    json["col"] = f.col;
    json["expected"] = f.expected;
    json["got"] = f.got;
  }
  return json;
}

Json to_json(const Cell& cell) {
  Json json{{"property", cell.property},
            {"contract", cell.contract},
            {"digest", cell.digest},
            {"verdict", name(cell.verdict)},
            {"reason", cell.reason},
            {"cases", cell.cases},
            {"runs", cell.runs},
            {"outputs", cell.outputs},
            {"mismatches", cell.mismatches},
            {"kernels", cell.kernels},
            {"failures", Json::array()},
            {"log", cell.log}};
  for (const Failure& failure : cell.failures) json["failures"].push_back(to_json(failure));
  return json;
}

Json to_json(const Report& report) {
  Json json{{"engine", report.engine},   {"description", report.description},
            {"device", report.device},   {"machine", report.machine},
            {"oracle", report.oracle},   {"version", report.version},
            {"commit", report.commit},   {"date", report.date},
            {"level", report.level},     {"seed", report.seed},
            {"seconds", report.seconds}, {"passed", report.passed()},
            {"ran", report.ran()},       {"cells", Json::array()}};
  for (const Cell& cell : report.cells) json["cells"].push_back(to_json(cell));
  return json;
}

}  // namespace

std::string render_json(std::span<const Report> reports) {
  Json json{{"schema", "detgemm-conformance-1"}, {"reports", Json::array()}};
  for (const Report& report : reports) json["reports"].push_back(to_json(report));
  // Sentences come from engines too: bytes that are no UTF-8 are replaced, not thrown about.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace detgemm::conformance
