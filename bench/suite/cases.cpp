// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <stdexcept>

#include "bench/suite/case_table.hpp"
#include "bench/suite/values.hpp"

namespace detgemm::bench {
namespace {

using Json = nlohmann::json;

constexpr std::array kKeys{"name",      "about",   "on",         "layers",      "tokens",
                           "arms",      "quick",   "mode",       "idle_ms",     "best",
                           "before",    "kinds",   "hot",        "repetitions", "dtypes",
                           "epilogues", "threads", "accumulate", "baselines"};

/// Refuses a misspelled key, which would count as one that is left out.
void check_keys(const Json& suite) {
  for (const auto& [key, value] : suite.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) {
      if (key != "quick") continue;
      if (!value.is_object()) wrong_case("quick is " + value.dump() + ": it must be an object");
      check_keys(value);
      continue;
    }
    std::string list;
    for (const char* known : kKeys) list += (list.empty() ? "" : ", ") + std::string(known);
    wrong_case("a suite has the key \"" + key + "\": it must be one of " + list);
  }
}

bool truth(const Json& suite, const char* key, bool otherwise) {
  const Json value = suite.value(key, Json(otherwise));
  if (value.is_boolean()) return value;
  wrong_case(std::string(key) + " is " + value.dump() + ": it must be true or false");
}

/// The cases of a table's suites.
class SuiteReader {
 public:
  SuiteReader(const CaseTable& table, const CaseQuery& query) : table_(table), query_(query) {}

  std::vector<Case> all() {
    for (const Json& suite : table_.suites()) {
      check_keys(suite);
      const std::string name = suite.at("name");  // one name may stand for a suite per backend
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.push_back(name);
      if (wanted(suite)) add(suite);
    }
    for (const std::string& name : query_.suites) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        std::string list;
        for (const auto& one : known_) list += (list.empty() ? "" : ", ") + one;
        wrong_case("suite is \"" + name + "\": it must be one of " + list);
      }
    }
    return std::move(cases_);
  }

 private:
  bool wanted(const Json& suite) const {
    if (suite.contains("on")) {
      const auto& on = suite["on"];
      if (std::find(on.begin(), on.end(), query_.backend) == on.end()) return false;
    }
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
    for (const auto& layer : table_.layers(field(suite, "layers", Json::array()))) {
      for (const auto& kind : field(suite, "kinds", Json::array({"forward"}))) {
        for (const auto& dtype : field(suite, "dtypes", Json::array({"bf16"}))) {
          const auto type = parse_dtype(dtype.get<std::string>());
          if (!type) wrong_case(layer.get<std::string>() + ": " + type.status().message());
          Problem p = table_.weights_of(layer);
          p.kind = parse_kind(kind);
          p.type = *type;
          add_layer(suite, layer, p);
        }
      }
    }
  }

  /// A list of numbers, a text as --m has it, or "n" for as many tokens as the layer has columns.
  std::vector<std::int64_t> tokens_of(const Json& suite, const Problem& p) const {
    if (!query_.tokens.empty()) return query_.tokens;
    const Json tokens = field(suite, "tokens", Json::array());
    if (tokens == "n") return {p.n};
    if (tokens.is_string()) return parse_values("tokens", tokens, query_.seed);
    if (!tokens.is_array()) {
      wrong_case("tokens is " + tokens.dump() + ": it must be a list of numbers, a text or \"n\"");
    }
    std::vector<std::int64_t> list;
    for (const Json& one : tokens) list.push_back(whole_number("tokens", one, 1, kMaxExtent));
    return list;
  }

  void add_layer(const Json& suite, const std::string& layer, Problem p) {
    p.accumulate = truth(suite, "accumulate", false);
    p.hot = truth(suite, "hot", false);
    const auto extras = suite.value("epilogues", std::vector<std::string>{"none"});
    const auto kinds_before = suite.value("before", std::vector<std::string>{"nothing"});
    for (const std::int64_t m : tokens_of(suite, p)) {
      p.tokens = m;
      for (const std::string& extra : extras) {
        p.extra = parse_extra(extra);
        for (const std::string& before : kinds_before) {
          p.before = parse_before(before);
          add_case(suite, layer, p);
        }
      }
    }
  }

  void add_case(const Json& suite, const std::string& layer, const Problem& p) {
    Case c = CaseTable::make_case(layer, p, suite.value("mode", "auto"));
    c.threads = static_cast<int>(whole_number("threads", suite.value("threads", Json(0)), 0, 4096));
    if (c.threads != 0) c.id += "/threads" + std::to_string(c.threads);
    c.best = truth(suite, "best", true);
    c.baselines = suite.value("baselines", std::vector<std::string>{});
    c.repetitions = static_cast<int>(
        whole_number("repetitions", suite.value("repetitions", Json(0)), 0, 1 << 20));
    if (suite.contains("idle_ms")) {
      c.idle_ms = static_cast<double>(whole_number("idle_ms", suite["idle_ms"], 0, 60'000));
    }
    for (const auto& arm : suite.at("arms")) {
      c.contract_arms.push_back(table_.contract_arm(arm, p));
    }
    c.suites.push_back(suite.at("name"));
    join_case(cases_, std::move(c));
  }

  const CaseTable& table_;
  const CaseQuery& query_;
  std::vector<std::string> known_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> read_cases(std::string_view json, const CaseQuery& query) {
  try {
    const CaseTable table(json, query.native);
    if (!query.own.asked()) return SuiteReader(table, query).all();
    std::vector<Case> cases;
    add_own_cases(table, query, cases);
    return cases;
  } catch (const Json::exception& error) {
    wrong_case(error.what());
  }
}

}  // namespace detgemm::bench
