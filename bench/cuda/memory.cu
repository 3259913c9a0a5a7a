// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "bench/cuda/check.hpp"
#include "bench/cuda/memory.hpp"

namespace detgemm::bench {
namespace {

__device__ std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Standard normal pairs by Box and Muller, from the pair's number alone.
template <class Pair, class Round>
__global__ void fill_normal_pairs(Pair* pairs, std::size_t count, std::uint64_t seed, Round round) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    const std::uint64_t bits = mix(i + (seed << 40));
    const float u = (static_cast<float>(bits >> 40) + 0.5F) * 0x1p-24F;
    const float v = static_cast<float>(bits & 0xffffffU) * 0x1p-24F;
    const float radius = sqrtf(-2.0F * logf(u));
    pairs[i] = round(radius * cospif(2.0F * v), radius * sinpif(2.0F * v));
  }
}

struct ToBf16 {
  __device__ __nv_bfloat162 operator()(float x, float y) const {
    return __floats2bfloat162_rn(x, y);
  }
};
struct ToFp16 {
  __device__ __half2 operator()(float x, float y) const { return __floats2half2_rn(x, y); }
};

struct ToE4m3 {
  __device__ __nv_fp8x2_storage_t operator()(float x, float y) const {
    return __nv_cvt_float2_to_fp8x2(make_float2(x, y), __NV_SATFINITE, __NV_E4M3);
  }
};

struct ToFp32 {
  __device__ float2 operator()(float x, float y) const { return make_float2(x, y); }
};

}  // namespace

void* CudaMemory::allocate(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "memory for a pool");
  return memory;
}

void CudaMemory::release(void* memory) noexcept { cudaFree(memory); }

void CudaMemory::fill_normal(void* memory, std::int64_t bytes, DType type, std::uint64_t seed) {
  const auto pairs = static_cast<std::size_t>(bytes / 4);
  if (type == DType::fp32) {
    fill_normal_pairs<<<2048, 256>>>(static_cast<float2*>(memory), pairs / 2, seed, ToFp32{});
  } else if (type == DType::e4m3) {
    fill_normal_pairs<<<2048, 256>>>(static_cast<__nv_fp8x2_storage_t*>(memory), 2 * pairs, seed,
                                     ToE4m3{});
  } else if (type == DType::fp16) {
    fill_normal_pairs<<<2048, 256>>>(static_cast<__half2*>(memory), pairs, seed, ToFp16{});
  } else {
    fill_normal_pairs<<<2048, 256>>>(static_cast<__nv_bfloat162*>(memory), pairs, seed, ToBf16{});
  }
  check(cudaGetLastError(), "random data");
  check(cudaDeviceSynchronize(), "random data");
}

void CudaMemory::fill_zero(void* memory, std::int64_t bytes) {
  check(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)), "outputs");
  check(cudaDeviceSynchronize(), "outputs");
}

}  // namespace detgemm::bench
