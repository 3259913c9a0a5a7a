// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "core/arithmetic/activation.hpp"
#include "cuda/sm90/epilogue/rounded.cuh"
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

/// x beside a number of x's own size, so that both places of a pair are seen.
template <Activation kActivation>
__global__ void count_rounded(cuda::sm90::Logistic logistic, unsigned long long* out) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  unsigned long long found = 0, unknown = 0;
  std::uint32_t bits = blockIdx.x * blockDim.x + threadIdx.x;
  for (std::uint64_t done = bits; done < std::uint64_t{1} << 32; done += step, bits += step) {
    const float x = float_of(bits);
    const float other = float_of(bits ^ 0x5a5U);
    const auto value = [](float v) {
      return kActivation == Activation::silu ? silu(v) : gelu_tanh(v);
    };
    const float want[] = {value(x), value(other)};
    bool differs = false;
    for (const DType output : {DType::bf16, DType::fp16}) {
      std::uint32_t packed;
      if (cuda::sm90::activate_rounded(logistic, x, other, output, packed)) {
        differs |=
            packed != (output == DType::bf16 ? cuda::sm90::ptx::cvt_rn_bf16x2_f32(want[1], want[0])
                                             : cuda::sm90::ptx::cvt_rn_f16x2_f32(want[1], want[0]));
      } else if (output == DType::bf16 && fabsf(x) <= 16.0F && fabsf(x) >= 0x1p-32F) {
        ++unknown;
      }
    }
    found += differs ? 1 : 0;
  }
  if (found != 0) atomicAdd(out, found);
  if (unknown != 0) atomicAdd(out + 1, unknown);
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
    case Compared::rounded_silu:
      count_rounded<Activation::silu>
          <<<kBlocks, kThreads, 0, stream>>>(cuda::sm90::Logistic::of(Activation::silu), out);
      break;
    case Compared::rounded_gelu_tanh:
    case Compared::rounded_planted: {
      auto logistic = cuda::sm90::Logistic::of(Activation::gelu_tanh);
      if (what == Compared::rounded_planted) {
        logistic.error /= 16;
        logistic.error_z /= 16;
      }
      count_rounded<Activation::gelu_tanh><<<kBlocks, kThreads, 0, stream>>>(logistic, out);
      break;
    }
  }
  return cudaGetLastError();
}

}  // namespace detgemm::test
