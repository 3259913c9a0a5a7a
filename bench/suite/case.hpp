// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/problem.hpp"
#include "detgemm/backend.hpp"

namespace detgemm::bench {

/// One way in which detgemm computes a case: a contract, what may be promised about the operands,
/// and a kernel if one is forced.
struct ContractArm {
  std::string name;  ///< of the table of arms: chain, tree+stable, ...; NAME@KERNEL where forced
  Contract contract;
  Stable stable = Stable::none;
  std::string variant{};  ///< of Backend::variants; empty: the library chooses
  /// Contracts of snap: the arm has copies of this operand that were snapped before, and says so.
  bool a_snapped = false, b_snapped = false;
  std::shared_ptr<const Tuning> tuning{};  ///< measured choices; null: the model of time
  bool serial_launch = false;              ///< as in PlanOptions
};

/// A point of the experiment. All its arms compute the same sizes on the same data.
struct Case {
  std::string id;  ///< model/layer/kind/mTOKENS/dtype and what else tells it from others
  std::vector<std::string> suites;
  std::string model, layer;
  Problem problem;
  Mode mode = Mode::stream;
  int threads = 0;                       ///< of the host; 0 for all
  bool best = false;                     ///< the baseline's own list of algorithms is searched too
  std::vector<std::string> baselines{};  ///< names of those that are timed; empty: all
  int repetitions = 0;                   ///< at most; 0: as many as the device's protocol has
  double idle_ms = -1;                   ///< before each sample; negative: the protocol's own
  std::vector<ContractArm> contract_arms;
};

/// Cases that are put together on the command line in place of the suites.
struct OwnCases {
  std::vector<std::string> layers{};     ///< MODEL/LAYER, or MODEL for all of its layers
  std::vector<std::int64_t> n{}, k{};    ///< of the weights: every n with every k
  std::vector<std::string> kinds{};      ///< empty: forward
  std::vector<std::string> extras{};     ///< epilogues; empty: none
  std::vector<std::string> contracts{};  ///< names of the table of arms, or contracts; empty: chain
  std::string mode{};                    ///< empty: by size
  int draws = 0;                         ///< pairs of a layer and an M; 0: every layer with every M

  bool asked() const {
    return !layers.empty() || !n.empty() || !k.empty() || !kinds.empty() || !extras.empty() ||
           !contracts.empty() || !mode.empty() || draws != 0;
  }
};

/// Which part of the table of cases is asked for.
struct CaseQuery {
  std::string backend;                     ///< cpu, cuda or hip
  Arithmetic native = Arithmetic::hopper;  ///< what {native} stands for
  std::vector<std::string> suites{};       ///< empty: all
  std::vector<std::int64_t> tokens{};      ///< in place of each suite's own
  bool quick = false;
  OwnCases own{};
  std::uint64_t seed = 7;
};

/// The cases of a JSON text such as bench/cases/cases.json, in its order. A case that several
/// suites hold comes once, with the arms of all. `json` may leave out "models", "sets" and "arms":
/// those of the built-in table are known too. Throws std::invalid_argument with a sentence.
std::vector<Case> read_cases(std::string_view json, const CaseQuery& query);

/// The table that was compiled in.
std::string_view built_in_cases();

}  // namespace detgemm::bench
