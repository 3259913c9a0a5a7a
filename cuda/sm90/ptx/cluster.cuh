// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::cuda::sm90::ptx {

/// The number of this CTA in its cluster.
__device__ __forceinline__ std::uint32_t cluster_ctarank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void barrier_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void barrier_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// Waits until all threads of all CTAs of the cluster are here.
__device__ __forceinline__ void cluster_sync() {
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

/// The address, in CTA `rank`, of what is at `address` in this CTA.
__device__ __forceinline__ std::uint32_t mapa(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}

/// Arrives at a barrier of another CTA, whose address mapa gave. It is not the form with
/// .release.cluster, which would cost a fence over the whole GPU (20 % of a main loop): what it
/// orders are reads by the tensor core that have completed.
__device__ __forceinline__ void mbarrier_arrive_cluster(std::uint32_t remote) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}

/// Stores 16 bytes to another CTA's shared memory, which complete on `barrier` there.
__device__ __forceinline__ void st_async(std::uint32_t remote, float4 v, std::uint32_t barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(remote),
      "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(barrier)
      : "memory");
}

}  // namespace detgemm::cuda::sm90::ptx
