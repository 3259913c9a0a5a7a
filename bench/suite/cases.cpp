// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/suite/case.hpp"

namespace detgemm::bench {
namespace {

using Json = nlohmann::json;

[[noreturn]] void wrong(const std::string& sentence) {
  throw std::invalid_argument("cases: " + sentence);
}

template <class T>
T need(Result<T> result, const std::string& where) {
  if (!result) wrong(where + ": " + result.status().message());
  return std::move(result).value();
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what)) {
    text.replace(at, what.size(), by);
  }
}

Kind kind_of(const std::string& text) {
  for (const Kind kind : {Kind::forward, Kind::da, Kind::db}) {
    if (text == name(kind)) return kind;
  }
  wrong("kind is \"" + text + "\": it must be forward, dA or dB");
}

/// Long products settle the clock differently than short ones; see docs/benchmarks.md.
Mode mode_of(const std::string& text, std::int64_t tokens, Kind kind) {
  for (const Mode mode : {Mode::stream, Mode::burst, Mode::settled}) {
    if (text == name(mode)) return mode;
  }
  if (text != "auto") wrong("mode is \"" + text + "\": it must be auto, stream, burst or settled");
  return tokens <= 512 && kind == Kind::forward ? Mode::stream : Mode::burst;
}

class Reader {
 public:
  Reader(const Json& table, const CaseQuery& query) : table_(table), query_(query) {}

  std::vector<Case> all() {
    for (const Json& suite : table_.at("suites")) {
      known_.push_back(suite.at("name"));
      if (wanted(suite)) add(suite);
    }
    for (const std::string& name : query_.suites) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        std::string list;
        for (const auto& one : known_) list += (list.empty() ? "" : ", ") + one;
        wrong("suite is \"" + name + "\": it must be one of " + list);
      }
    }
    return std::move(cases_);
  }

 private:
  bool wanted(const Json& suite) const {
    const auto& on = suite.at("on");
    if (std::find(on.begin(), on.end(), query_.backend) == on.end()) return false;
    const std::string name = suite.at("name");
    return query_.suites.empty() ||
           std::find(query_.suites.begin(), query_.suites.end(), name) != query_.suites.end();
  }

  /// A field of the suite, or of its quick form where that is asked for and has it.
  Json field(const Json& suite, const char* key, const Json& otherwise) const {
    if (query_.quick && suite.contains("quick") && suite["quick"].contains(key)) {
      return suite["quick"][key];
    }
    return suite.value(key, otherwise);
  }

  void add(const Json& suite) {
    Json layers = field(suite, "layers", Json::array());
    if (layers.is_string()) layers = table_.at("sets").at(layers.get<std::string>());
    for (const auto& layer : layers) {
      for (const auto& kind : field(suite, "kinds", Json::array({"forward"}))) {
        for (const auto& dtype : field(suite, "dtypes", Json::array({"bf16"}))) {
          add_layer(suite, layer, kind_of(kind),
                    need(parse_dtype(dtype.get<std::string>()), layer));
        }
      }
    }
  }

  void add_layer(const Json& suite, const std::string& layer, Kind kind, DType dtype) {
    const auto slash = layer.find('/');
    if (slash == std::string::npos) wrong("layer is \"" + layer + "\": it must be MODEL/LAYER");
    const Json& shape = table_.at("models").at(layer.substr(0, slash)).at(layer.substr(slash + 1));
    Json tokens = field(suite, "tokens", Json::array());
    if (tokens == "n") tokens = Json::array({shape.at(0)});
    if (!query_.tokens.empty()) tokens = query_.tokens;
    for (const std::int64_t m : tokens) {
      Case c;
      c.model = layer.substr(0, slash);
      c.layer = layer.substr(slash + 1);
      c.problem.kind = kind;
      c.problem.tokens = m;
      c.problem.n = shape.at(0);
      c.problem.k = shape.at(1);
      c.problem.type = dtype;
      c.problem.accumulate = suite.value("accumulate", false);
      c.problem.hot = suite.value("hot", false);
      if (m < 1 || c.problem.n < 1 || c.problem.k < 1) wrong(layer + ": sizes must be positive");
      c.mode = mode_of(suite.value("mode", "auto"), m, kind);
      c.threads = suite.value("threads", 0);
      c.best = suite.value("best", true);
      c.id = layer + "/" + name(kind) + "/m" + std::to_string(m) + "/" +
             std::string(detgemm::name(dtype));
      if (c.mode == Mode::settled) c.id += "/settled";
      if (c.problem.accumulate) c.id += "/accumulate";
      if (c.problem.hot) c.id += "/hot";
      if (c.threads != 0) c.id += "/threads" + std::to_string(c.threads);
      for (const auto& arm : suite.at("arms")) c.contract_arms.push_back(contract_arm(arm, c));
      c.suites.push_back(suite.at("name"));
      join(std::move(c));
    }
  }

  ContractArm contract_arm(const std::string& arm, const Case& c) const {
    const Json& entry = table_.at("arms").at(arm);
    std::string text = entry.at("contract");
    // Eight leaves, in whole stages of the kernels.
    const std::int64_t leaf = std::max<std::int64_t>(64, (gemm_of(c.problem).k / 8 + 63) / 64 * 64);
    replace(text, "{native}", std::string(detgemm::name(query_.native)));
    replace(text, "{dtype}", std::string(detgemm::name(c.problem.type)));
    replace(text, "{out}", std::string(detgemm::name(output_of(c.problem))));
    replace(text, "{k/8}", std::to_string(leaf));
    ContractArm spec{arm, need(Contract::parse(text), "arm " + arm), Stable::none};
    if (entry.contains("stable")) {
      spec.stable = need(parse_stable(entry["stable"].get<std::string>()), "arm " + arm);
    }
    return spec;
  }

  void join(Case c) {
    const auto it = std::find_if(cases_.begin(), cases_.end(),
                                 [&](const Case& other) { return other.id == c.id; });
    if (it == cases_.end()) {
      cases_.push_back(std::move(c));
      return;
    }
    it->suites.push_back(c.suites.front());
    it->best = it->best || c.best;
    for (ContractArm& spec : c.contract_arms) {
      const bool there = std::any_of(it->contract_arms.begin(), it->contract_arms.end(),
                                     [&](const ContractArm& o) { return o.name == spec.name; });
      if (!there) it->contract_arms.push_back(std::move(spec));
    }
  }

  const Json& table_;
  const CaseQuery& query_;
  std::vector<std::string> known_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> read_cases(std::string_view json, const CaseQuery& query) {
  try {
    const Json table = Json::parse(json);
    if (table.at("schema") != 1) wrong("schema is " + table.at("schema").dump() + ": it must be 1");
    return Reader(table, query).all();
  } catch (const Json::exception& error) {
    wrong(error.what());
  }
}

}  // namespace detgemm::bench
