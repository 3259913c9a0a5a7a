// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the command line: named layers or one's own sizes, or pairs that are drawn.

#include <optional>

#include "bench/suite/case_table.hpp"
#include "bench/suite/values.hpp"

namespace detgemm::bench {
namespace {

/// The weights of a case and where they come from.
struct Weights {
  std::string layer;
  std::int64_t n, k;
};

class OwnReader {
 public:
  OwnReader(const CaseTable& table, const CaseQuery& query, std::vector<Case>& cases)
      : table_(table), query_(query), own_(query.own), cases_(cases) {}

  void add() {
    if (own_.n.empty() != own_.k.empty()) {
      wrong_case("--n and --k must be given together");
    }
    std::vector<Weights> weights;
    for (const std::string& name : own_.layers) {
      for (const std::string& layer : table_.layers_of(name)) weights.push_back(named(layer));
    }
    for (const std::int64_t n : own_.n) {
      for (const std::int64_t k : own_.k) {
        weights.push_back({"own/" + std::to_string(n) + "x" + std::to_string(k), n, k});
      }
    }
    if (own_.draws > 0) return draw(weights);
    if (weights.empty()) {
      wrong_case(
          "--contract, --kind, --epilogue and --mode are for --layers, for --n with --k, or for "
          "--draw");
    }
    if (query_.tokens.empty()) wrong_case("--layers and --n with --k must have --m beside them");
    for (const Weights& w : weights) {
      for (const std::int64_t m : query_.tokens) add_case("own", w, m);
    }
  }

 private:
  Weights named(const std::string& layer) const {
    const Problem p = table_.weights_of(layer);
    return {layer, p.n, p.k};
  }

  void draw(std::vector<Weights> weights) {
    if (weights.empty()) {
      for (const std::string& layer : table_.published()) weights.push_back(named(layer));
    }
    Draws layers(query_.seed, "layer");
    Draws tokens(query_.seed, "m");
    for (int i = 0; i < own_.draws; ++i) {
      const Weights& w = weights[static_cast<std::size_t>(
          layers.below(static_cast<std::int64_t>(weights.size())))];
      const auto count = static_cast<std::int64_t>(query_.tokens.size());
      const std::int64_t m = count == 0
                                 ? tokens.log_uniform(1, 8192)
                                 : query_.tokens[static_cast<std::size_t>(tokens.below(count))];
      add_case("drawn", w, m);
    }
  }

  void add_case(const std::string& suite, const Weights& w, std::int64_t m) {
    const std::vector<std::string> none{"none"};
    for (const std::string& extra : own_.extras.empty() ? none : own_.extras) {
      add_case(suite, w, m, parse_extra(extra));
    }
  }

  void add_case(const std::string& suite, const Weights& w, std::int64_t m, Extra extra) {
    const std::vector<std::string> forward{"forward"}, chain{"chain"};
    for (const std::string& kind : own_.kinds.empty() ? forward : own_.kinds) {
      for (const std::string& text : own_.contracts.empty() ? chain : own_.contracts) {
        Problem p;
        p.kind = parse_kind(kind);
        p.tokens = m;
        p.n = w.n;
        p.k = w.k;
        p.extra = extra;
        // The contract says the types, and the types say what a named arm's contract is.
        ContractArm arm = table_.contract_arm(text, p);
        p.type = arm.contract.input;
        if (arm.contract.output != output_of(p)) p.output = arm.contract.output;
        Case c = CaseTable::make_case(w.layer, p, own_.mode.empty() ? "auto" : own_.mode);
        c.suites = {suite};
        c.best = true;
        c.contract_arms = {std::move(arm)};
        join_case(cases_, std::move(c));
      }
    }
    if (cases_.size() > static_cast<std::size_t>(kMaxValues)) {
      wrong_case("--m, --n, --k, --layers, --kind and --epilogue must make at most 4096 cases");
    }
  }

  const CaseTable& table_;
  const CaseQuery& query_;
  const OwnCases& own_;
  std::vector<Case>& cases_;
};

}  // namespace

void add_own_cases(const CaseTable& table, const CaseQuery& query, std::vector<Case>& cases) {
  OwnReader(table, query, cases).add();
}

}  // namespace detgemm::bench
