// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/suite/result.hpp"

namespace detgemm::bench {
namespace {

using Json = nlohmann::ordered_json;

/// Five digits say more than any clock here does, and files stay readable.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 4 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json pairs(const std::vector<std::pair<std::string, std::string>>& list) {
  Json out = Json::object();
  for (const auto& [key, value] : list) out[key] = value;
  return out;
}

Json pairs(const std::vector<std::pair<std::string, double>>& list) {
  Json out = Json::object();
  for (const auto& [key, value] : list) out[key] = rounded(value);
  return out;
}

/// A figure, or null where it was not measured.
Json measured(double value) { return value > 0 ? Json(rounded(value)) : Json(nullptr); }

Json json_of(const Fall& fall) {
  const Case& c = fall.what;
  return {{"model", c.model},
          {"layer", c.layer},
          {"kind", name(c.problem.kind)},
          {"dtype", detgemm::name(c.problem.type)},
          {"mode", name(c.mode)},
          {"arm", fall.arm},
          {"role", name(fall.role)},
          {"points", fall.points},
          {"ratio", rounded(fall.ratio)},
          {"m", fall.m},
          {"us", rounded(fall.us)},
          {"later_m", fall.later_m},
          {"later_us", rounded(fall.later_us)},
          {"certain", fall.certain}};
}

Json json_of(const ArmResult& arm) {
  Json out{{"arm", arm.name}, {"role", name(arm.role)}};
  if (arm.role == Role::detgemm) {
    out["contract"] = arm.contract;
    out["digest"] = arm.digest;
    out["stable"] = arm.stable;
    out["variant"] = arm.variant.empty() ? Json(nullptr) : Json(arm.variant);
    out["workspace_bytes"] = arm.workspace_bytes;
  }
  out["what"] = arm.detail;
  out["calls"] = arm.calls;
  out["us"] = rounded(arm.us.median);
  out["p10"] = rounded(arm.us.p10);
  out["p90"] = rounded(arm.us.p90);
  out["samples"] = arm.us.samples;
  out["noise"] = rounded(arm.us.noise());
  out["batch_invariant"] = arm.batch_invariant ? Json(*arm.batch_invariant) : Json(nullptr);
  out["bits"] = nullptr;
  if (arm.bits) {
    out["bits"] = {{"against", arm.bits->against},
                   {"outputs", arm.bits->outputs},
                   {"different", arm.bits->different}};
  }
  if (arm.sm_mhz > 0) out["sm_mhz"] = rounded(arm.sm_mhz);
  if (arm.share_of_limit > 0) out["share_of_limit"] = rounded(arm.share_of_limit);
  return out;
}

Json json_of(const RunResult& run, const CaseResult& r) {
  const Problem& p = r.what.problem;
  const Gemm g = gemm_of(p);
  Json out{{"case", r.what.id},
           {"suites", r.what.suites},
           {"model", r.what.model},
           {"layer", r.what.layer},
           {"kind", name(p.kind)},
           {"m", p.tokens},
           {"n", p.n},
           {"k", p.k},
           {"gemm", {g.m, g.n, g.k}},
           {"dtype", detgemm::name(p.type)},
           {"output", detgemm::name(output_of(p))},
           {"mode", name(r.what.mode)},
           {"cache", p.hot ? "hot" : "cold"},
           {"accumulate", p.accumulate},
           {"threads", r.what.threads},
           {"flops", g.flops()},
           {"bytes", g.bytes()}};
  if (p.extra != Extra::none) out["epilogue"] = name(p.extra);
  if (p.before != Before::nothing) out["before"] = name(p.before);
  if (r.limit_us > 0) {
    out["limit_us"] = rounded(r.limit_us);
    out["limited_by"] = r.limited_by;
  }
  out["warm_up_settled"] = r.settled;
  out["arms"] = Json::array();
  for (const ArmResult& arm : r.arms) out["arms"].push_back(json_of(arm));
  out["comparisons"] = Json::array();
  for (const Versus& v : r.comparisons) {
    out["comparisons"].push_back({{"arm", v.arm},
                                  {"baseline", v.baseline},
                                  {"ratio", rounded(v.comparison.ratio)},
                                  {"low", rounded(v.comparison.low)},
                                  {"high", rounded(v.comparison.high)},
                                  {"verdict", v.comparison.verdict}});
  }
  if (r.conditions.watts > 0 || r.conditions.mhz > 0) {
    out["conditions"] = {{"watts", rounded(r.conditions.watts)},
                         {"mhz", rounded(r.conditions.mhz)},
                         {"memory_mhz", rounded(r.conditions.memory_mhz)},
                         {"celsius", rounded(r.conditions.celsius)}};
  }
  out["notes"] = r.notes;
  out["repro"] = repro(run, r.what);
  return out;
}

/// Without the arms whose kernel was forced: --variants adds those again.
std::string contracts_of(const Case& c) {
  std::string list;
  for (const ContractArm& arm : c.contract_arms) {
    if (arm.variant.empty()) list += (list.empty() ? "" : ",") + arm.name;
  }
  return list;
}

}  // namespace

