// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/pipeline/producer.cuh"

/// What every kernel around a ring of stages does before and after its roles:
///
///   thread 0         barriers of the ring (init_ring), and the kernel's own; then
///   publish_barriers:
///                    the next kernel of the stream may start
///   all              sync_barriers
///   warps 0 .. 3     become_producer: few registers
///   warps 4 ..       become_consumer: the registers that the producer gave back, since an equal
///                    share (168 or 128 per thread) would not hold a tile
///   all              leave_cluster
///
/// These are functions in a row rather than one function that takes the roles: through a lambda's
/// captures the compiler schedules the same instructions otherwise.
namespace detgemm::cuda::sm90 {

/// The warp's number, the same in a register of the whole warp.
__device__ __forceinline__ int warp_of_cta() {
  return __shfl_sync(0xffffffffU, threadIdx.x / 32, 0);
}

/// By thread 0. A stage is full after kFullArrivals, and empty when kReaders consumer groups have
/// read it.
template <class T>
__device__ __forceinline__ void init_ring(const SharedLayout<T>& shared) {
  for (int s = 0; s < T::kStages; ++s) {
    ptx::mbarrier_init(shared.full + 8 * s, kFullArrivals);
    ptx::mbarrier_init(shared.empty + 8 * s, T::kReaders);
  }
}

/// By thread 0, behind all mbarrier_init.
__device__ __forceinline__ void publish_barriers() {
  ptx::fence_mbarrier_init();
  ptx::griddepcontrol_launch_dependents();
}

/// The barriers of this CTA, and of its neighbours in the cluster, are ready.
template <class T>
__device__ __forceinline__ void sync_barriers() {
  if constexpr (T::kCluster > 1) {
    ptx::cluster_sync();
  } else {
    __syncthreads();
  }
}

template <class T>
__device__ __forceinline__ void become_producer() {
  if constexpr (T::kGroups > 1) ptx::setmaxnreg_dec<T::kProducerRegisters>();
}
template <class T>
__device__ __forceinline__ void become_consumer() {
  if constexpr (T::kGroups > 1) ptx::setmaxnreg_inc<T::kConsumerRegisters>();
}

/// No CTA leaves while a neighbour may still write to it or arrive on its barriers.
template <class T>
__device__ __forceinline__ void leave_cluster() {
  if constexpr (T::kCluster > 1) ptx::cluster_sync();
}

}  // namespace detgemm::cuda::sm90
