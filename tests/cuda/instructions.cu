// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "cuda/sample.hpp"
#include "cuda/sm90/leaves/geometry.hpp"
#include "cuda/sm90/ptx/barrier.cuh"
#include "cuda/sm90/ptx/memory.cuh"
#include "cuda/sm90/ptx/mma.cuh"
#include "cuda/sm90/ptx/wgmma.cuh"
#include "cuda/sm90/realign/realign.hpp"
#include "cuda/sm90/tile/geometry.hpp"
#include "cuda/sm90/tile/swizzle.hpp"
#include "tests/cuda/instructions.hpp"
#include "tests/cuda/ptx/instructions.cuh"

namespace detgemm::test {
namespace {

namespace sm90 = cuda::sm90;

constexpr int kBlock = 64;                 // k per round: one span of 128 bytes
constexpr int kABytes = sm90::kSlabBytes;  // A is (64, 64 k); B lies behind it
constexpr int kAlignment = sm90::kSharedAlignment;

/// Whether the widths of the kernels' instructions are exactly kWidths.
constexpr bool covers_exactly_the_kernels() {
  bool seen[std::size(kWidths)] = {};
  bool all_listed = true;
  const auto see = [&](const auto& geometries) {
    for (const sm90::Geometry& g : geometries) {
      const auto* at = std::find(std::begin(kWidths), std::end(kWidths), g.n);
      if (at == std::end(kWidths)) {
        all_listed = false;
      } else {
        seen[at - std::begin(kWidths)] = true;
      }
    }
  };
  see(sm90::kPlainGeometries);
  see(sm90::kLeafGeometries);
  see(sm90::kRealignGeometries);
  return all_listed && std::all_of(std::begin(seen), std::end(seen), [](bool s) { return s; });
}
static_assert(covers_exactly_the_kernels(),
              "The instructions are tested with every width that a kernel uses, and no other.");

/// The address of element (line, k) of an operand under the 128-byte swizzle: rows of k, or slabs
/// of 64 lines.
__device__ std::uint32_t place(std::uint32_t base, bool mn, int line, int k) {
  if (mn) {
    return sm90::swizzled<128>(base + line / 64 * sm90::kSlabBytes, k, line % 64 / 8) +
           line % 8 * 2;
  }
  return sm90::swizzled<128>(base, line, k / 8) + k % 8 * 2;
}

/// Copies a round of one operand, (lines, 64 k), to shared memory, with zeros where there is no k.
__device__ void copy(std::uint32_t base, bool mn, const void* data, Strides s, bool lines_are_rows,
                     int lines, std::int64_t k0, std::int64_t k_end) {
  for (int i = static_cast<int>(threadIdx.x); i < lines * kBlock; i += 128) {
    const int line = i / kBlock, k = i % kBlock;
    const std::int64_t at = k0 + k;
    const std::int64_t offset =
        lines_are_rows ? line * s.row + at * s.col : at * s.row + line * s.col;
    ptx::st_shared_u16(
        place(base, mn, line, k),
        at < k_end ? static_cast<const std::uint16_t*>(data)[offset] : std::uint16_t{0});
  }
}

/// Loads the registers of A for a k16 step: lane l has rows l / 4 and l / 4 + 8 of the warp's 16,
/// and k from 2 * (l % 4) and from 2 * (l % 4) + 8, two each.
__device__ void load_a(std::uint32_t (&a)[4], std::uint32_t base, int k) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  for (int i = 0; i < 4; ++i) {
    a[i] =
        sm90::ptx::ld_shared_u32(place(base, false, row + i % 2 * 8, k + lane % 4 * 2 + i / 2 * 8));
  }
}

/// Runs the k16 step at `k` of the round.
template <DType T, int kN, bool kAMn, bool kBMn, Form kForm>
__device__ void step(float (&d)[kN / 2], std::uint32_t a_base, std::uint32_t b_base, int k) {
  const auto along = [](bool mn, int at) {
    return static_cast<std::uint64_t>(at / 16 * sm90::k16_step_bytes(mn)) >> 4;
  };
  const std::uint64_t b = sm90::ptx::descriptor(b_base, sm90::kSlabBytes) + along(kBMn, k);
  if constexpr (kForm == Form::mma_sync) {
    std::uint32_t a[4];
    load_a(a, a_base, k);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int j = 0; j < kN / 8; ++j) {
      const std::uint32_t columns[2] = {
          sm90::ptx::ld_shared_u32(place(b_base, false, j * 8 + lane / 4, k + lane % 4 * 2)),
          sm90::ptx::ld_shared_u32(place(b_base, false, j * 8 + lane / 4, k + lane % 4 * 2 + 8))};
      sm90::ptx::mma_m16n8k16<T>(reinterpret_cast<float(&)[4]>(d[j * 4]), a, columns);
    }
  } else {
    std::uint32_t a[4] = {};
    if constexpr (kForm == Form::wgmma_registers) load_a(a, a_base, k);
    sm90::ptx::wgmma_fence();
    if constexpr (kForm == Form::wgmma_registers) {
      ptx::wgmma_a_in_registers<T, kN>(d, a, b);
    } else {
      sm90::ptx::Wgmma<T, kN, kAMn, kBMn>::run(
          d, sm90::ptx::descriptor(a_base, sm90::kSlabBytes) + along(kAMn, k), b);
    }
    sm90::ptx::wgmma_commit();
    sm90::ptx::wgmma_wait<0>();
  }
}

template <DType T, int kN, bool kAMn, bool kBMn, Form kForm>
__global__ void __launch_bounds__(128) product(const __grid_constant__ GemmArguments g) {
  extern __shared__ unsigned char memory[];
  const std::uint32_t start = sm90::ptx::shared_address(memory);
  const std::uint32_t a_base = (start + kAlignment - 1) / kAlignment * kAlignment;  // (64, 64 k)
  const std::uint32_t b_base = a_base + kABytes;                                    // (kN, 64 k)
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
  const int bytes = kAlignment + kABytes + (kN + 63) / 64 * sm90::kSlabBytes;
  const auto kernel = &product<T, kN, kAMn, kBMn, kForm>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  kernel<<<1, 128, bytes, stream>>>(g);
  return cudaGetLastError();
}

/// A build of sample kernels runs none, and compiles each eighth width of bf16 and one of fp16.
template <DType T>
constexpr bool has_width(std::size_t index) {
  return !cuda::kSampleAlone || index % (T == DType::bf16 ? 8 : std::size(kWidths)) == 0;
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

template <DType T, std::size_t... kI>
cudaError_t find_width(const Instruction& which, const GemmArguments& g, cudaStream_t stream,
                       std::index_sequence<kI...>) {
  cudaError_t error = cudaErrorNotSupported;
  const auto run = [&]<std::size_t kIndex>() {
    if constexpr (has_width<T>(kIndex)) error = with_width<T, kWidths[kIndex]>(which, g, stream);
  };
  ((which.n == kWidths[kI] ? run.template operator()<kI>() : void()), ...);
  return error;
}

}  // namespace

cudaError_t run_instruction(const Instruction& which, const GemmArguments& g, DType input,
                            cudaStream_t stream) {
  constexpr auto widths = std::make_index_sequence<std::size(kWidths)>();
  return input == DType::bf16 ? find_width<DType::bf16>(which, g, stream, widths)
                              : find_width<DType::fp16>(which, g, stream, widths);
}

}  // namespace detgemm::test
