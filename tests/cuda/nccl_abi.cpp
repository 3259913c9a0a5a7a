// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Compiled where nccl.h is installed: the library's own declarations against NVIDIA's.

#include <nccl.h>

#include "bench/cluster/nccl.hpp"
#include "cluster/nccl/library.hpp"

namespace {

using detgemm::cluster::NcclFunctions;

static_assert(detgemm::cluster::kNcclSuccess == ncclSuccess);
static_assert(detgemm::cluster::kNcclInProgress == ncclInProgress);
static_assert(detgemm::cluster::kNcclInt8 == ncclInt8);
static_assert(sizeof(int) == sizeof(ncclResult_t) && sizeof(int) == sizeof(ncclDataType_t));

// Results and arguments: as many, as wide.
template <class R, class... A, class S, class... B>
constexpr bool alike(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) {
    return false;
  } else {
    return sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B)) && ...);
  }
}
#define DETGEMM_ALIKE(name) static_assert(alike(decltype(NcclFunctions::name){}, &nccl##name))
DETGEMM_ALIKE(GetVersion);
DETGEMM_ALIKE(GetErrorString);
DETGEMM_ALIKE(GetLastError);
DETGEMM_ALIKE(CommCount);
DETGEMM_ALIKE(CommUserRank);
DETGEMM_ALIKE(CommCuDevice);
DETGEMM_ALIKE(CommGetAsyncError);
DETGEMM_ALIKE(CommAbort);
DETGEMM_ALIKE(GroupStart);
DETGEMM_ALIKE(GroupEnd);
DETGEMM_ALIKE(Send);
DETGEMM_ALIKE(Recv);

// And those of the benchmark.
using detgemm::bench::NcclCollectives;
static_assert(detgemm::bench::kNcclFloat32 == ncclFloat32);
static_assert(detgemm::bench::kNcclBfloat16 == ncclBfloat16);
static_assert(detgemm::bench::kNcclSum == ncclSum && sizeof(int) == sizeof(ncclRedOp_t));
static_assert(sizeof(detgemm::bench::NcclId) == sizeof(ncclUniqueId));
#define DETGEMM_ALIKE_IN_BENCH(name) \
  static_assert(alike(decltype(NcclCollectives::name){}, &nccl##name))
DETGEMM_ALIKE_IN_BENCH(GetVersion);
DETGEMM_ALIKE_IN_BENCH(GetUniqueId);
DETGEMM_ALIKE_IN_BENCH(CommInitRank);
DETGEMM_ALIKE_IN_BENCH(CommDestroy);
DETGEMM_ALIKE_IN_BENCH(AllReduce);
DETGEMM_ALIKE_IN_BENCH(ReduceScatter);

}  // namespace
