// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::cuda::sm90::ptx {

/// Pins a value, so that it is computed no earlier and takes no register for longer.
__device__ __forceinline__ void pin(std::uint32_t& value) { asm volatile("" : "+r"(value)); }
__device__ __forceinline__ void pin(float& value) { asm volatile("" : "+f"(value)); }

/// to = from, as an instruction that stays in its branch.
__device__ __forceinline__ void copy(float& to, float from) {
  asm volatile("mov.b32 %0, %1;" : "=f"(to) : "f"(from));
}

/// sum = sum + value to nearest even, in the sum's own register.
__device__ __forceinline__ void add_rn_f32(float& sum, float value) {
  asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum) : "f"(value));
}

/// sum = scale * value + sum, one fused multiply-add to nearest even, in the sum's own register.
__device__ __forceinline__ void fma_rn_f32(float& sum, float scale, float value) {
  asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(scale), "f"(value));
}

/// Two values rounded to nearest even and packed, `low` in the lower half; NaN becomes 0x7fff.
__device__ __forceinline__ std::uint32_t cvt_rn_bf16x2_f32(float high, float low) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
__device__ __forceinline__ std::uint32_t cvt_rn_f16x2_f32(float high, float low) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/// The larger one, where +0 is larger than -0; the canonical NaN 0x7fffffff where one is NaN.
__device__ __forceinline__ float max_nan_f32(float a, float b) {
  float v;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
  return v;
}

/// The smaller one, alike.
__device__ __forceinline__ float min_nan_f32(float a, float b) {
  float v;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
  return v;
}
/// Both for two packed bf16 numbers.
__device__ __forceinline__ std::uint32_t max_nan_bf16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t v;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ std::uint32_t min_nan_bf16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t v;
  asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}

/// About 2^v and 1 / v, to 2^-22 and 2^-23; subnormals count as zeros.
__device__ __forceinline__ float ex2_approx_f32(float v) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
  return power;
}
__device__ __forceinline__ float rcp_approx_f32(float v) {
  float quotient;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(v));
  return quotient;
}

/// The value of an fp16 number, which fp32 has exactly.
__device__ __forceinline__ float cvt_f32_f16(std::uint32_t half) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(static_cast<std::uint16_t>(half)));
  return v;
}

}  // namespace detgemm::cuda::sm90::ptx
