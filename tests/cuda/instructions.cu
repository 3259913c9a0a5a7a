// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "cuda/sm90/ptx/barrier.cuh"
#include "cuda/sm90/ptx/mma.cuh"
#include "cuda/sm90/ptx/wgmma.cuh"
#include "cuda/sm90/tile/swizzle.hpp"
#include "tests/cuda/instructions.hpp"

namespace detgemm::test {
namespace {

namespace sm90 = cuda::sm90;

constexpr int kBlock = 64;         // k of a round, 128 bytes
constexpr int kABytes = 64 * 128;  // B lies behind

/// Address of element (line, k) of an operand, 128-byte swizzled: rows of k, or slabs of 64 lines.
__device__ std::uint32_t place(std::uint32_t base, bool mn, int line, int k) {
  if (mn) {
    return sm90::swizzled<128>(base + line / 64 * 8192, k, line % 64 / 8) + line % 8 * 2;
  }
  return sm90::swizzled<128>(base, line, k / 8) + k % 8 * 2;
}

__device__ void store(std::uint32_t to, std::uint16_t bits) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(bits) : "memory");
}
__device__ std::uint32_t two(std::uint32_t from) {
  std::uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(from) : "memory");
  return v;
}

/// A round of one operand: lines x 64 k, zeros where there is no k.
__device__ void copy(std::uint32_t base, bool mn, const void* data, Strides s, bool lines_are_rows,
                     int lines, std::int64_t k0, std::int64_t k_end) {
  for (int i = static_cast<int>(threadIdx.x); i < lines * kBlock; i += 128) {
    const int line = i / kBlock, k = i % kBlock;
    const std::int64_t at = k0 + k;
    const std::int64_t offset =
        lines_are_rows ? line * s.row + at * s.col : at * s.row + line * s.col;
    store(place(base, mn, line, k),
          at < k_end ? static_cast<const std::uint16_t*>(data)[offset] : std::uint16_t{0});
  }
}

/// Registers of A for a k16 step: rows l / 4 and + 8 of the warp's 16, k 2 (l % 4) and + 8.
__device__ void load_a(std::uint32_t (&a)[4], std::uint32_t base, int k) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  for (int i = 0; i < 4; ++i) {
    a[i] = two(place(base, false, row + i % 2 * 8, k + lane % 4 * 2 + i / 2 * 8));
  }
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

template <DType T, int kN>
__device__ void wgmma_registers(float (&d)[kN / 2], const std::uint32_t (&a)[4],
                                std::uint64_t descriptor) {
  if constexpr (kN == 8) {
    DETGEMM_BOTH("8", "%0, %1, %2, %3", "{%4, %5, %6, %7}, %8", DETGEMM_D4(0));
  } else if constexpr (kN == 16) {
    DETGEMM_BOTH("16", "%0, %1, %2, %3, %4, %5, %6, %7", "{%8, %9, %10, %11}, %12", DETGEMM_D4(0),
                 DETGEMM_D4(4));
  } else {
    static_assert(kN == 64);
    DETGEMM_BOTH("64",
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
                 "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31",
                 "{%32, %33, %34, %35}, %36", DETGEMM_D16(0), DETGEMM_D16(16));
  }
}

/// The k16 step at `k` of the round.
template <DType T, int kN, bool kAMn, bool kBMn, Form kForm>
__device__ void step(float (&d)[kN / 2], std::uint32_t a_base, std::uint32_t b_base, int k) {
  const auto along = [](bool mn, int at) {
    return static_cast<std::uint64_t>(at / 16 * (mn ? 2048 : 32)) >> 4;
  };
  const std::uint64_t b = sm90::ptx::descriptor(b_base, 8192) + along(kBMn, k);
  if constexpr (kForm == Form::mma_sync) {
    std::uint32_t a[4];
    load_a(a, a_base, k);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int j = 0; j < kN / 8; ++j) {
      const std::uint32_t columns[2] = {
          two(place(b_base, false, j * 8 + lane / 4, k + lane % 4 * 2)),
          two(place(b_base, false, j * 8 + lane / 4, k + lane % 4 * 2 + 8))};
      sm90::ptx::mma_m16n8k16<T>(reinterpret_cast<float(&)[4]>(d[j * 4]), a, columns);
    }
  } else {
    std::uint32_t a[4] = {};
    if constexpr (kForm == Form::wgmma_registers) load_a(a, a_base, k);
    sm90::ptx::wgmma_fence();
    if constexpr (kForm == Form::wgmma_registers) {
      wgmma_registers<T, kN>(d, a, b);
    } else {
      sm90::ptx::Wgmma<T, kN, kAMn, kBMn>::run(
          d, sm90::ptx::descriptor(a_base, 8192) + along(kAMn, k), b);
    }
    sm90::ptx::wgmma_commit();
    sm90::ptx::wgmma_wait<0>();
  }
}

