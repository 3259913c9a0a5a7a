// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/capi/handles.hpp"
#include "detgemm/detgemm_mpi.h"
#include "detgemm/mpi.hpp"

using namespace detgemm;
using namespace detgemm::capi;

detgemm_status_t detgemm_transport_mpi(MPI_Comm comm, detgemm_transport_t** transport) {
  return guarded([&]() -> Status {
    if (Status s = need("transport", transport); !s) return s;
    *transport = nullptr;
    auto made = cluster::mpi(comm);
    if (!made) return made.status();
    *transport = new detgemm_transport_t(*std::move(made));
    return {};
  });
}
