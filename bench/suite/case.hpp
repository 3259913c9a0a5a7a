// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/common/problem.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::bench {

/// One of our ways to compute a case: a contract, and what may be promised about it.
struct ContractArm {
  std::string name;  ///< of the table of arms: chain, tree+stable, ...
  Contract contract;
  Stable stable = Stable::none;
};

/// A point of the experiment. All its arms compute the same sizes on the same data.
struct Case {
  std::string id;  ///< model/layer/kind/mTOKENS/dtype and what else tells it from others
  std::vector<std::string> suites;
  std::string model, layer;
  Problem problem;  ///< its reduction is not looked at: the arms have contracts
  Mode mode = Mode::stream;
  int threads = 0;    ///< of the host; 0 for all
  bool best = false;  ///< the baseline's own list of algorithms is searched too
  std::vector<ContractArm> contract_arms;
};

/// Which part of the table of cases is asked for.
struct CaseQuery {
  std::string backend;                     ///< cpu, cuda or hip
  Arithmetic native = Arithmetic::hopper;  ///< what {native} stands for
  std::vector<std::string> suites{};       ///< empty: all
  std::vector<std::int64_t> tokens{};      ///< in place of each suite's own
  bool quick = false;
};

/// The cases of a JSON text such as bench/cases/cases.json, in its order. A case that several
/// suites hold comes once, with the arms of all. Throws std::invalid_argument with a sentence.
std::vector<Case> read_cases(std::string_view json, const CaseQuery& query);

/// The table that was compiled in.
std::string_view built_in_cases();

}  // namespace detgemm::bench
