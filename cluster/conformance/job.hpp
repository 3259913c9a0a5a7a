// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/conformance/ways.hpp"
#include "detgemm/conformance.hpp"

// The conformance harness on all ranks of a transport. Every rank draws the same problems from the
// same seed and runs the same cases in the same order, where the engine is the ranks together; so
// each property of one backend becomes a property of a job, checked on every rank against one
// rank's own result.

namespace detgemm::cluster {

/// What is tested. The same on every rank, but for `backend` and `oracle`.
struct JobOptions {
  conformance::Options harness;      ///< its engine is not looked at; its oracle is this rank's
  const Backend* backend = nullptr;  ///< computes this rank's products
  std::string backends;              ///< those of all ranks, for people
  std::chrono::milliseconds patience{30'000};
};

/// The properties that a job can have; those of `Plan::combine` alone, and of several calls at a
/// time, are not among them.
std::vector<std::string> job_properties(conformance::Level level);

/// What is tested where no contract is named: trees, and chain and fold where columns are spread.
std::vector<Contract> job_contracts();

/// One report per way of working together, and one for what ranks do when they disagree. On every
/// rank; a rank's failures are in its own reports, and every rank's reports say if another rank has
/// some.
Result<std::vector<conformance::Report>> run_job(const std::shared_ptr<Transport>& transport,
                                                 const JobOptions& options);

/// What became of a planted fault.
struct Planted {
  std::string name;
  std::string fault;
  std::string property;
  bool caught = false;  ///< on every rank
};
/// Jobs with one fault each, which must fail, and the same code without a fault, the last entry,
/// which must not. Needs 3 ranks, or it refuses.
Result<std::vector<Planted>> run_planted(const std::shared_ptr<Transport>& transport,
                                         const JobOptions& options);

/// The same small number on every rank: the greatest of those that the ranks give.
Result<int> greatest(Transport& transport, int mine, std::chrono::milliseconds patience);

}  // namespace detgemm::cluster
