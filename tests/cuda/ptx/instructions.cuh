// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "detgemm/types.hpp"

/// PTX instructions that only tests use, one per function.
namespace detgemm::test::ptx {

__device__ __forceinline__ void st_shared_u16(std::uint32_t to, std::uint16_t bits) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(bits) : "memory");
}

// clang-format off
#define DETGEMM_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define DETGEMM_D16(i) DETGEMM_D4(i), DETGEMM_D4(i + 4), DETGEMM_D4(i + 8), DETGEMM_D4(i + 12)
#define DETGEMM_RUN(type, n, registers, a0, ...)                                            \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" registers \
               "}, " a0 ", 1, 1, 1, 0;"                                                      \
               : __VA_ARGS__                                                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor))
#define DETGEMM_BOTH(...)              \
  if constexpr (T == DType::bf16) {    \
    DETGEMM_RUN("bf16", __VA_ARGS__);  \
  } else {                             \
    DETGEMM_RUN("f16", __VA_ARGS__);   \
  }
// clang-format on

/// wgmma.mma_async with A in registers, K-major B in shared memory, and kN = 8, 16 or 64.
template <DType T, int kN>
__device__ void wgmma_a_in_registers(float (&d)[kN / 2], const std::uint32_t (&a)[4],
                                     std::uint64_t descriptor) {
  if constexpr (kN == 8) {
    DETGEMM_BOTH("8", "%0, %1, %2, %3", "{%4, %5, %6, %7}, %8", DETGEMM_D4(0));
  } else if constexpr (kN == 16) {
    DETGEMM_BOTH("16", "%0, %1, %2, %3, %4, %5, %6, %7", "{%8, %9, %10, %11}, %12", DETGEMM_D4(0),
                 DETGEMM_D4(4));
  } else {
    static_assert(kN == 64, "The test writes out the operands of three widths.");
    DETGEMM_BOTH("64",
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
                 "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31",
                 "{%32, %33, %34, %35}, %36", DETGEMM_D16(0), DETGEMM_D16(16));
  }
}

#undef DETGEMM_BOTH
#undef DETGEMM_RUN
#undef DETGEMM_D16
#undef DETGEMM_D4

}  // namespace detgemm::test::ptx
