// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <mpi.h>

#include "detgemm/cluster.hpp"

namespace detgemm::cluster {

/// The ranks of an MPI communicator, which is duplicated: messages of the program's own are not
/// mixed up with these. MPI is initialised, stays so as long as the transport lives, and was given
/// MPI_THREAD_SERIALIZED or more if several threads call it. Collective over `comm`.
///
/// Memory that is not the host's goes through the host, by the backend's Device, which waits for
/// the stream; for GPUs of one job NCCL or RCCL is the faster way.
///
/// Refused with `unavailable`: MPI is not initialised or already finalised; with `internal`: MPI's
/// own sentence.
DETGEMM_API Result<std::shared_ptr<Transport>> mpi(MPI_Comm comm);

}  // namespace detgemm::cluster
