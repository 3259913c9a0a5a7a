// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "detgemm/types.hpp"

/// Asynchronous copies to shared memory, and exact conversions on the way there.
namespace detgemm::cuda::simt {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void copy_async_16(float* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}
__device__ __forceinline__ void copy_async_4(float* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most kPending of this thread's groups are under way.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// 16 bytes that nothing writes meanwhile. Volatile: a compiler that moved it to where the value is
/// needed would undo the point of asking early.
__device__ __forceinline__ uint4 load_early(const void* from) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}

/// The two elements of a word as fp32, the lower one first: exact, subnormals kept.
template <DType T>
__device__ __forceinline__ float2 widen(std::uint32_t pair) {
  if constexpr (T == DType::bf16) {
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000U)};
  } else {
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  }
}

}  // namespace detgemm::cuda::simt
