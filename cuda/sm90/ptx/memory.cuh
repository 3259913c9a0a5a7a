// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

/// Ordinary loads and stores of shared memory by 32-bit address, wide stores, and the prefetch into
/// L2. All loads and stores are volatile: they stay in the order in which a thread issues them.
namespace detgemm::cuda::sm90::ptx {

/// The 32-bit shared-memory address of a generic pointer.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// The same number, of which the compiler forgets how it is made: it stays in a register.
__device__ __forceinline__ std::uint32_t kept(std::uint32_t number) {
  asm volatile("" : "+r"(number));
  return number;
}
__device__ __forceinline__ const char* kept(const char* pointer) {
  asm volatile("" : "+l"(pointer));
  return pointer;
}

__device__ __forceinline__ std::uint32_t ld_shared_u32(std::uint32_t from) {
  std::uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(from) : "memory");
  return v;
}
__device__ __forceinline__ std::uint16_t ld_shared_u16(std::uint32_t from) {
  std::uint16_t v;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(from) : "memory");
  return v;
}
__device__ __forceinline__ float ld_shared_f32(std::uint32_t from) {
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(from) : "memory");
  return v;
}
__device__ __forceinline__ float2 ld_shared_v2_f32(std::uint32_t from) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(from) : "memory");
  return v;
}
__device__ __forceinline__ float4 ld_shared_v4_f32(std::uint32_t from) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(from)
               : "memory");
  return v;
}
__device__ __forceinline__ uint4 ld_shared_v4_u32(std::uint32_t from) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(from)
               : "memory");
  return v;
}

/// Loads where `on` is not 0, and leaves `v` as it is elsewhere. There is no branch, so `v` reaches
/// what follows along one path.
__device__ __forceinline__ void ld_shared_v2_f32_if(std::uint32_t on, std::uint32_t from,
                                                    float* v) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "setp.ne.u32 p, %3, 0;\n"
      "@p ld.shared.v2.f32 {%0, %1}, [%2];\n}"
      : "+f"(v[0]), "+f"(v[1])
      : "r"(from), "r"(on)
      : "memory");
}

__device__ __forceinline__ void st_shared_u32(std::uint32_t to, std::uint32_t v) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(v) : "memory");
}
__device__ __forceinline__ void st_shared_f32(std::uint32_t to, float v) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(v) : "memory");
}
__device__ __forceinline__ void st_shared_v2_f32(std::uint32_t to, float2 v) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(v.x), "f"(v.y) : "memory");
}
__device__ __forceinline__ void st_shared_v4_f32(std::uint32_t to, float4 v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z),
               "f"(v.w)
               : "memory");
}
__device__ __forceinline__ void st_shared_v4_u32(std::uint32_t to, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

__device__ __forceinline__ void st_global_v2_u32(void* to, std::uint32_t first,
                                                 std::uint32_t second) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(first), "r"(second) : "memory");
}
__device__ __forceinline__ void st_global_v4_u32(void* to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

/// Brings the 128-byte line that holds `from` into L2.
__device__ __forceinline__ void prefetch_global_l2(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

}  // namespace detgemm::cuda::sm90::ptx
