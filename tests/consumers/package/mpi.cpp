// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <detgemm/mpi.hpp>
#include <detgemm/version.hpp>

/// Links component mpi: before MPI_Init a transport is refused, whatever the project's languages.
int main() {
  const auto transport = detgemm::cluster::mpi(MPI_COMM_WORLD);
  if (transport.status().code() != detgemm::Errc::unavailable) return 1;
  std::puts(detgemm::version());
  return 0;
}
