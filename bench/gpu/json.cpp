// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <fstream>
#include <sstream>

#include "bench/gpu/result.hpp"

namespace detgemm::bench {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
    else
      out += ' ';
  }
  return out + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

const char* type_name(DType type) {
  if (type == DType::fp32) return "fp32";
  return type == DType::fp16 ? "fp16" : "bf16";
}

std::string problem(const Problem& p) {
  std::ostringstream out;
  out << "{\"kind\": " << quoted(name(p.kind)) << ", \"m\": " << p.tokens << ", \"n\": " << p.n
      << ", \"k\": " << p.k << ", \"type\": " << quoted(std::string(type_name(p.type)));
  if (!p.is_chain()) {
    const auto kind = p.reduction.kind == ReductionKind::tree ? "tree:" : "fold:";
    out << ", \"reduction\": " << quoted(kind + std::to_string(p.reduction.leaf_k));
  }
  if (p.accumulate) out << ", \"accumulate\": true";
  out << "}";
  return out.str();
}

std::string row(const CaseResult& r) {
  std::ostringstream out;
  out << "  {\"group\": " << quoted(r.what.group) << ", \"mode\": " << quoted(name(r.what.mode))
      << ", \"problem\": " << problem(r.what.problem);
  if (r.what.neighbour) out << ", \"neighbour\": " << problem(*r.what.neighbour);
  out << ",\n   \"arms\": {";
  const char* comma = "";
  for (const ArmResult& arm : r.arms) {
    out << comma << "\n    " << quoted(arm.name) << ": {\"us\": " << number(arm.us.median)
        << ", \"p10\": " << number(arm.us.p10) << ", \"p90\": " << number(arm.us.p90)
        << ", \"samples\": " << arm.us.samples << ", \"calls\": " << arm.calls
        << ", \"what\": " << quoted(arm.detail) << "}";
    comma = ",";
  }
  out << "},\n   \"ratio_early\": " << number(r.ratio("early"))
      << ", \"ratio_plain\": " << number(r.ratio("plain"))
      << ", \"ratio_serial\": " << number(r.ratio("serial"))
      << ", \"bits\": {\"chain_seen\": " << r.chain.seen
      << ", \"chain_different\": " << r.chain.different << ", \"cublas0_seen\": " << r.vendor.seen
      << ", \"cublas0_different\": " << r.vendor.different << "}";
  if (r.watched.watts > 0) {
    out << ",\n   \"nvml\": {\"watts\": " << number(r.watched.watts)
        << ", \"sm_mhz\": " << number(r.watched.sm_mhz)
        << ", \"memory_mhz\": " << number(r.watched.memory_mhz)
        << ", \"celsius\": " << number(r.watched.celsius) << "}";
  }
  out << ", \"notes\": [";
  comma = "";
  for (const std::string& note : r.notes) {
    out << comma << quoted(note);
    comma = ", ";
  }
  out << "]}";
  return out.str();
}

}  // namespace

bool write_json(const std::string& path, const Machine& m, const std::vector<CaseResult>& results) {
  std::ofstream out(path);
  out << "{\"schema\": \"detgemm-bench-gpu-1\",\n \"command\": " << quoted(m.command)
      << ",\n \"date\": " << quoted(m.date) << ", \"commit\": " << quoted(m.commit)
      << ",\n \"machine\": {\"device\": " << quoted(m.device) << ", \"sms\": " << m.sms
      << ", \"l2_mib\": " << number(m.l2_mib) << ", \"driver\": " << quoted(m.driver)
      << ", \"cuda\": " << quoted(m.cuda) << ", \"cublaslt\": " << quoted(m.cublaslt)
      << "},\n \"unit\": \"microseconds a call; medians\",\n \"results\": [\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    out << row(results[i]) << (i + 1 < results.size() ? ",\n" : "\n");
  }
  out << " ]}\n";
  out.close();
  return static_cast<bool>(out);
}

}  // namespace detgemm::bench
