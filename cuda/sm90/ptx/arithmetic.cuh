// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::cuda::sm90::ptx {

/// sum = sum + value to nearest even, in the sum's own register.
__device__ __forceinline__ void add_rn_f32(float& sum, float value) {
  asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum) : "f"(value));
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

}  // namespace detgemm::cuda::sm90::ptx
