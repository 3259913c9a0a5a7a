// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "bench/cuda/bits.hpp"
#include "bench/cuda/check.hpp"

namespace detgemm::bench {
namespace {

using Bits = std::uint16_t;

/// Element (i, j) of op(A) lies at a[i * a_row + j * a_col]; of op(B) likewise.
struct Slice {
  const Bits* a;
  const Bits* b;
  const Bits* d;
  std::int64_t m, n, k;
  std::int64_t a_row, a_col, b_row, b_col;
  std::int64_t tiles_n, tiles_all, tiles;
};

__device__ std::uint32_t a_pair(const Slice& s, std::int64_t row, std::int64_t k) {
  const auto at = [&](std::int64_t kk) -> std::uint32_t {
    return row < s.m && kk < s.k ? s.a[row * s.a_row + kk * s.a_col] : 0U;
  };
  return at(k) | at(k + 1) << 16;
}

__device__ std::uint32_t b_pair(const Slice& s, std::int64_t k, std::int64_t col) {
  const auto at = [&](std::int64_t kk) -> std::uint32_t {
    return col < s.n && kk < s.k ? s.b[kk * s.b_row + col * s.b_col] : 0U;
  };
  return at(k) | at(k + 1) << 16;
}

template <bool kFp16>
__device__ void step(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  if constexpr (kFp16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
        " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

template <bool kFp16>
__device__ Bits rounded(float value) {
  if constexpr (kFp16) return __half_as_ushort(__float2half_rn(value));
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

/// counts[0] outputs seen, counts[1] different.
template <bool kFp16>
__global__ void __launch_bounds__(32) plain_chain(const Slice s, unsigned long long* counts) {
  // The first tile is tile 0 and the last one the last: the edges of D are always among them.
  const std::int64_t tile =
      s.tiles > 1 ? static_cast<std::int64_t>(blockIdx.x) * (s.tiles_all - 1) / (s.tiles - 1) : 0;
  const std::int64_t row0 = tile / s.tiles_n * 16;
  const std::int64_t col0 = tile % s.tiles_n * 8;
  const int group = static_cast<int>(threadIdx.x) / 4;
  const int pair = static_cast<int>(threadIdx.x) % 4 * 2;
  float c[4] = {0.0F, 0.0F, 0.0F, 0.0F};
#pragma unroll 4
  for (std::int64_t k = 0; k < s.k; k += 16) {
    const std::uint32_t a[4] = {
        a_pair(s, row0 + group, k + pair), a_pair(s, row0 + group + 8, k + pair),
        a_pair(s, row0 + group, k + pair + 8), a_pair(s, row0 + group + 8, k + pair + 8)};
    const std::uint32_t b[2] = {b_pair(s, k + pair, col0 + group),
                                b_pair(s, k + pair + 8, col0 + group)};
    step<kFp16>(c, a, b);
  }
  for (int i = 0; i < 4; ++i) {
    const std::int64_t row = row0 + group + i / 2 * 8;
    const std::int64_t col = col0 + pair + i % 2;
    if (row >= s.m || col >= s.n) continue;
    atomicAdd(&counts[0], 1ULL);
    if (s.d[row * s.n + col] != rounded<kFp16>(c[i])) atomicAdd(&counts[1], 1ULL);
  }
}

/// The same for fp32 under ieee_fma: one thread per output of the tile.
__global__ void __launch_bounds__(128) plain_fma(const Slice s, const float* a, const float* b,
                                                 const float* d, unsigned long long* counts) {
  const std::int64_t tile =
      s.tiles > 1 ? static_cast<std::int64_t>(blockIdx.x) * (s.tiles_all - 1) / (s.tiles - 1) : 0;
  const std::int64_t row = tile / s.tiles_n * 16 + threadIdx.x / 8;
  const std::int64_t col = tile % s.tiles_n * 8 + threadIdx.x % 8;
  if (row >= s.m || col >= s.n) return;
  float c = 0.0F;
  for (std::int64_t k = 0; k < s.k; ++k) {
    c = __fmaf_rn(a[row * s.a_row + k * s.a_col], b[k * s.b_row + col * s.b_col], c);
  }
  atomicAdd(&counts[0], 1ULL);
  if (__float_as_uint(d[row * s.n + col]) != __float_as_uint(c)) atomicAdd(&counts[1], 1ULL);
}

unsigned long long* cleared_counts(cudaStream_t stream) {
  static unsigned long long* const counts = [] {
    void* memory = nullptr;
    check(cudaMalloc(&memory, 2 * sizeof(unsigned long long)), "counters");
    return static_cast<unsigned long long*>(memory);
  }();
  check(cudaMemsetAsync(counts, 0, 2 * sizeof *counts, stream), "counters");
  return counts;
}

Counted fetch(cudaStream_t stream, const unsigned long long* counts) {
  unsigned long long host[2] = {0, 0};
  check(cudaGetLastError(), "comparing bits");
  check(cudaMemcpyAsync(host, counts, sizeof host, cudaMemcpyDeviceToHost, stream), "counts");
  check(cudaStreamSynchronize(stream), "comparing bits");
  return {static_cast<std::int64_t>(host[0]), static_cast<std::int64_t>(host[1])};
}

}  // namespace

bool has_plain_chain(const Contract& contract) {
  const DType type = contract.input;
  if (contract.reduction.kind != ReductionKind::chain || contract.output != type) return false;
  if (contract.arithmetic == Arithmetic::ieee_fma) return type == DType::fp32;
  return contract.arithmetic == Arithmetic::hopper && (type == DType::bf16 || type == DType::fp16);
}

Counted against_plain_chain(cudaStream_t stream, const Problem& problem, const Buffers::Call& call,
                            std::int64_t tiles) {
  const Gemm g = gemm_of(problem);
  Slice s{};
  s.a = static_cast<const Bits*>(call.a);
  s.b = static_cast<const Bits*>(call.b);
  s.d = static_cast<const Bits*>(call.d);
  s.m = g.m;
  s.n = g.n;
  s.k = g.k;
  s.a_row = g.a_transposed ? 1 : g.k;
  s.a_col = g.a_transposed ? g.m : 1;
  s.b_row = g.b_transposed ? 1 : g.n;
  s.b_col = g.b_transposed ? g.k : 1;
  s.tiles_n = (g.n + 7) / 8;
  s.tiles_all = (g.m + 15) / 16 * s.tiles_n;
  s.tiles = std::min(tiles, s.tiles_all);
  unsigned long long* counts = cleared_counts(stream);
  const auto grid = static_cast<unsigned>(s.tiles);
  if (problem.type == DType::fp32) {
    plain_fma<<<grid, 128, 0, stream>>>(s, static_cast<const float*>(call.a),
                                        static_cast<const float*>(call.b),
                                        static_cast<const float*>(call.d), counts);
  } else if (problem.type == DType::fp16) {
    plain_chain<true><<<grid, 32, 0, stream>>>(s, counts);
  } else {
    plain_chain<false><<<grid, 32, 0, stream>>>(s, counts);
  }
  return fetch(stream, counts);
}

}  // namespace detgemm::bench