template <DType T, int kN, bool kAMn, bool kBMn, Form kForm>
__global__ void __launch_bounds__(128) product(const __grid_constant__ GemmArguments g) {
  extern __shared__ unsigned char memory[];
  const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  const std::uint32_t a_base = (start + 1023) / 1024 * 1024, b_base = a_base + kABytes;
  float d[kN / 2];
  for (float& v : d) v = 0.0F;
  const int rounds = static_cast<int>((g.k + kBlock - 1) / kBlock);
  for (int r = 0; r < rounds; ++r) {
    const int round = kForm == Form::descending ? rounds - 1 - r : r;
    copy(a_base, kAMn, g.a, g.as, true, 64, std::int64_t{round} * kBlock, g.k);
    copy(b_base, kBMn, g.b, g.bs, false, kN, std::int64_t{round} * kBlock, g.k);
    sm90::ptx::fence_proxy_async();
    __syncthreads();
    for (int i = 0; i < kBlock / 16; ++i) {
      step<T, kN, kAMn, kBMn, kForm>(d, a_base, b_base,
                                     (kForm == Form::descending ? kBlock / 16 - 1 - i : i) * 16);
    }
    __syncthreads();
  }
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  for (int i = 0; i < kN / 2; ++i) {
    const int col = i / 4 * 8 + lane % 4 * 2 + i % 2;
    static_cast<float*>(g.d)[(row + i / 2 % 2 * 8) * kN + col] = d[i];
  }
}

template <DType T, int kN, bool kAMn, bool kBMn, Form kForm>
cudaError_t launch(const GemmArguments& g, cudaStream_t stream) {
  const int bytes = 1024 + kABytes + (kN + 63) / 64 * 8192;
  const auto kernel = &product<T, kN, kAMn, kBMn, kForm>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  kernel<<<1, 128, bytes, stream>>>(g);
  return cudaGetLastError();
}

template <DType T, int kN>
cudaError_t with_width(const Instruction& i, const GemmArguments& g, cudaStream_t stream) {
  switch (i.form) {
    case Form::wgmma:
      if (i.a_mn) {
        return i.b_mn ? launch<T, kN, true, true, Form::wgmma>(g, stream)
                      : launch<T, kN, true, false, Form::wgmma>(g, stream);
      }
      return i.b_mn ? launch<T, kN, false, true, Form::wgmma>(g, stream)
                    : launch<T, kN, false, false, Form::wgmma>(g, stream);
    case Form::wgmma_registers:
      if constexpr (kN == 8 || kN == 16 || kN == 64) {
        return launch<T, kN, false, false, Form::wgmma_registers>(g, stream);
      }
      return cudaErrorNotSupported;
    case Form::mma_sync:
      if constexpr (kN <= 64) return launch<T, kN, false, false, Form::mma_sync>(g, stream);
      return cudaErrorNotSupported;
    case Form::descending:
      if constexpr (kN == 64) return launch<T, kN, false, false, Form::descending>(g, stream);
      return cudaErrorNotSupported;
  }
  return cudaErrorNotSupported;
}

template <DType T, int... kN>
cudaError_t find_width(const Instruction& which, const GemmArguments& g, cudaStream_t stream,
                       std::integer_sequence<int, kN...>) {
  cudaError_t error = cudaErrorNotSupported;
  static_cast<void>(
      ((which.n == kN ? (error = with_width<T, kN>(which, g, stream), true) : false) || ...));
  return error;
}

}  // namespace

cudaError_t run_instruction(const Instruction& which, const GemmArguments& g, DType input,
                            cudaStream_t stream) {
  // Every width of ptx::Wgmma.
  using Widths = std::integer_sequence<int, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176,
                                       192, 208, 224, 240, 248, 256>;
  return input == DType::bf16 ? find_width<DType::bf16>(which, g, stream, Widths{})
                              : find_width<DType::fp16>(which, g, stream, Widths{});
}

}  // namespace detgemm::test
