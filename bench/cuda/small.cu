// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cuda/check.hpp"
#include "bench/cuda/small.hpp"

namespace detgemm::bench {
namespace {

constexpr unsigned kThreads = 256;

/// Writes back what it reads; the compiler must not see that it does.
template <class Word>
__device__ void rewrite(Word* at) {
  Word value = *static_cast<volatile Word*>(at);
  *static_cast<volatile Word*>(at) = value;
}

/// own: the next kernel starts while this one runs, and this one while the one before it runs; it
/// waits before it touches memory.
template <bool kOwn>
__global__ void __launch_bounds__(kThreads) touch(unsigned char* a, std::int64_t bytes) {
  if constexpr (kOwn) {
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
  }
  const std::int64_t words = bytes / 8;
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i < words) {
    rewrite(reinterpret_cast<unsigned long long*>(a) + i);
  } else if (i < words + bytes % 8) {
    rewrite(a + 8 * words + (i - words));
  }
}

Status launch(cudaStream_t stream, bool own, unsigned char* a, std::int64_t bytes) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>((bytes / 8 + 7) / kThreads + 1));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = own ? 1 : 0;
  return status_of(cudaLaunchKernelEx(&config, own ? touch<true> : touch<false>, a, bytes));
}

}  // namespace

Arm after_small(Arm arm, const Problem& problem, const Buffers& buffers) {
  Arm both = arm;
  both.detail = std::string("after a small kernel (") + name(problem.before) + "): " + arm.detail;
  both.enqueue = [product = std::move(arm.enqueue), problem, &buffers](Stream stream, int call) {
    // Pools are this program's own memory; Call::a is const for arms that compute.
    auto* const a = static_cast<unsigned char*>(const_cast<void*>(buffers.at(problem, call).a));
    const Status small =
        launch(cuda_stream(stream), problem.before == Before::own, a, gemm_of(problem).a_bytes());
    return small ? product(stream, call) : small;
  };
  return both;
}

}  // namespace detgemm::bench
