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

/// The value alone, in no order with other accesses.
__device__ __forceinline__ void st_relaxed_sys_u64(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

__device__ __forceinline__ std::uint64_t ld_relaxed_sys_u64(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

/// Four values that another kernel of this device may store meanwhile, each on its own.
__device__ __forceinline__ uint4 ld_relaxed_gpu_v4_b32(const void* from) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}

/// 16 bytes in one access, of which no thread sees a part; 7.0 and above, PTX 8.4.
__device__ __forceinline__ void st_relaxed_sys_b128(void* to, std::uint64_t low,
                                                    std::uint64_t high) {
  asm volatile(
      "{ .reg .b128 word; mov.b128 word, {%1, %2}; st.relaxed.sys.global.b128 [%0], word; }" ::"l"(
          to),
      "l"(low), "l"(high)
      : "memory");
}

__device__ __forceinline__ void ld_relaxed_sys_b128(const void* from, std::uint64_t& low,
                                                    std::uint64_t& high) {
  asm volatile(
      "{ .reg .b128 word; ld.relaxed.sys.global.b128 word, [%2]; mov.b128 {%0, %1}, word; }"
      : "=l"(low), "=l"(high)
      : "l"(from)
      : "memory");
}

/// Nanoseconds, the same clock for all multiprocessors.
__device__ __forceinline__ std::uint64_t globaltimer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

}  // namespace detgemm::cuda::peers::ptx
