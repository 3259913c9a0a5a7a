// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/json.hpp"

namespace detgemm::conformance {
namespace {

Verdict verdict_of(const std::string& text) {
  for (const Verdict verdict : {Verdict::passed, Verdict::unsupported, Verdict::skipped,
                                Verdict::mistrusted, Verdict::untested}) {
    if (text == name(verdict)) return verdict;
  }
  return Verdict::failed;
}

/// A whole number: a float could lie outside of what the conversion defines.
std::int64_t whole(const Json& json) { return json.get_ref<const Json::number_integer_t&>(); }
std::uint64_t natural(const Json& json) { return json.get_ref<const Json::number_unsigned_t&>(); }

}  // namespace

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
            {"seconds", cell.seconds},
            {"kernels", cell.kernels},
            {"failures", Json::array()},
            {"log", cell.log}};
  if (cell.expected) json["expected"] = true;
  for (const Failure& failure : cell.failures) json["failures"].push_back(to_json(failure));
  return json;
}

Json facts_to_json(const Report& report) {
  return {{"engine", report.engine},   {"description", report.description},
          {"device", report.device},   {"machine", report.machine},
          {"host", report.host},       {"oracle", report.oracle},
          {"version", report.version}, {"commit", report.commit},
          {"date", report.date},       {"level", report.level},
          {"seed", report.seed},       {"seconds", report.seconds},
          {"planned", report.planned}};
}

Json to_json(const Report& report) {
  Json json = facts_to_json(report);
  json["passed"] = report.passed();
  json["ran"] = report.ran();
  json["interrupted"] = report.interrupted;
  if (!report.cut_short.empty()) json["cut_short"] = report.cut_short;
  json["cells"] = Json::array();
  for (const Cell& cell : report.cells) json["cells"].push_back(to_json(cell));
  return json;
}

Cell cell_from_json(const Json& json) {
  Cell cell;
  json.at("property").get_to(cell.property);
  json.at("contract").get_to(cell.contract);
  json.at("digest").get_to(cell.digest);
  cell.verdict = verdict_of(json.at("verdict"));
  json.at("reason").get_to(cell.reason);
  cell.cases = whole(json.at("cases"));
  cell.runs = whole(json.at("runs"));
  cell.outputs = whole(json.at("outputs"));
  cell.mismatches = whole(json.at("mismatches"));
  json.at("seconds").get_to(cell.seconds);
  json.at("kernels").get_to(cell.kernels);
  json.at("log").get_to(cell.log);
  for (const Json& one : json.at("failures")) {
    Failure failure;
    failure.case_index = whole(one.at("case"));
    one.at("what").get_to(failure.what);
    one.at("problem").get_to(failure.problem);
    one.at("repro").get_to(failure.repro);
    if (one.contains("row")) failure.row = whole(one.at("row"));
    if (one.contains("col")) failure.col = whole(one.at("col"));
    failure.expected = one.value("expected", "");
    failure.got = one.value("got", "");
    cell.failures.push_back(std::move(failure));
  }
  return cell;
}

Report facts_from_json(const Json& json) {
  Report report;
  json.at("engine").get_to(report.engine);
  json.at("description").get_to(report.description);
  json.at("device").get_to(report.device);
  json.at("machine").get_to(report.machine);
  json.at("host").get_to(report.host);
  json.at("oracle").get_to(report.oracle);
  json.at("version").get_to(report.version);
  json.at("commit").get_to(report.commit);
  json.at("date").get_to(report.date);
  json.at("level").get_to(report.level);
  report.seed = natural(json.at("seed"));
  report.planned = natural(json.at("planned"));
  return report;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace detgemm::conformance
