// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>

#include "detgemm/cluster.hpp"

/// Clusters over NCCL (NVIDIA) and RCCL (AMD), with the communicator that a program has. Neither
/// library is needed to build detgemm, and none of their headers is included here.
namespace detgemm::cluster {

/// The functions of NCCL that are called, by their names without the prefix, with opaque pointers
/// in place of ncclComm_t and of streams, and int in place of enumerations: the binary interface of
/// NCCL 2.10 and later and of RCCL. Source: NCCL documentation, "NCCL API".
struct NcclFunctions {
  int (*GetVersion)(int* version) = nullptr;
  const char* (*GetErrorString)(int result) = nullptr;
  const char* (*GetLastError)(void* comm) = nullptr;  ///< may stay null: NCCL before 2.13
  int (*CommCount)(void* comm, int* count) = nullptr;
  int (*CommUserRank)(void* comm, int* rank) = nullptr;
  int (*CommCuDevice)(void* comm, int* device) = nullptr;
  int (*CommGetAsyncError)(void* comm, int* error) = nullptr;
  int (*CommAbort)(void* comm) = nullptr;
  int (*GroupStart)() = nullptr;
  int (*GroupEnd)() = nullptr;
  int (*Send)(const void* data, std::size_t count, int type, int peer, void* comm,
              void* stream) = nullptr;
  int (*Recv)(void* data, std::size_t count, int type, int peer, void* comm,
              void* stream) = nullptr;
};

/// The ranks of an NCCL communicator (kind `cuda`) or an RCCL communicator (kind `hip`): `comm` is
/// the program's own ncclComm_t, whose device is the calling thread's current one, here and in
/// Communicator::create. It outlives the transport, and has no other use during a call.
///
/// `exchange` is put on the stream and returns: sends and receives of bytes, grouped, which may be
/// captured into graphs. Communicator::create connects every two ranks, so that no later call has
/// to. It waits with `Options::patience`, which a call on a stream cannot do: a rank that never
/// makes a call shows as a stream that does not finish. A program that watches its streams
/// then calls `Communicator::abort`, which lets go of them.
///
/// `Communicator::health` reports NCCL's asynchronous errors. `Communicator::abort` calls
/// ncclCommAbort, which frees `comm`: do not destroy it after that. Nothing else aborts it, so
/// after the code `peer` its stream may not finish until the program does.
///
/// The functions are those of the library that the process has loaded: by the names that are
/// visible to all of its code, else libnccl.so.2 or librccl.so.1. A library is never loaded here,
/// since `comm` could not be one of its communicators. Where NCCL is linked statically, `functions`
/// has its functions.
///
/// Refused with `invalid_argument`: a null comm, one that NCCL refuses, one of another device
/// than the current one, the kind `host`; with `unavailable`: no library, one that lacks a function
/// or is older than 2.10, no backend of this kind; with `peer`: a communicator that has failed.
DETGEMM_API Result<std::shared_ptr<Transport>> nccl(void* comm, DeviceKind kind,
                                                    const NcclFunctions* functions = nullptr);

}  // namespace detgemm::cluster
