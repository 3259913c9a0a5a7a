// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>

#include <cstdint>

namespace detgemm::cuda::sm90::ptx {

/// Global to shared memory: the 2-D box at (x, y), where x runs fastest. The box's bytes complete
/// on the barrier. Elements outside the tensor arrive as zeros.
__device__ __forceinline__ void tma_load(std::uint32_t destination, const CUtensorMap* map, int x,
                                         int y, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(destination),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

/// The same for a 3-D box.
__device__ __forceinline__ void tma_load(std::uint32_t destination, const CUtensorMap* map, int x,
                                         int y, int z, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(destination),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

/// A 2-D box to the same offset in every CTA of the cluster that `ctas` names, one bit per CTA. It
/// completes on the barrier at the same offset in each of them.
__device__ __forceinline__ void tma_multicast(std::uint32_t destination, const CUtensorMap* map,
                                              int x, int y, std::uint32_t barrier,
                                              std::uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(destination),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(ctas)
      : "memory");
}

/// Bytes of global to shared memory, all three multiples of 16. They complete on the barrier.
__device__ __forceinline__ void bulk_load(std::uint32_t destination, const void* from,
                                          std::uint32_t bytes, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(destination),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

/// Global memory to L2.
__device__ __forceinline__ void tma_prefetch(const CUtensorMap* map, int x, int y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(x),
               "r"(y)
               : "memory");
}

/// Shared to global memory: the 2-D box at (x, y). Elements outside the tensor are not written.
__device__ __forceinline__ void tma_store(const CUtensorMap* map, int x, int y,
                                          std::uint32_t source) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(x), "r"(y), "r"(source)
      : "memory");
}

/// The same with the box of matrix `z` of a 3-D tensor.
__device__ __forceinline__ void tma_store(const CUtensorMap* map, int x, int y, int z,
                                          std::uint32_t source) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
      "r"(x), "r"(y), "r"(z), "r"(source)
      : "memory");
}

/// Closes a group of this thread's stores.
__device__ __forceinline__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until at most kPending groups of this thread still read shared memory.
template <int kPending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

/// The same until they have ended, so that what they wrote can be read.
__device__ __forceinline__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Shared to global memory: so many bytes, a multiple of 16.
__device__ __forceinline__ void bulk_store(void* destination, std::uint32_t source,
                                           std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination),
               "r"(source), "r"(bytes)
               : "memory");
}

/// True in one lane of a converged warp. Behind this test ptxas keeps the operands of TMA
/// instructions in uniform registers; behind `lane == 0` it wraps each instruction in a loop.
__device__ __forceinline__ bool elect_sync() {
  std::uint32_t elected = 0;
  asm volatile(
      "{\n.reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(elected));
  return elected != 0;
}

}  // namespace detgemm::cuda::sm90::ptx
