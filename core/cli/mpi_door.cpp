// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <cstdlib>

#include "core/cli/conform_job.hpp"
#include "detgemm/mpi.hpp"

// Linked into the program detgemm_mpi alone.

namespace detgemm::cli {
namespace {

/// The last thing that the process does: a launcher ends the job when one rank has exited with a
/// code, and by then rank 0 must have printed.
void finalise() {
  std::fflush(nullptr);
  MPI_Finalize();
}

Result<std::shared_ptr<cluster::Transport>> open() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    return Status{Errc::unavailable, "MPI could not be initialised"};
  }
  if (std::atexit(finalise) != 0) {
    return Status{Errc::internal, "an exit handler could not be registered (atexit)"};
  }
  auto transport = cluster::mpi(MPI_COMM_WORLD);
  // One rank speaks for all.
  if (transport && (*transport)->rank() != 0 && std::freopen("/dev/null", "w", stdout) == nullptr) {
    return Status{Errc::io, "/dev/null cannot be opened"};
  }
  return transport;
}

void close(bool broken, int exit_code) {
  if (!broken) return;
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

constexpr MpiDoor kDoor{open, close};
const struct Registration {
  Registration() { mpi_door = &kDoor; }
} registration;

}  // namespace
}  // namespace detgemm::cli
