// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "detgemm/detgemm.hpp"
#include "detgemm/mpi.hpp"

#ifdef TENSOR_PARALLEL_NCCL
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "detgemm/nccl.hpp"
#endif

/// Who multiplies on this rank, and what moves its roots: a GPU of its own and NCCL where every
/// rank of the job has one, else the reference and MPI.
struct Engine {
  const detgemm::Backend* backend = nullptr;
  std::shared_ptr<detgemm::cluster::Transport> transport;
#ifdef TENSOR_PARALLEL_NCCL
  ncclComm_t comm = nullptr;

  ~Engine() {
    transport.reset();
    if (comm != nullptr) ncclCommDestroy(comm);
  }
#endif
};

#ifdef TENSOR_PARALLEL_NCCL
/// Makes this rank's GPU the current one and fills in the engine; false where a rank has no GPU of
/// its own or NCCL makes no communicator.
inline bool use_gpus(Engine& engine) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int local = 0, rank = 0, size = 1, gpus = 0;
  MPI_Comm_rank(host, &local);
  MPI_Comm_free(&host);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (cudaGetDeviceCount(&gpus) != cudaSuccess) gpus = 0;
  const auto cuda = detgemm::find_backend("cuda");
  int mine = local < gpus && cuda && cudaSetDevice(local) == cudaSuccess && (*cuda)->available();
  int everywhere = 0;
  MPI_Allreduce(&mine, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (everywhere == 0) return false;
  ncclUniqueId id{};
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (ncclCommInitRank(&engine.comm, size, id, rank) != ncclSuccess) return false;
  auto transport = detgemm::cluster::nccl(engine.comm, detgemm::DeviceKind::cuda);
  if (!transport) return false;
  engine.backend = *cuda;
  engine.transport = *transport;
  return true;
}
#endif

/// The engine of this rank, the same kind on all of them.
inline detgemm::Status choose(Engine& engine) {
#ifdef TENSOR_PARALLEL_NCCL
  if (use_gpus(engine)) return {};
#endif
  const auto backend = detgemm::find_backend("reference");
  if (!backend) return backend.status();
  auto transport = detgemm::cluster::mpi(MPI_COMM_WORLD);
  if (!transport) return transport.status();
  engine.backend = *backend;
  engine.transport = *transport;
  return {};
}
