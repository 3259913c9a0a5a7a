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
__global__ void __launch_bounds__(kCols* kRows) oracle_kernel(GemmArguments g) {
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * kCols + threadIdx.x;
  if (col >= g.n) return;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kRows;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kRows + threadIdx.y; row < g.m;
       row += step) {
    compute_element<A, T>(g, row, col);
  }
}

template <Arithmetic A, DType T>
cudaError_t launch(const GemmArguments& g, cudaStream_t stream) {
  const dim3 block(kCols, kRows);
  const dim3 grid(static_cast<unsigned>((g.n + kCols - 1) / kCols),
                  static_cast<unsigned>(std::min<std::int64_t>((g.m + kRows - 1) / kRows, 65535)));
  oracle_kernel<A, T><<<grid, block, 0, stream>>>(g);
  return cudaGetLastError();
}

}  // namespace

cudaError_t oracle(const GemmArguments& g, DType input, cudaStream_t stream,
                   Arithmetic arithmetic) {
  using enum DType;
  if (arithmetic == Arithmetic::ieee_fma) {
    if (input == fp32) return launch<Arithmetic::ieee_fma, fp32>(g, stream);
    return input == bf16 ? launch<Arithmetic::ieee_fma, bf16>(g, stream)
                         : launch<Arithmetic::ieee_fma, fp16>(g, stream);
  }
  return input == bf16 ? launch<Arithmetic::hopper, bf16>(g, stream)
                       : launch<Arithmetic::hopper, fp16>(g, stream);
}

}  // namespace detgemm::test
