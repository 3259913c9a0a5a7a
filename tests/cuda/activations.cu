// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "core/arithmetic/activation.hpp"
#include "tests/cuda/activations.hpp"

namespace detgemm::test {
namespace {

using namespace arithmetic;

template <Compared kWhat>
__device__ bool differs(float x) {
  if (kWhat == Compared::silu) return bits_of(silu(x)) != bits_of(silu<true>(x));
  if (kWhat == Compared::gelu) return bits_of(gelu(x)) != bits_of(gelu<true>(x));
  if (kWhat == Compared::gelu_tanh) return bits_of(gelu_tanh(x)) != bits_of(gelu_tanh<true>(x));
  return bits_of(gelu(x)) != bits_of(gelu_tanh(x));
}

template <Compared kWhat>
__global__ void count(unsigned long long* out) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  unsigned long long found = 0;
  std::uint32_t bits = blockIdx.x * blockDim.x + threadIdx.x;
  for (std::uint64_t done = bits; done < std::uint64_t{1} << 32; done += step, bits += step) {
    found += differs<kWhat>(float_of(bits)) ? 1 : 0;
  }
  if (found != 0) atomicAdd(out, found);
}

}  // namespace

cudaError_t compare_activations(Compared what, unsigned long long* out, cudaStream_t stream) {
  constexpr int kBlocks = 2048, kThreads = 256;
  switch (what) {
    case Compared::silu:
      count<Compared::silu><<<kBlocks, kThreads, 0, stream>>>(out);
      break;
    case Compared::gelu:
      count<Compared::gelu><<<kBlocks, kThreads, 0, stream>>>(out);
      break;
    case Compared::gelu_tanh:
      count<Compared::gelu_tanh><<<kBlocks, kThreads, 0, stream>>>(out);
      break;
    case Compared::planted:
      count<Compared::planted><<<kBlocks, kThreads, 0, stream>>>(out);
      break;
  }
  return cudaGetLastError();
}

}  // namespace detgemm::test
