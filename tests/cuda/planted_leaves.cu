// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/compute_element.hpp"
#include "tests/cuda/planted_leaves.hpp"

namespace detgemm::test {
namespace {

// A call, not a copy of it for each of the 31 pieces below.
__device__ __noinline__ float chain(const GemmArguments& g, std::int64_t row, std::int64_t col,
                                    std::int64_t begin, std::int64_t end) {
  return chain_element<Arithmetic::hopper, DType::bf16>(g, row, col, begin, end, 0.0F);
}

/// Halves [begin, end) at multiples of 16, at most kDepth times, until a piece is no longer than a
/// leaf. (It does not recurse at run time, because a device's stack is small.)
template <int kDepth = 4>
__device__ float halves(const GemmArguments& g, std::int64_t row, std::int64_t col,
                        std::int64_t begin, std::int64_t end) {
  if constexpr (kDepth > 0) {
    if (end - begin > g.reduction.leaf_k) {
      const std::int64_t middle = begin + (end - begin) / 2 / 16 * 16;
      return arithmetic::add_rn(halves<kDepth - 1>(g, row, col, begin, middle),
                                halves<kDepth - 1>(g, row, col, middle, end));
    }
  }
  return chain(g, row, col, begin, end);
}

__global__ void planted_kernel(GemmArguments g, LeafFault fault) {
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = blockIdx.y;
  if (col >= g.n) return;
  const auto leaf = [&](std::int64_t begin, std::int64_t end, float) {
    return chain(g, row, col, begin, end);
  };
  float result = 0;
  switch (fault) {
    case LeafFault::none:
      result = reduce_leaves(g.reduction, g.k, 0.0F, leaf);
      break;
    case LeafFault::element_range:
      result = halves(g, row, col, 0, g.k);
      break;
    case LeafFault::arrival_order: {
      const std::int64_t step = g.reduction.leaf_k;
      for (std::int64_t begin = (g.k - 1) / step * step; begin >= 0; begin -= step) {
        const std::int64_t end = begin + step < g.k ? begin + step : g.k;
        result = arithmetic::add_rn(result, chain(g, row, col, begin, end));
      }
      break;
    }
    case LeafFault::one_chain:
      result = chain(g, row, col, 0, g.k);
      break;
  }
  static_cast<float*>(g.d)[row * g.n + col] = arithmetic::canonical(result);
}

}  // namespace

cudaError_t planted_tree(const GemmArguments& g, LeafFault fault, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((g.n + 127) / 128), static_cast<unsigned>(g.m));
  planted_kernel<<<grid, 128, 0, stream>>>(g, fault);
  return cudaGetLastError();
}

}  // namespace detgemm::test
