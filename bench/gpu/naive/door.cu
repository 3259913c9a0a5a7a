// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// A door with one slow kernel behind it: lets this program be tried before, or without, cuda/sm90.
// It is right for bf16 and fp16 and packed operands, and nothing is tuned.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/launch.hpp"

namespace detgemm::cuda {
namespace {

struct Plain {
  const std::uint16_t *a, *b;
  std::uint16_t* d;
  Strides as, bs, ds;
  std::int64_t m, n, k;
  bool fp16;
};

__device__ std::uint32_t pair(const std::uint16_t* at, std::int64_t step, std::int64_t left) {
  return (left > 0 ? at[0] : 0U) | (left > 1 ? at[step] : 0U) << 16;
}

__global__ void __launch_bounds__(32) chain_tile(const Plain p) {
  const std::int64_t row0 = std::int64_t{blockIdx.y} * 16;
  const std::int64_t col0 = std::int64_t{blockIdx.x} * 8;
  const int group = static_cast<int>(threadIdx.x) / 4;
  const int two = static_cast<int>(threadIdx.x) % 4 * 2;
  float c[4] = {0.0F, 0.0F, 0.0F, 0.0F};
  for (std::int64_t k = 0; k < p.k; k += 16) {
    std::uint32_t a[4];
    std::uint32_t b[2];
    for (int i = 0; i < 4; ++i) {
      const std::int64_t row = row0 + group + i % 2 * 8;
      const std::int64_t at = k + two + i / 2 * 8;
      a[i] = pair(p.a + row * p.as.row + at * p.as.col, p.as.col, row < p.m ? p.k - at : 0);
    }
    for (int i = 0; i < 2; ++i) {
      const std::int64_t at = k + two + i * 8;
      b[i] = pair(p.b + at * p.bs.row + (col0 + group) * p.bs.col, p.bs.row,
                  col0 + group < p.n ? p.k - at : 0);
    }
    if (p.fp16) {
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
  for (int i = 0; i < 4; ++i) {
    const std::int64_t row = row0 + group + i / 2 * 8;
    const std::int64_t col = col0 + two + i % 2;
    if (row < p.m && col < p.n) {
      p.d[row * p.ds.row + col * p.ds.col] = p.fp16
                                                 ? __half_as_ushort(__float2half_rn(c[i]))
                                                 : __bfloat16_as_ushort(__float2bfloat16_rn(c[i]));
    }
  }
}

constexpr std::string_view kNames[] = {"naive"};

}  // namespace

std::span<const std::string_view> sm90_chain_kernels() { return kNames; }
std::string sm90_describe(const GemmArguments&, DType, const LaunchOptions&) { return "naive"; }
cudaError_t sm90_prepare() { return cudaSuccess; }

cudaError_t sm90_chain(const GemmArguments& g, DType input, const LaunchOptions& options) {
  const Plain p{static_cast<const std::uint16_t*>(g.a),
                static_cast<const std::uint16_t*>(g.b),
                static_cast<std::uint16_t*>(g.d),
                g.as,
                g.bs,
                g.ds,
                g.m,
                g.n,
                g.k,
                input == DType::fp16};
  const dim3 grid(static_cast<unsigned>((g.n + 7) / 8), static_cast<unsigned>((g.m + 15) / 16));
  chain_tile<<<grid, 32, 0, options.stream>>>(p);
  return cudaGetLastError();
}

// Nothing stands in for ieee_fma.
std::span<const std::string> simt_kernels() { return {}; }
std::string simt_describe(const GemmArguments&, DType, const LaunchOptions&) { return "none"; }
cudaError_t simt_prepare() { return cudaSuccess; }
cudaError_t simt_gemm(const GemmArguments&, DType, const LaunchOptions&) {
  return cudaErrorNotSupported;
}

}  // namespace detgemm::cuda
