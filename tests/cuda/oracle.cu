// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "core/arithmetic/step.hpp"
#include "tests/cuda/kernels.hpp"

namespace detgemm::test {
namespace {

constexpr int kCols = 32;
constexpr int kRows = 4;

template <DType T>
__global__ void __launch_bounds__(kCols* kRows) oracle_kernel(GemmArguments g) {
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * kCols + threadIdx.x;
  if (col >= g.n) return;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kRows;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kRows + threadIdx.y; row < g.m;
       row += step) {
    compute_element<Arithmetic::hopper, T>(g, row, col);
  }
}

}  // namespace

cudaError_t oracle(const GemmArguments& g, DType input, cudaStream_t stream) {
  const dim3 block(kCols, kRows);
  const dim3 grid(static_cast<unsigned>((g.n + kCols - 1) / kCols),
                  static_cast<unsigned>(std::min<std::int64_t>((g.m + kRows - 1) / kRows, 65535)));
  if (input == DType::bf16) {
    oracle_kernel<DType::bf16><<<grid, block, 0, stream>>>(g);
  } else {
    oracle_kernel<DType::fp16><<<grid, block, 0, stream>>>(g);
  }
  return cudaGetLastError();
}

}  // namespace detgemm::test
