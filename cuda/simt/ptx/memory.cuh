// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

/// PTX instructions of compute capability 8.0 that move data, one per function. Each
/// function is named after its instruction; inline assembly appears in no other folder of these
/// kernels.
namespace detgemm::cuda::simt::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Copies 16 bytes, or 4, to shared memory asynchronously.
__device__ __forceinline__ void cp_async_cg_16(std::uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void cp_async_ca_4(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void cp_async_cg_16(float* to, const void* from) {
  cp_async_cg_16(shared_address(to), from);
}
__device__ __forceinline__ void cp_async_ca_4(float* to, const void* from) {
  cp_async_ca_4(shared_address(to), from);
}
/// Closes a group of this thread's copies.
__device__ __forceinline__ void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most kPending of this thread's groups are under way.
template <int kPending>
__device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Loads 16 bytes that nothing writes meanwhile. It is volatile because a compiler that moved it to
/// where the value is needed would undo the point of asking early.
__device__ __forceinline__ uint4 ld_global_nc_v4_u32(const void* from) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}

/// Loads four floats from 16 bytes of shared memory. It clobbers nothing, so that the compiler may
/// place multiplications around it; it keeps its place among barriers and copies.
__device__ __forceinline__ float4 ld_shared_v4_f32(std::uint32_t from) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(from));
  return v;
}

/// Stores four floats to 16 bytes of shared memory, and loads one.
__device__ __forceinline__ void st_shared_v4_f32(std::uint32_t to, const float* v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v[0]), "f"(v[1]),
               "f"(v[2]), "f"(v[3])
               : "memory");
}
__device__ __forceinline__ float ld_shared_f32(std::uint32_t from) {
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(from) : "memory");
  return v;
}

}  // namespace detgemm::cuda::simt::ptx
