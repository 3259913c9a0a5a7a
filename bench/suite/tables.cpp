// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>

#include "bench/suite/console.hpp"
#include "bench/suite/result.hpp"

namespace detgemm::bench {
namespace {

std::string number(double value, int decimals) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string invariant(const ArmResult& arm) {
  return !arm.batch_invariant ? "" : *arm.batch_invariant ? "yes" : "no";
}

/// A field of a CSV file: quoted where it must be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// The first comparison of an arm of detgemm, which is with the first baseline; null without one.
const Versus* first(const CaseResult& r, const ArmResult& arm) {
  for (const Versus& v : r.comparisons) {
    if (v.arm == arm.name) return &v;
  }
  return nullptr;
}

}  // namespace

std::string to_csv(const RunResult& run) {
  std::string out =
      "case,kind,m,n,k,dtype,mode,cache,threads,arm,role,contract,digest,variant,what,us,p10,p90,"
      "samples,"
      "noise,tflops,sm_mhz,share_of_limit,batch_invariant\n";
  for (const CaseResult& r : run.results) {
    const Problem& p = r.what.problem;
    for (const ArmResult& arm : r.arms) {
      const double tflops = arm.us.median > 0 ? gemm_of(p).flops() / arm.us.median * 1e-6 : 0;
      const std::string cells[] = {r.what.id,
                                   name(p.kind),
                                   std::to_string(p.tokens),
                                   std::to_string(p.n),
                                   std::to_string(p.k),
                                   std::string(detgemm::name(p.type)),
                                   name(r.what.mode),
                                   p.hot ? "hot" : "cold",
                                   std::to_string(r.what.threads),
                                   arm.name,
                                   name(arm.role),
                                   arm.contract,
                                   arm.digest,
                                   arm.variant,
                                   arm.detail,
                                   number(arm.us.median, 4),
                                   number(arm.us.p10, 4),
                                   number(arm.us.p90, 4),
                                   std::to_string(arm.us.samples),
                                   number(arm.us.noise(), 4),
                                   number(tflops, 4),
                                   number(arm.sm_mhz, 0),
                                   number(arm.share_of_limit, 4),
                                   invariant(arm)};
      std::string line;
      for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + field(cell);
      out += line + "\n";
    }
  }
  return out;
}

std::string to_markdown(const RunResult& run) {
  std::string out = "# detgemm bench, " + run.backend + ", " + run.date + "\n\n";
  for (const auto& [key, value] : run.machine) out += "- " + key + ": " + value + "\n";
  for (const Baseline& baseline : run.baselines) {
    out += "- baseline " + baseline.name + (baseline.present ? ": " : ": absent: ") +
           baseline.what + "\n";
  }
  out +=
      "\n| case | arm | us | p10 .. p90 | rate | row 0 keeps its bits | against the first "
      "baseline |\n|---|---|---|---|---|---|---|\n";
  for (const CaseResult& r : run.results) {
    for (const ArmResult& arm : r.arms) {
      const Versus* v = first(r, arm);
      const std::string versus = v == nullptr ? ""
                                              : v->baseline + " / " + v->arm + " " +
                                                    number(v->comparison.ratio, 3) + ", " +
                                                    v->comparison.verdict;
      out += "| " + r.what.id + " | " + arm.name + " | " + number(arm.us.median, 2) + " | " +
             number(arm.us.p10, 2) + " .. " + number(arm.us.p90, 2) + " | " +
             text_of_rate(gemm_of(r.what.problem).flops() / arm.us.median * 1e6) + " | " +
             invariant(arm) + " | " + versus + " |\n";
    }
    for (const std::string& note : r.notes)
      out += "| " + r.what.id + " | " + note + " | | | | | |\n";
  }
  return out;
}

}  // namespace detgemm::bench
