// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

/// One definition for the host, CUDA and HIP: the macro is empty for a plain C++ compiler.
#if defined(__CUDACC__) || defined(__HIP__)
#define DETGEMM_HD __host__ __device__ __forceinline__
#else
#define DETGEMM_HD inline __attribute__((always_inline))
#endif

namespace detgemm::arithmetic {

// The builtin rather than std::memcpy or std::bit_cast: those are host functions to clang and nvcc.
DETGEMM_HD std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
DETGEMM_HD float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

inline constexpr std::uint32_t kNaNBits = 0x7fffffffU;  ///< the canonical NaN
inline constexpr std::uint32_t kInfBits = 0x7f800000U;

DETGEMM_HD bool is_nan(std::uint32_t bits) { return (bits & 0x7fffffffU) > kInfBits; }

DETGEMM_HD float canonical(float value) { return value != value ? float_of(kNaNBits) : value; }

// Single operations to nearest even that no compiler may contract: on NVIDIA the intrinsics,
// elsewhere plain operators under -ffp-contract=off (set by the build, checked by a test).
#if defined(__CUDA_ARCH__)
DETGEMM_HD float mul_rn(float a, float b) { return __fmul_rn(a, b); }
DETGEMM_HD float add_rn(float a, float b) { return __fadd_rn(a, b); }
DETGEMM_HD float div_rn(float a, float b) { return __fdiv_rn(a, b); }
DETGEMM_HD float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
#else
#if defined(__clang__)
#define DETGEMM_NO_CONTRACTION _Pragma("clang fp contract(off)")
#else
#define DETGEMM_NO_CONTRACTION
#endif
DETGEMM_HD float mul_rn(float a, float b) { DETGEMM_NO_CONTRACTION return a * b; }
DETGEMM_HD float add_rn(float a, float b) { DETGEMM_NO_CONTRACTION return a + b; }
#undef DETGEMM_NO_CONTRACTION
DETGEMM_HD float div_rn(float a, float b) { return a / b; }
DETGEMM_HD float fma_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#endif

/// Position of the highest set bit plus one; 0 for 0.
DETGEMM_HD int bit_width(std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  return 64 - __clzll(static_cast<long long>(value));
#else
  return value == 0 ? 0 : 64 - __builtin_clzll(value);
#endif
}

}  // namespace detgemm::arithmetic