std::string repro(const RunResult& run, const Case& c) {
  const std::string begin = "detgemm bench --backend " + run.backend;
  const Problem& p = c.problem;
  if (c.suites.front() != "own" && c.suites.front() != "drawn") {
    const std::string ranks = run.ranks > 0 ? " --ranks " + std::to_string(run.ranks) : "";
    return begin + " --suite " + c.suites.front() + ranks + (run.quick ? " --quick" : "") +
           " --m " + std::to_string(p.tokens) + " --filter '^" + c.id + "/'";
  }
  const std::string weights = c.model == "own"
                                  ? "--n " + std::to_string(p.n) + " --k " + std::to_string(p.k)
                                  : "--layers " + c.model + "/" + c.layer;
  return begin + " " + weights + " --m " + std::to_string(p.tokens) + " --kind " + name(p.kind) +
         (p.extra == Extra::none ? "" : std::string(" --epilogue ") + name(p.extra)) + " --mode " +
         name(c.mode) + " --contract '" + contracts_of(c) + "'";
}

std::string to_json(const RunResult& run) {
  Json out{{"schema", 2},
           {"tool", "detgemm_bench"},
           {"version", run.version},
           {"date", run.date},
           {"commit", run.commit},
           {"command", run.command},
           {"backend", run.backend},
           {"quick", run.quick},
           {"unit", "microseconds per call; medians"},
           {"machine", pairs(run.machine)}};
  if (run.seed) out["seed"] = *run.seed;
  out["baselines"] = Json::array();
  for (const Baseline& baseline : run.baselines) {
    out["baselines"].push_back(
        {{"name", baseline.name}, {"present", baseline.present}, {"what", baseline.what}});
  }
  out["ceilings"] = {{"copy_bytes_per_s", measured(run.ceilings.copy_bytes_per_s)},
                     {"read_bytes_per_s", measured(run.ceilings.read_bytes_per_s)},
                     {"flops_per_s", pairs(run.ceilings.flops)},
                     {"how", run.ceilings.how}};
  out["overheads"] = {{"host_us", pairs(run.overheads.us)},
                      {"host_us_p90", pairs(run.overheads.us_p90)},
                      {"bytes", pairs(run.overheads.bytes)}};
  out["falls"] = Json::array();
  for (const Fall& fall : run.falls) out["falls"].push_back(json_of(fall));
  out["not_measured"] = run.not_measured;
  out["failed"] = run.failed;
  // One result per line: files that people compare.
  std::string text = out.dump(1);
  text.resize(text.rfind('\n'));
  text += ",\n \"results\": [";
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + json_of(run, run.results[i]).dump();
  }
  return text + "\n ]\n}\n";
}

}  // namespace detgemm::bench
