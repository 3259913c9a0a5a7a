// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "core/arithmetic/step.hpp"
#include "core/contract/compute_element.hpp"
#include "tests/cuda/kernels.hpp"

namespace detgemm::test {
namespace {

constexpr int kCols = 32;
constexpr int kRows = 4;

template <Arithmetic A, DType T>
__global__ void __launch_bounds__(kCols* kRows) oracle_kernel(GemmArguments g, ScalePair scales) {
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * kCols + threadIdx.x;
  if (col >= g.n) return;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kRows;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kRows + threadIdx.y; row < g.m;
       row += step) {
    compute_element<A, T>(g, scales, row, col);
  }
}

template <Arithmetic A, DType T>
cudaError_t launch(const GemmArguments& g, cudaStream_t stream, const ScalePair& scales = {}) {
  const dim3 block(kCols, kRows);
  const dim3 grid(static_cast<unsigned>((g.n + kCols - 1) / kCols),
                  static_cast<unsigned>(std::min<std::int64_t>((g.m + kRows - 1) / kRows, 65535)));
  oracle_kernel<A, T><<<grid, block, 0, stream>>>(g, scales);
  return cudaGetLastError();
}

/// A thread has a leaf: the rule as it stands, one number after the other.
__global__ void snap_kernel(Lines at, std::int64_t leaf_k) {
  const std::int64_t leaves = (at.length + leaf_k - 1) / leaf_k;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < at.lines * leaves; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t line = i % at.lines;
    const std::int64_t begin = i / at.lines * leaf_k;
    const std::int64_t left = at.length - begin;
    auto* leaf =
        static_cast<std::uint16_t*>(at.data) + line * at.strides.row + begin * at.strides.col;
    arithmetic::snap_leaf(
        left < leaf_k ? left : leaf_k, [&](std::int64_t j) { return leaf[j * at.strides.col]; },
        [&](std::int64_t j, std::uint16_t bits) { leaf[j * at.strides.col] = bits; });
  }
}

}  // namespace

cudaError_t snap_by_the_rule(const Lines& where, std::int64_t leaf_k, cudaStream_t stream) {
  if (where.lines == 0 || where.length == 0) return cudaSuccess;
  snap_kernel<<<1024, 128, 0, stream>>>(where, leaf_k);
  return cudaGetLastError();
}

cudaError_t oracle(const GemmArguments& g, DType input, cudaStream_t stream, Arithmetic arithmetic,
                   const ScalePair& scales) {
  using enum DType;
#ifdef DETGEMM_CUDA_FP8
  if (input == e4m3) return launch<Arithmetic::hopper, e4m3>(g, stream, scales);
#else
  if (input == e4m3 || scales.a.data != nullptr) return cudaErrorNotSupported;
#endif
  if (arithmetic == Arithmetic::ieee_fma) {
    if (input == fp32) return launch<Arithmetic::ieee_fma, fp32>(g, stream);
    return input == bf16 ? launch<Arithmetic::ieee_fma, bf16>(g, stream)
                         : launch<Arithmetic::ieee_fma, fp16>(g, stream);
  }
  if (arithmetic == Arithmetic::snap3) {
    return input == fp32 ? launch<Arithmetic::snap3, fp32>(g, stream)
                         : launch<Arithmetic::snap3, bf16>(g, stream);
  }
  if (arithmetic == Arithmetic::snap) return launch<Arithmetic::snap, bf16>(g, stream);
  if (input == tf32) {
    return arithmetic == Arithmetic::ampere ? launch<Arithmetic::ampere, tf32>(g, stream)
                                            : launch<Arithmetic::hopper, tf32>(g, stream);
  }
  if (arithmetic == Arithmetic::ampere) {
    return input == bf16 ? launch<Arithmetic::ampere, bf16>(g, stream)
                         : launch<Arithmetic::ampere, fp16>(g, stream);
  }
  // blackwell is the same function
  return input == bf16 ? launch<Arithmetic::hopper, bf16>(g, stream)
                       : launch<Arithmetic::hopper, fp16>(g, stream);
}

}  // namespace detgemm::test
