// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/tally.hpp"

#include <cstdio>

namespace detgemm::test {
namespace {

void add_to(Count& count, const Problem& p, const Difference& difference, bool inputs_intact) {
  ++count.runs;
  count.outputs += static_cast<unsigned long long>(p.m) * static_cast<unsigned long long>(p.spec.n);
  count.nans += difference.nans;
  count.mismatches += difference.elements;
  count.outside += difference.bytes_outside();
  count.inputs += inputs_intact ? 0 : 1;
}

std::string epilogue(const Problem& p) {
  std::string text;
  if (p.spec.continue_from_c) text += " continue";
  if (p.spec.alpha != 1.0F) text += " alpha";
  if (p.spec.beta != 0.0F) text += " beta";
  if (p.spec.bias) text += " bias";
  if (p.spec.activation != Activation::none) text += " activation";
  return text.empty() ? "none" : text.substr(1);
}

}  // namespace

void Tally::add(const Problem& p, const std::string& variant, const std::string& kernel,
                const Difference& difference, bool inputs_intact) {
  const std::string asked = variant.empty() ? "(chosen)" : variant;
  const Contract& contract = p.spec.contract;
  const bool aligned =
      p.a.offset % 8 == 0 && p.a.ld % 8 == 0 && p.b.offset % 8 == 0 && p.b.ld % 8 == 0;
  const std::string types =
      std::string(name(contract.input)) + "->" + std::string(name(contract.output));
  const std::pair<const char*, std::string> headings[] = {
      {"variant", asked},
      {"variant, layout, types", asked + ", " + p.layout() + ", " + types},
      {"kernel", kernel.substr(0, kernel.find_first_of(" ,"))},
      {"layout", p.layout()},
      {"types", types},
      {"data", std::string(name(p.data))},
      {"shape", p.shape},
      {"output", p.d.col_major ? "column-major" : "row-major"},
      {"inputs", aligned ? "16-byte aligned" : "misaligned"},
      {"epilogue", epilogue(p)},
      {"stable", std::string(name(p.stable))},
  };
  for (const auto& [heading, value] : headings) {
    add_to(by_[heading][value], p, difference, inputs_intact);
  }
  add_to(total_, p, difference, inputs_intact);
}

std::string Tally::text() const {
  std::string text;
  char row[200];
  const auto line = [&](const std::string& label, const Count& c) {
    std::snprintf(row, sizeof row,
                  "  %-44s %8llu runs %14llu outputs %11llu NaN %8llu wrong %6llu "
                  "outside %4llu inputs changed\n",
                  label.c_str(), c.runs, c.outputs, c.nans, c.mismatches, c.outside, c.inputs);
    text += row;
  };
  for (const auto& [heading, values] : by_) {
    if (heading == "variant, layout, types") continue;  // long: in the JSON
    text += heading + "\n";
    for (const auto& [value, count] : values) line(value, count);
  }
  text += "all\n";
  line("", total_);
  return text;
}

nlohmann::json Tally::json() const {
  const auto object = [](const Count& c) {
    return nlohmann::json{{"runs", c.runs},
                          {"outputs", c.outputs},
                          {"nan_outputs", c.nans},
                          {"mismatches", c.mismatches},
                          {"bytes_outside", c.outside},
                          {"inputs_changed", c.inputs}};
  };
  nlohmann::json out;
  for (const auto& [heading, values] : by_) {
    for (const auto& [value, count] : values) out["by"][heading][value] = object(count);
  }
  out["total"] = object(total_);
  return out;
}

}  // namespace detgemm::test
