// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

/// PTX instructions by which GPUs of one host signal each other, one per function.
namespace detgemm::cuda::peers::ptx {

/// Everything that this thread has seen or written is visible to whoever sees the value.
__device__ __forceinline__ void st_release_sys_u64(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

__device__ __forceinline__ std::uint64_t ld_acquire_sys_u64(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

/// Nanoseconds, the same clock for all multiprocessors.
__device__ __forceinline__ std::uint64_t globaltimer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

}  // namespace detgemm::cuda::peers::ptx
