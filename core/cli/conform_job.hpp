// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cli/conform_run.hpp"
#include "detgemm/cluster.hpp"

namespace detgemm::cli {

/// How a program that is linked with MPI joins its job. The command itself is not: it has none, and
/// `--transport mpi` becomes the program detgemm_mpi beside it, which is the same command with one.
struct MpiDoor {
  /// Starts MPI: the transport over all processes.
  Result<std::shared_ptr<cluster::Transport>> (*open)();
  /// `broken`: a rank may be missing, so the job ends here with the code. Otherwise MPI ends with
  /// the process, after everything is printed.
  void (*close)(bool broken, int exit_code);
};
/// Null where the program is not linked with MPI.
extern const MpiDoor* mpi_door;

/// Whether the words of a command line ask for a job over MPI.
bool asks_for_mpi(const std::vector<std::string>& words);

/// The ranks that `--transport` names. Over threads all of them run here; over MPI this process is
/// one of them.
class Job {
 public:
  /// Refuses a text that is neither threads:P nor mpi.
  explicit Job(const ConformOptions& options);
  ~Job();
  Job(const Job&) = delete;

  /// Whether this process prints and writes files.
  bool speaks() const { return transports_.front()->rank() == 0; }
  /// The reports of rank 0, or of this process's rank.
  std::vector<conformance::Report> test(const conformance::Options& harness);
  /// Jobs with planted faults, each of which must be found.
  Report controls(conformance::Level level, std::uint64_t seed, bool markdown);
  /// The greatest of all ranks' exit codes, on every rank.
  Exit agree(Exit mine);

 private:
  struct Ranks;
  std::chrono::milliseconds patience() const;
  const ConformOptions& options_;
  std::vector<std::shared_ptr<cluster::Transport>> transports_;
  bool over_mpi_ = false;
  int exit_code_ = kFailed;
  std::unique_ptr<Ranks> ranks_;
};

}  // namespace detgemm::cli
