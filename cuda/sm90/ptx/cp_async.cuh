// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::cuda::sm90::ptx {

/// Four bytes from global to shared memory, both aligned to 4, without passing through a register.
__device__ __forceinline__ void cp_async_4(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/// Sixteen bytes, both aligned to 16, past L1, where `have` is more than kNeed, without a branch.
template <int kNeed>
__device__ __forceinline__ void cp_async_16_if(std::uint32_t to, const void* from, int have) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "setp.gt.s32 p, %2, %3;\n"
      "@p cp.async.cg.shared.global [%0], [%1], 16;\n}" ::"r"(to),
      "l"(from), "r"(have), "n"(kNeed)
      : "memory");
}

/// Sixteen bytes, both aligned to 16, past L1: `bytes` of them from memory, and zeros after these.
__device__ __forceinline__ void cp_async_16_zeros(std::uint32_t to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}

/// Makes a group of all earlier cp.async of this thread that are in none.
__device__ __forceinline__ void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until all groups of this thread but the last kPending have been written.
template <int kPending>
__device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Arrives at the barrier once all earlier cp.async of this thread have been written. The barrier's
/// count includes this arrival.
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// Waits until all earlier cp.async of this thread have been written.
__device__ __forceinline__ void cp_async_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace detgemm::cuda::sm90::ptx
