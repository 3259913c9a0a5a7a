// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/suite/case.hpp"

namespace detgemm::bench {

/// A table of cases whose entries are looked up by name. Every function throws
/// std::invalid_argument with a sentence where a name is not in the table or a value is wrong.
class CaseTable {
 public:
  using Json = nlohmann::json;

  /// `text`: see read_cases.
  CaseTable(std::string_view text, Arithmetic native);

  const Json& suites() const { return table_.at("suites"); }
  /// A list of layers: as it stands, or the name of a set.
  Json layers(const Json& list) const;
  /// Layers of a model (MODEL) or one layer (MODEL/LAYER).
  std::vector<std::string> layers_of(const std::string& name) const;
  /// All layers of the models of the set "published".
  std::vector<std::string> published() const;
  /// A forward problem of one token with the weights of MODEL/LAYER.
  Problem weights_of(const std::string& layer) const;
  /// An arm of the table, or a contract with or without "+stable" behind it. {native}, {dtype},
  /// {out} and {k/8} stand for what they are in this problem.
  ContractArm contract_arm(const std::string& text, const Problem& problem) const;
  /// The case of a problem, without arms: its name, its mode, its parts.
  static Case make_case(const std::string& layer, const Problem& problem, const std::string& mode);

 private:
  Json table_;
  Arithmetic native_;
};

/// What is wrong with a table of cases or with a request for some of it.
[[noreturn]] void wrong_case(const std::string& sentence);

/// A whole number of a table, from `low` to `high`: neither a fraction nor a text.
std::int64_t whole_number(const std::string& what, const nlohmann::json& value, std::int64_t low,
                          std::int64_t high);
/// forward, dA or dB.
Kind parse_kind(const std::string& text);
/// none, bias, beta, bias+relu or bias+gelu_tanh.
Before parse_before(const std::string& text);
Extra parse_extra(const std::string& text);

/// Appends what `query.own` asks for. `tokens` is not empty unless pairs are drawn.
void add_own_cases(const CaseTable& table, const CaseQuery& query, std::vector<Case>& cases);

/// Appends a case, or adds its arms to the one of that name.
void join_case(std::vector<Case>& cases, Case c);

}  // namespace detgemm::bench
