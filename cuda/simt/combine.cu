// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>

#include "core/contract/compute_element.hpp"
#include "cuda/launch.hpp"

// Joins the fp32 roots of ranks, whatever arithmetic made them. Their number is a power of two, so
// the tree over them is perfect, and to walk it is to count in binary: root i completes one node
// for each 1 at the low end of i.
//
//   i:      0    1      2    3           held[0]: one root that waits
//           r0   r0+r1  r2   r2+r3       held[1]: a sum of two that waits
//                        \-- (r0+r1) + (r2+r3)

namespace detgemm::cuda {
namespace {

constexpr int kThreads = 256;

template <int kCapacity>
struct Roots {
  int count;
  Root root[kCapacity];
};

template <int kCapacity>
__global__ void __launch_bounds__(kThreads)
    combine_kernel(const __grid_constant__ GemmArguments g,
                   const __grid_constant__ Roots<kCapacity> r) {
  constexpr int kDepth = std::bit_width(static_cast<unsigned>(kCapacity));
  const bool along_rows = g.ds.row == 1 && g.ds.col != 1;
  const std::int64_t outputs = g.m * g.n;
  for (std::int64_t at = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; at < outputs;
       at += gridDim.x * std::int64_t{kThreads}) {
    const std::int64_t row = along_rows ? at % g.m : at / g.n;
    const std::int64_t col = along_rows ? at / g.m : at % g.n;
    float held[kDepth];
    float value = 0.0F;
#pragma unroll 1
    for (int i = 0; i < r.count; ++i) {
      const Root& from = r.root[i];
      value = from.data[row * from.strides.row + col * from.strides.col];
      bool carried = true;
#pragma unroll
      for (int level = 0; level < kDepth; ++level) {
        const bool closes = carried && ((i >> level) & 1) != 0;
        if (carried && !closes) held[level] = value;
        if (closes) value = arithmetic::add_rn(held[level], value);
        carried = closes;
      }
    }
    finish_element(g, row, col, arithmetic::canonical(value));
  }
}

template <int kCapacity>
cudaError_t launch(const GemmArguments& g, std::span<const Root> roots,
                   const LaunchOptions& options) {
  Roots<kCapacity> list{};
  list.count = static_cast<int>(roots.size());
  std::copy(roots.begin(), roots.end(), list.root);
  const std::int64_t blocks = (g.m * g.n + kThreads - 1) / kThreads;
  const std::int64_t max_blocks = 8 * std::int64_t{options.sms};
  GemmArguments arguments_of_kernel = g;
  void* arguments[] = {&arguments_of_kernel, &list};
  // This call returns its own error. The runtime's last one may be an older one of the caller's.
  return cudaLaunchKernel(reinterpret_cast<const void*>(&combine_kernel<kCapacity>),
                          dim3(static_cast<unsigned>(std::min(blocks, max_blocks))), dim3(kThreads),
                          arguments, 0, options.stream);
}

}  // namespace

cudaError_t combine_roots(const GemmArguments& g, std::span<const Root> roots,
                          const LaunchOptions& options) {
  if (roots.empty() || roots.size() > kMaxRoots || !std::has_single_bit(roots.size())) {
    return cudaErrorInvalidValue;
  }
  if (g.m == 0 || g.n == 0) return cudaSuccess;
  return roots.size() <= 8 ? launch<8>(g, roots, options) : launch<kMaxRoots>(g, roots, options);
}

}  // namespace detgemm::cuda
