// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/case_table.hpp"

#include <algorithm>
#include <stdexcept>

#include "bench/suite/values.hpp"

namespace detgemm::bench {
namespace {

using Json = nlohmann::json;

template <class T>
T need(Result<T> result, const std::string& where) {
  if (!result) wrong_case(where + ": " + result.status().message());
  return std::move(result).value();
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what)) {
    text.replace(at, what.size(), by);
  }
}

/// Long products settle the clock differently than short ones; see docs/benchmarks.md.
Mode mode_of(const std::string& text, const Problem& p) {
  for (const Mode mode : {Mode::stream, Mode::burst, Mode::settled}) {
    if (text == name(mode)) return mode;
  }
  if (text != "auto") {
    wrong_case("mode is \"" + text + "\": it must be auto, stream, burst or settled");
  }
  return p.tokens <= 512 && p.kind == Kind::forward ? Mode::stream : Mode::burst;
}

std::string names_of(const Json& object) {
  std::string list;
  for (const auto& [key, value] : object.items()) list += (list.empty() ? "" : ", ") + key;
  return list;
}

}  // namespace

void wrong_case(const std::string& sentence) {
  throw std::invalid_argument("cases: " + printable(sentence));
}

std::int64_t whole_number(const std::string& what, const nlohmann::json& value, std::int64_t low,
                          std::int64_t high) {
  // A number beyond int64 is an unsigned one.
  const bool whole =
      value.is_number_integer() && (!value.is_number_unsigned() ||
                                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
  if (whole && value.get<std::int64_t>() >= low && value.get<std::int64_t>() <= high) {
    return value.get<std::int64_t>();
  }
  wrong_case(what + " is " + value.dump() + ": it must be a whole number from " +
             std::to_string(low) + " to " + std::to_string(high));
}

Kind parse_kind(const std::string& text) {
  for (const Kind kind : {Kind::forward, Kind::da, Kind::db}) {
    if (text == name(kind)) return kind;
  }
  wrong_case("kind is \"" + text + "\": it must be forward, dA or dB");
}

Extra parse_extra(const std::string& text) {
  for (const Extra extra :
       {Extra::none, Extra::bias, Extra::beta, Extra::bias_relu, Extra::bias_gelu_tanh}) {
    if (text == name(extra)) return extra;
  }
  wrong_case("epilogue is \"" + text +
             "\": it must be none, bias, beta, bias+relu or bias+gelu_tanh");
}

Before parse_before(const std::string& text) {
  for (const Before before : {Before::nothing, Before::foreign, Before::own}) {
    if (text == name(before)) return before;
  }
  wrong_case("before is \"" + text + "\": it must be nothing, foreign or own");
}

CaseTable::CaseTable(std::string_view text, Arithmetic native) : native_(native) {
  table_ = Json::parse(built_in_cases());
  const Json own = Json::parse(text);
  if (own.at("schema") != 1) {
    wrong_case("schema is " + own.at("schema").dump() + ": it must be 1");
  }
  for (const char* part : {"models", "sets", "arms"}) {
    if (own.contains(part)) table_[part].update(own[part]);
  }
  table_["suites"] = own.at("suites");
}

Json CaseTable::layers(const Json& list) const {
  if (list.is_array()) return list;
  const Json& sets = table_.at("sets");
  if (!list.is_string() || !sets.contains(list.get<std::string>())) {
    wrong_case("layers is " + list.dump() + ": it must be a list, or a set of " + names_of(sets));
  }
  return sets.at(list.get<std::string>());
}

std::vector<std::string> CaseTable::layers_of(const std::string& name) const {
  if (name.find('/') != std::string::npos) return {name};
  const Json& models = table_.at("models");
  if (!models.contains(name)) {
    wrong_case("layer is \"" + name + "\": it must be MODEL/LAYER, or MODEL of " +
               names_of(models));
  }
  std::vector<std::string> all;
  for (const auto& [layer, shape] : models.at(name).items()) all.push_back(name + "/" + layer);
  return all;
}

std::vector<std::string> CaseTable::published() const {
  std::vector<std::string> all;
  for (const std::string model : table_.at("sets").at("published")) {
    for (const std::string& layer : layers_of(model)) all.push_back(layer);
  }
  return all;
}

Problem CaseTable::weights_of(const std::string& layer) const {
  const auto slash = layer.find('/');
  if (slash == std::string::npos) {
    wrong_case("layer is \"" + layer + "\": it must be MODEL/LAYER");
  }
  const std::string model = layer.substr(0, slash);
  const Json& models = table_.at("models");
  if (!models.contains(model)) {
    wrong_case("layer is \"" + layer + "\": its model must be one of " + names_of(models));
  }
  if (!models.at(model).contains(layer.substr(slash + 1))) {
    wrong_case("layer is \"" + layer + "\": " + model + " has " + names_of(models.at(model)));
  }
  const Json& shape = models.at(model).at(layer.substr(slash + 1));
  Problem p;
  p.tokens = 1;
  if (!shape.is_array() || shape.size() != 2) {
    wrong_case(layer + " is " + shape.dump() + ": it must be [N, K]");
  }
  p.n = whole_number(layer + ": N", shape[0], 1, kMaxExtent);
  p.k = whole_number(layer + ": K", shape[1], 1, kMaxExtent);
  return p;
}

ContractArm CaseTable::contract_arm(const std::string& text, const Problem& problem) const {
  ContractArm arm{text, {}, Stable::none};
  std::string contract = text;
  const Json& arms = table_.at("arms");
  if (arms.contains(text)) {
    contract = arms.at(text).at("contract");
    if (arms.at(text).contains("stable")) {
      arm.stable = need(parse_stable(arms.at(text)["stable"].get<std::string>()), "arm " + text);
    }
    const std::string snapped = arms.at(text).value("snapped", "");
    if (snapped.find_first_not_of("ab") != std::string::npos) {
      wrong_case("arm " + text + ": snapped is \"" + snapped + "\": it must be a, b or ab");
    }
    arm.a_snapped = snapped.find('a') != std::string::npos;
    arm.b_snapped = snapped.find('b') != std::string::npos;
  } else if (text.size() > 7 && text.compare(text.size() - 7, 7, "+stable") == 0) {
    contract.resize(text.size() - 7);
    arm.stable = Stable::b;
  }
  // Eight leaves, in whole stages of the kernels.
  const std::int64_t leaf = std::max<std::int64_t>(64, (gemm_of(problem).k / 8 + 63) / 64 * 64);
  replace(contract, "{native}", std::string(detgemm::name(native_)));
  replace(contract, "{dtype}", std::string(detgemm::name(problem.type)));
  replace(contract, "{out}", std::string(detgemm::name(output_of(problem))));
  replace(contract, "{k/8}", std::to_string(leaf));
  arm.contract = need(Contract::parse(contract), "arm " + text);
  return arm;
}

Case CaseTable::make_case(const std::string& layer, const Problem& problem,
                          const std::string& mode) {
  Case c;
  const auto slash = layer.find('/');
  c.model = layer.substr(0, slash);
  c.layer = layer.substr(slash + 1);
  c.problem = problem;
  c.mode = mode_of(mode, problem);
  c.id = layer + "/" + name(problem.kind) + "/m" + std::to_string(problem.tokens) + "/" +
         std::string(detgemm::name(problem.type));
  if (problem.output) c.id += "->" + std::string(detgemm::name(*problem.output));
  if (c.mode == Mode::settled) c.id += "/settled";
  if (problem.accumulate) c.id += "/accumulate";
  if (problem.extra != Extra::none) c.id += std::string("/") + name(problem.extra);
  if (problem.hot) c.id += "/hot";
  if (problem.before != Before::nothing) c.id += std::string("/") + name(problem.before);
  return c;
}

void join_case(std::vector<Case>& cases, Case c) {
  const auto it =
      std::find_if(cases.begin(), cases.end(), [&](const Case& other) { return other.id == c.id; });
  if (it == cases.end()) {
    cases.push_back(std::move(c));
    return;
  }
  if (it->suites.back() != c.suites.front()) it->suites.push_back(c.suites.front());
  it->best = it->best || c.best;
  // What one suite limits another one may need.
  if (c.baselines.empty()) it->baselines.clear();
  if (c.repetitions == 0) it->repetitions = 0;
  if (c.idle_ms < 0) it->idle_ms = -1;
  for (ContractArm& arm : c.contract_arms) {
    const bool there = std::any_of(it->contract_arms.begin(), it->contract_arms.end(),
                                   [&](const ContractArm& o) { return o.name == arm.name; });
    if (!there) it->contract_arms.push_back(std::move(arm));
  }
}

}  // namespace detgemm::bench
