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

Json json_of(const ArmResult& arm) {
  Json out{{"arm", arm.name}, {"role", arm.is_ours ? "ours" : "baseline"}};
  if (arm.is_ours) {
    out["contract"] = arm.contract;
    out["digest"] = arm.digest;
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
           {"dtype", detgemm::name(p.type)},
           {"mode", name(r.what.mode)},
           {"cache", p.hot ? "hot" : "cold"},
           {"accumulate", p.accumulate},
           {"threads", r.what.threads},
           {"flops", g.flops()},
           {"bytes", g.bytes()}};
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

}  // namespace

std::string repro(const RunResult& run, const Case& c) {
  return "detgemm bench --backend " + run.backend + " --suite " + c.suites.front() +
         (run.quick ? " --quick" : "") + " --filter '^" + c.id + "/'";
}

std::string to_json(const RunResult& run) {
  Json out{{"schema", 1},
           {"tool", "detgemm_bench"},
           {"version", run.version},
           {"date", run.date},
           {"commit", run.commit},
           {"command", run.command},
           {"backend", run.backend},
           {"quick", run.quick},
           {"unit", "microseconds a call; medians"},
           {"machine", pairs(run.machine)}};
  out["baselines"] = Json::array();
  for (const Baseline& baseline : run.baselines) {
    out["baselines"].push_back(
        {{"name", baseline.name}, {"present", baseline.present}, {"what", baseline.what}});
  }
  out["ceilings"] = {{"copy_bytes_per_s", rounded(run.ceilings.copy_bytes_per_s)},
                     {"read_bytes_per_s", rounded(run.ceilings.read_bytes_per_s)},
                     {"flops_per_s", pairs(run.ceilings.flops)},
                     {"how", run.ceilings.how}};
  out["overheads"] = {{"host_us", pairs(run.overheads.us)}, {"bytes", pairs(run.overheads.bytes)}};
  out["not_measured"] = run.not_measured;
  out["failed"] = run.failed;
  // A result a line: files that people compare.
  std::string text = out.dump(1);
  text.resize(text.rfind('\n'));
  text += ",\n \"results\": [";
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + json_of(run, run.results[i]).dump();
  }
  return text + "\n ]\n}\n";
}

}  // namespace detgemm::bench
