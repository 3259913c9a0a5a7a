// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/compute_element.hpp"
#include "core/contract/group_arguments.hpp"
#include "cuda/sm90/fp8/kernels.hpp"

namespace detgemm::cuda::sm90 {
namespace {

constexpr int kThreads = 128;

/// One output, from the pieces of the contract as the reference executes them, without the stack of
/// sums that a tree would need:
///
///   sum = start;  sum = sum + l_i (fold), or fma(s_i, l_i, sum) (scaled), leaves ascending
__device__ void compute(const GemmArguments& g, const ScalePair& scales, std::int64_t row,
                        std::int64_t col) {
  const auto chain = [&](std::int64_t begin, std::int64_t end, float start) {
    return chain_element<Arithmetic::hopper, DType::e4m3>(g, row, col, begin, end, start);
  };
  const Reduction& r = g.reduction;
  float sum = start_value(g, row, col);
  const std::int64_t step = r.kind == ReductionKind::chain ? g.k : r.leaf_k;
  for (std::int64_t begin = 0, i = 0; begin < g.k; begin += step, ++i) {
    const std::int64_t end = g.k - begin < step ? g.k : begin + step;
    const bool is_chain = r.kind == ReductionKind::chain;
    const float leaf = chain(begin, end, is_chain ? sum : 0.0F);
    sum = is_chain ? leaf
          : r.kind == ReductionKind::scaled
              ? arithmetic::fma_rn(scale_of_leaf(scales, row, col, i), leaf, sum)
              : arithmetic::add_rn(sum, leaf);
  }
  finish_element(g, row, col, scaled_by_lines(scales, row, col, arithmetic::canonical(sum)));
}

/// Output i / n, i % n per thread and turn.
__global__ void __launch_bounds__(kThreads)
    fp8_element(const __grid_constant__ GemmArguments g, const __grid_constant__ ScalePair scales) {
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < g.m * g.n;
       i += threads) {
    compute(g, scales, i / g.n, i % g.n);
  }
}

/// A group for every `across` CTAs, of which CTA i takes outputs i, i + across, ... by threads:
///
///   group 0: CTAs 0 .. across - 1    group 1: the next ones    ...    then groups further on
__global__ void __launch_bounds__(kThreads)
    fp8_group_element(const __grid_constant__ GroupedArguments p,
                      const __grid_constant__ ScalePair scales, const int across) {
  const int down = static_cast<int>(gridDim.x) / across;
  const std::int64_t threads = std::int64_t{across} * kThreads;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) % across * kThreads + threadIdx.x;
  for (std::int64_t group = static_cast<int>(blockIdx.x) / across; group < p.groups;
       group += down) {
    const Segment part = part_of_group(p, group);
    const GemmArguments g = arguments_of_group(p, group, part);
    const ScalePair own = scales_of_group(scales, p.distance, group, part);
    for (std::int64_t i = first; i < g.m * g.n; i += threads) compute(g, own, i / g.n, i % g.n);
  }
}

}  // namespace

Kernel fp8_group_element_kernel() {
  return {reinterpret_cast<const void*>(&fp8_group_element), kThreads, 0};
}

Kernel fp8_element_kernel() { return {reinterpret_cast<const void*>(&fp8_element), kThreads, 0}; }

}  // namespace detgemm::cuda::sm90
