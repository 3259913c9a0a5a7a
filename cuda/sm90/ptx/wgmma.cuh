// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "detgemm/types.hpp"

/// wgmma.mma_async with A and B in shared memory. The operand lists are built by nested macros:
/// DETGEMM_R<i> names registers 0 .. 4i+3 in the instruction text, DETGEMM_D<i> binds them.
namespace detgemm::cuda::sm90::ptx {

// clang-format off
#define DETGEMM_R0 "%0, %1, %2, %3"
#define DETGEMM_D0 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define DETGEMM_R1 DETGEMM_R0 ", %4, %5, %6, %7"
#define DETGEMM_D1 DETGEMM_D0, "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define DETGEMM_R2 DETGEMM_R1 ", %8, %9, %10, %11"
#define DETGEMM_D2 DETGEMM_D1, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define DETGEMM_R3 DETGEMM_R2 ", %12, %13, %14, %15"
#define DETGEMM_D3 DETGEMM_D2, "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define DETGEMM_R4 DETGEMM_R3 ", %16, %17, %18, %19"
#define DETGEMM_D4 DETGEMM_D3, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define DETGEMM_R5 DETGEMM_R4 ", %20, %21, %22, %23"
#define DETGEMM_D5 DETGEMM_D4, "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define DETGEMM_R6 DETGEMM_R5 ", %24, %25, %26, %27"
#define DETGEMM_D6 DETGEMM_D5, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define DETGEMM_R7 DETGEMM_R6 ", %28, %29, %30, %31"
#define DETGEMM_D7 DETGEMM_D6, "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define DETGEMM_R8 DETGEMM_R7 ", %32, %33, %34, %35"
#define DETGEMM_D8 DETGEMM_D7, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define DETGEMM_R9 DETGEMM_R8 ", %36, %37, %38, %39"
#define DETGEMM_D9 DETGEMM_D8, "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define DETGEMM_R10 DETGEMM_R9 ", %40, %41, %42, %43"
#define DETGEMM_D10 DETGEMM_D9, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define DETGEMM_R11 DETGEMM_R10 ", %44, %45, %46, %47"
#define DETGEMM_D11 DETGEMM_D10, "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define DETGEMM_R12 DETGEMM_R11 ", %48, %49, %50, %51"
#define DETGEMM_D12 DETGEMM_D11, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define DETGEMM_R13 DETGEMM_R12 ", %52, %53, %54, %55"
#define DETGEMM_D13 DETGEMM_D12, "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define DETGEMM_R14 DETGEMM_R13 ", %56, %57, %58, %59"
#define DETGEMM_D14 DETGEMM_D13, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define DETGEMM_R15 DETGEMM_R14 ", %60, %61, %62, %63"
#define DETGEMM_D15 DETGEMM_D14, "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define DETGEMM_R16 DETGEMM_R15 ", %64, %65, %66, %67"
#define DETGEMM_D16 DETGEMM_D15, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define DETGEMM_R17 DETGEMM_R16 ", %68, %69, %70, %71"
#define DETGEMM_D17 DETGEMM_D16, "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define DETGEMM_R18 DETGEMM_R17 ", %72, %73, %74, %75"
#define DETGEMM_D18 DETGEMM_D17, "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define DETGEMM_R19 DETGEMM_R18 ", %76, %77, %78, %79"
#define DETGEMM_D19 DETGEMM_D18, "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define DETGEMM_R20 DETGEMM_R19 ", %80, %81, %82, %83"
#define DETGEMM_D20 DETGEMM_D19, "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define DETGEMM_R21 DETGEMM_R20 ", %84, %85, %86, %87"
#define DETGEMM_D21 DETGEMM_D20, "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define DETGEMM_R22 DETGEMM_R21 ", %88, %89, %90, %91"
#define DETGEMM_D22 DETGEMM_D21, "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define DETGEMM_R23 DETGEMM_R22 ", %92, %93, %94, %95"
#define DETGEMM_D23 DETGEMM_D22, "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define DETGEMM_R24 DETGEMM_R23 ", %96, %97, %98, %99"
#define DETGEMM_D24 DETGEMM_D23, "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define DETGEMM_R25 DETGEMM_R24 ", %100, %101, %102, %103"
#define DETGEMM_D25 DETGEMM_D24, "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define DETGEMM_R26 DETGEMM_R25 ", %104, %105, %106, %107"
#define DETGEMM_D26 DETGEMM_D25, "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define DETGEMM_R27 DETGEMM_R26 ", %108, %109, %110, %111"
#define DETGEMM_D27 DETGEMM_D26, "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define DETGEMM_R28 DETGEMM_R27 ", %112, %113, %114, %115"
#define DETGEMM_D28 DETGEMM_D27, "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define DETGEMM_R29 DETGEMM_R28 ", %116, %117, %118, %119"
#define DETGEMM_D29 DETGEMM_D28, "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define DETGEMM_R30 DETGEMM_R29 ", %120, %121, %122, %123"
#define DETGEMM_D30 DETGEMM_D29, "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define DETGEMM_R31 DETGEMM_R30 ", %124, %125, %126, %127"
#define DETGEMM_D31 DETGEMM_D30, "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
// clang-format on

/// d (64 x N, fp32) += A (64 x 16) * B (16 x N): one contract step per output. With kFresh the step
/// starts from +0, whatever d holds. kAMn and kBMn say that the operand's M or N, instead of K,
/// runs along memory (the transpose bit of the instruction). N is one of the widths that kernels
/// use, all multiples of 8 up to 256. Thread t of the warp group holds the output of row 16 * (t /
/// 32) + t % 32 / 4 + 8 * h and column 8 * j + 2 * (t % 4) + i in d[4 * j + 2 * h + i].
template <DType T, int N, bool kAMn, bool kBMn>
struct Wgmma;

#define DETGEMM_WGMMA(n, last, a, b, keep, ta, tb)                                                \
  template <DType T, bool kAMn, bool kBMn>                                                        \
  struct Wgmma<T, n, kAMn, kBMn> {                                                                \
    template <bool kFresh = false>                                                                \
    static __device__ __forceinline__ void run(float (&d)[n / 2], std::uint64_t descriptor_a,     \
                                               std::uint64_t descriptor_b) {                      \
      if constexpr (T == DType::e4m3) { /* 32 numbers of k per step, K-major operands alone */    \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3.e4m3 {" DETGEMM_R##last \
                     "}, " a ", " b ", " keep ", 1, 1;"                                           \
                     : DETGEMM_D##last                                                            \
                     : "l"(descriptor_a), "l"(descriptor_b), "n"(kFresh ? 0 : 1));                \
      } else if constexpr (T == DType::bf16) {                                                    \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" DETGEMM_R##last \
                     "}, " a ", " b ", " keep ", 1, 1, " ta ", " tb ";"                           \
                     : DETGEMM_D##last                                                            \
                     : "l"(descriptor_a), "l"(descriptor_b), "n"(kFresh ? 0 : 1),                 \
                       "n"(kAMn ? 1 : 0), "n"(kBMn ? 1 : 0));                                     \
      } else {                                                                                    \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" DETGEMM_R##last   \
                     "}, " a ", " b ", " keep ", 1, 1, " ta ", " tb ";"                           \
                     : DETGEMM_D##last                                                            \
                     : "l"(descriptor_a), "l"(descriptor_b), "n"(kFresh ? 0 : 1),                 \
                       "n"(kAMn ? 1 : 0), "n"(kBMn ? 1 : 0));                                     \
      }                                                                                           \
    }                                                                                             \
  };
// clang-format off
DETGEMM_WGMMA(8, 0, "%4", "%5", "%6", "%7", "%8")
DETGEMM_WGMMA(16, 1, "%8", "%9", "%10", "%11", "%12")
DETGEMM_WGMMA(24, 2, "%12", "%13", "%14", "%15", "%16")
DETGEMM_WGMMA(32, 3, "%16", "%17", "%18", "%19", "%20")
DETGEMM_WGMMA(40, 4, "%20", "%21", "%22", "%23", "%24")
DETGEMM_WGMMA(48, 5, "%24", "%25", "%26", "%27", "%28")
DETGEMM_WGMMA(56, 6, "%28", "%29", "%30", "%31", "%32")
DETGEMM_WGMMA(64, 7, "%32", "%33", "%34", "%35", "%36")
DETGEMM_WGMMA(72, 8, "%36", "%37", "%38", "%39", "%40")
DETGEMM_WGMMA(80, 9, "%40", "%41", "%42", "%43", "%44")
DETGEMM_WGMMA(88, 10, "%44", "%45", "%46", "%47", "%48")
DETGEMM_WGMMA(96, 11, "%48", "%49", "%50", "%51", "%52")
DETGEMM_WGMMA(104, 12, "%52", "%53", "%54", "%55", "%56")
DETGEMM_WGMMA(112, 13, "%56", "%57", "%58", "%59", "%60")
DETGEMM_WGMMA(120, 14, "%60", "%61", "%62", "%63", "%64")
DETGEMM_WGMMA(128, 15, "%64", "%65", "%66", "%67", "%68")
DETGEMM_WGMMA(136, 16, "%68", "%69", "%70", "%71", "%72")
DETGEMM_WGMMA(144, 17, "%72", "%73", "%74", "%75", "%76")
DETGEMM_WGMMA(152, 18, "%76", "%77", "%78", "%79", "%80")
DETGEMM_WGMMA(160, 19, "%80", "%81", "%82", "%83", "%84")
DETGEMM_WGMMA(168, 20, "%84", "%85", "%86", "%87", "%88")
DETGEMM_WGMMA(176, 21, "%88", "%89", "%90", "%91", "%92")
DETGEMM_WGMMA(184, 22, "%92", "%93", "%94", "%95", "%96")
DETGEMM_WGMMA(192, 23, "%96", "%97", "%98", "%99", "%100")
DETGEMM_WGMMA(200, 24, "%100", "%101", "%102", "%103", "%104")
DETGEMM_WGMMA(208, 25, "%104", "%105", "%106", "%107", "%108")
DETGEMM_WGMMA(216, 26, "%108", "%109", "%110", "%111", "%112")
DETGEMM_WGMMA(224, 27, "%112", "%113", "%114", "%115", "%116")
DETGEMM_WGMMA(232, 28, "%116", "%117", "%118", "%119", "%120")
DETGEMM_WGMMA(240, 29, "%120", "%121", "%122", "%123", "%124")
DETGEMM_WGMMA(248, 30, "%124", "%125", "%126", "%127", "%128")
DETGEMM_WGMMA(256, 31, "%128", "%129", "%130", "%131", "%132")
// clang-format on
#undef DETGEMM_WGMMA
#undef DETGEMM_R0
#undef DETGEMM_D0
#undef DETGEMM_R1
#undef DETGEMM_D1
#undef DETGEMM_R2
#undef DETGEMM_D2
#undef DETGEMM_R3
#undef DETGEMM_D3
#undef DETGEMM_R4
#undef DETGEMM_D4
#undef DETGEMM_R5
#undef DETGEMM_D5
#undef DETGEMM_R6
#undef DETGEMM_D6
#undef DETGEMM_R7
#undef DETGEMM_D7
#undef DETGEMM_R8
#undef DETGEMM_D8
#undef DETGEMM_R9
#undef DETGEMM_D9
#undef DETGEMM_R10
#undef DETGEMM_D10
#undef DETGEMM_R11
#undef DETGEMM_D11
#undef DETGEMM_R12
#undef DETGEMM_D12
#undef DETGEMM_R13
#undef DETGEMM_D13
#undef DETGEMM_R14
#undef DETGEMM_D14
#undef DETGEMM_R15
#undef DETGEMM_D15
#undef DETGEMM_R16
#undef DETGEMM_D16
#undef DETGEMM_R17
#undef DETGEMM_D17
#undef DETGEMM_R18
#undef DETGEMM_D18
#undef DETGEMM_R19
#undef DETGEMM_D19
#undef DETGEMM_R20
#undef DETGEMM_D20
#undef DETGEMM_R21
#undef DETGEMM_D21
#undef DETGEMM_R22
#undef DETGEMM_D22
#undef DETGEMM_R23
#undef DETGEMM_D23
#undef DETGEMM_R24
#undef DETGEMM_D24
#undef DETGEMM_R25
#undef DETGEMM_D25
#undef DETGEMM_R26
#undef DETGEMM_D26
#undef DETGEMM_R27
#undef DETGEMM_D27
#undef DETGEMM_R28
#undef DETGEMM_D28
#undef DETGEMM_R29
#undef DETGEMM_D29
#undef DETGEMM_R30
#undef DETGEMM_D30
#undef DETGEMM_R31
#undef DETGEMM_D31

/// Orders register and shared-memory accesses before the next wgmma.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Closes a group of wgmma instructions.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most kPending wgmma groups are running.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
/// Keeps the compiler from moving uses of an accumulator across a wait.
template <int kCount>
__device__ __forceinline__ void pin(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

/// The descriptor of a matrix in shared memory with the 128-byte swizzle. A K-major matrix has rows
/// of 128 bytes (64 k), in groups of 8 rows that are `stride` = 1024 bytes apart. An MN-major
/// matrix has rows of 64 mn, in groups of 8 k that are 1024 bytes apart, and its slabs of 64 mn are
/// `leading` bytes apart. (PTX ISA, "Matrix descriptor format".)
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address, std::uint32_t leading) {
  constexpr std::uint32_t kStride = 8 * 128;
  constexpr std::uint64_t kSwizzle128 = 1;
  return static_cast<std::uint64_t>((address & 0x3ffffU) >> 4) |
         (static_cast<std::uint64_t>(leading >> 4) << 16) |
         (static_cast<std::uint64_t>(kStride >> 4) << 32) | (kSwizzle128 << 62);
}

}  // namespace detgemm::cuda::sm90::ptx
