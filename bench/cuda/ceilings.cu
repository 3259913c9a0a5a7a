// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cuda/ceilings.hpp"
#include "bench/cuda/check.hpp"
#include "cuda/sm90/ptx/wgmma.cuh"

namespace detgemm::bench {
namespace {

namespace ptx = cuda::sm90::ptx;

constexpr int kSteps = 8192;                       // stages of four k16 steps
constexpr int kGroups = 2;                         // warp groups of 64 x 256 outputs each
constexpr int kABytes = kGroups * 64 * 128;        // 64 k of each group's 64 rows
constexpr int kBBytes = 256 * 128;                 // 64 k of 256 columns
constexpr int kShared = kABytes + kBBytes + 1024;  // and room to align

constexpr int kFmaSteps = 16384;
constexpr int kFmaThreads = 512;
constexpr int kFmaChains = 16;

/// A bf16 number near 1 of random sign and fraction: zeros would let the clock rise above what any
/// data of a product allows.
__device__ std::uint32_t random_pair(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  x ^= x >> 16;
  return (x & 0x80ff80ffU) | 0x3f003f00U;
}

__global__ void __launch_bounds__(128 * kGroups, 1) multiply_random(float* out, int steps) {
  extern __shared__ unsigned char memory[];
  const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  const std::uint32_t aligned = (start + 1023U) & ~1023U;
  auto* words = reinterpret_cast<std::uint32_t*>(memory + (aligned - start));
  for (int i = static_cast<int>(threadIdx.x); i < (kABytes + kBBytes) / 4; i += 128 * kGroups) {
    words[i] = random_pair(static_cast<std::uint32_t>(i) + 65536U * blockIdx.x);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const std::uint32_t group = threadIdx.x / 128;
  const std::uint64_t a = ptx::descriptor(aligned + group * 64 * 128, 8192);
  const std::uint64_t b = ptx::descriptor(aligned + kABytes, 8192);
  float acc[128];
#pragma unroll
  for (float& x : acc) x = 0.0F;
  ptx::pin(acc);
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      ptx::Wgmma<DType::bf16, 256, false, false>::run(acc, a + 2 * step, b + 2 * step);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
  }
  ptx::wgmma_wait<0>();
  ptx::pin(acc);
  // Never true, and the compiler does not know.
  if (acc[0] == 1.2345e30F) *out = acc[threadIdx.x % 128];
}

__global__ void __launch_bounds__(kFmaThreads) fuse_random(float* out, int steps, float x) {
  float acc[kFmaChains];
#pragma unroll
  for (int c = 0; c < kFmaChains; ++c) acc[c] = static_cast<float>(threadIdx.x + c);
  const float y = x * 0.001F;
#pragma unroll 4
  for (int i = 0; i < steps; ++i) {
#pragma unroll
    for (int c = 0; c < kFmaChains; ++c) acc[c] = __fmaf_rn(acc[c], x, y);
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kFmaChains; ++c) sum += acc[c];
  if (sum == 1.2345e30F) *out = sum;
}

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&value, which, device), "a device's attribute");
  return value;
}

}  // namespace

Arm wgmma_loop(double& flops) {
  if (attribute(cudaDevAttrComputeCapabilityMajor) != 9) {
    throw std::runtime_error("the loop of wgmma is for compute capability 9.0");
  }
  check(cudaFuncSetAttribute(multiply_random, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
        "shared memory of the ceiling");
  const int sms = attribute(cudaDevAttrMultiProcessorCount);
  flops = 2.0 * sms * kGroups * 64 * 256 * 64 * kSteps;
  Arm arm;
  arm.name = "wgmma";
  arm.enqueue = [sms](Stream stream, int) {
    multiply_random<<<sms, 128 * kGroups, kShared, cuda_stream(stream)>>>(nullptr, kSteps);
    return status_of(cudaGetLastError());
  };
  return arm;
}

Arm fma_loop(double& flops) {
  const int blocks = 4 * attribute(cudaDevAttrMultiProcessorCount);
  flops = 2.0 * blocks * kFmaThreads * kFmaChains * kFmaSteps;
  Arm arm;
  arm.name = "fma";
  arm.enqueue = [blocks](Stream stream, int) {
    fuse_random<<<blocks, kFmaThreads, 0, cuda_stream(stream)>>>(nullptr, kFmaSteps, 0.999F);
    return status_of(cudaGetLastError());
  };
  return arm;
}

}  // namespace detgemm::bench
