// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/gpu/buffers.hpp"
#include "bench/gpu/check.hpp"

namespace detgemm::bench {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kAlignment = 256;
/// Enough for a few hundred copies of small weights: a graph then never meets a warm one.
constexpr std::int64_t kWeightPool = 3072 * kMiB;
constexpr std::int64_t kOtherPool = 512 * kMiB;

__device__ std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Standard normal pairs by Box and Muller, from the pair's number alone.
template <class Pair, class Round>
__global__ void fill_normal(Pair* pairs, std::size_t count, std::uint64_t seed, Round round) {
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

struct ToFp32 {
  __device__ float2 operator()(float x, float y) const { return make_float2(x, y); }
};

/// Index of a type's pool.
int pool_of(DType type) { return type == DType::fp32 ? 2 : (type == DType::fp16 ? 1 : 0); }

char* normal_pool(std::int64_t bytes, int type, std::uint64_t seed) {
  void* data = nullptr;
  check(cudaMalloc(&data, static_cast<std::size_t>(bytes)), "memory for operands");
  const auto pairs = static_cast<std::size_t>(bytes / 4);
  if (type == 2) {
    fill_normal<<<2048, 256>>>(static_cast<float2*>(data), pairs / 2, seed, ToFp32{});
  } else if (type == 1) {
    fill_normal<<<2048, 256>>>(static_cast<__half2*>(data), pairs, seed, ToFp16{});
  } else {
    fill_normal<<<2048, 256>>>(static_cast<__nv_bfloat162*>(data), pairs, seed, ToBf16{});
  }
  check(cudaGetLastError(), "random data");
  return static_cast<char*>(data);
}

std::int64_t padded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Copy number `call` of an operand, out of as many as fit and are wanted.
template <class PoolType>
char* copy_of(const PoolType& pool, std::int64_t bytes, std::int64_t wanted, int call) {
  const std::int64_t copies = std::clamp<std::int64_t>(pool.bytes / padded(bytes), 1, wanted);
  return pool.data + call % copies * padded(bytes);
}

}  // namespace

Buffers::Buffers(const std::vector<Case>& cases) {
  std::int64_t most_d = 0;
  const auto grow = [](Pool& pool, std::int64_t bytes, std::int64_t least) {
    pool.bytes = std::max({pool.bytes, 2 * padded(bytes), least});
  };
  const auto see = [&](const Problem& problem) {
    const Gemm g = gemm_of(problem);
    const int type = pool_of(problem.type);
    grow(a_[type], g.a_bytes(), kOtherPool);
    grow(b_[type], g.b_bytes(), problem.kind == Kind::db ? kOtherPool : kWeightPool);
    grow(d_, g.d_bytes(), kOtherPool);
    most_d = std::max(most_d, g.d_bytes());
  };
  for (const Case& c : cases) {
    see(c.problem);
    if (c.neighbour) see(*c.neighbour);
  }
  for (int type = 0; type < 3; ++type) {
    if (a_[type].bytes != 0) a_[type].data = normal_pool(a_[type].bytes, type, 1);
    if (b_[type].bytes != 0) b_[type].data = normal_pool(b_[type].bytes, type, 2);
  }
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(d_.bytes)), "memory for outputs");
  d_.data = static_cast<char*>(memory);
  check(cudaMemset(memory, 0, static_cast<std::size_t>(d_.bytes)), "outputs");
  check(cudaMalloc(&scratch_, static_cast<std::size_t>(most_d)), "memory to compare outputs");
  check(cudaDeviceSynchronize(), "random data");
}

Buffers::~Buffers() {
  for (void* memory : {static_cast<void*>(a_[0].data), static_cast<void*>(a_[1].data),
                       static_cast<void*>(b_[0].data), static_cast<void*>(b_[1].data),
                       static_cast<void*>(a_[2].data), static_cast<void*>(b_[2].data),
                       static_cast<void*>(d_.data), scratch_}) {
    cudaFree(memory);
  }
}

Buffers::Call Buffers::at(const Problem& problem, int call) const {
  const Gemm g = gemm_of(problem);
  const int type = pool_of(problem.type);
  // Few tokens: activations come warm from the kernel ahead. Many: nothing survives in L2.
  const bool warm = problem.kind == Kind::forward && problem.tokens <= 512;
  constexpr std::int64_t all = 1 << 20;
  return {copy_of(a_[type], g.a_bytes(), warm ? 2 : all, call),
          copy_of(b_[type], g.b_bytes(), all, call),
          copy_of(d_, g.d_bytes(), warm ? 4 : all, call)};
}

}  // namespace detgemm::bench
