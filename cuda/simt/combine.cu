// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "core/contract/compute_element.hpp"
#include "cuda/launch.hpp"

// Joins the fp32 roots of nodes, whatever arithmetic made them. Each root is pushed onto a stack
// and closes as many nodes of the tree as end with it.
//
//   roots of          [0,2)  [2,3)  [3,4)            [4,6)  [6,8)
//   closes              0      0      2                0      2
//   held[0] after     01     01     (01)+(2+3)       ...    ...
//   held[1] after            2                       45     -> ((01)+(23)) + ((45)+(67))

namespace detgemm::cuda {
namespace {

constexpr int kThreads = 256;

/// Roots as a kernel's argument, of which a kernel has at most 32,764 bytes.
template <int kCapacity>
struct Roots {
  struct View {
    const float* data;
    Strides strides;
  };
  int count;
  View root[kCapacity];
  std::uint8_t closes[kCapacity];
};

template <int kCapacity, int kDepth>
__global__ void __launch_bounds__(kThreads)
    combine_kernel(const __grid_constant__ GemmArguments g,
                   const __grid_constant__ Roots<kCapacity> r) {
  const bool along_rows = g.ds.row == 1 && g.ds.col != 1;
  const std::int64_t outputs = g.m * g.n;
  for (std::int64_t at = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; at < outputs;
       at += gridDim.x * std::int64_t{kThreads}) {
    const std::int64_t row = along_rows ? at % g.m : at / g.n;
    const std::int64_t col = along_rows ? at / g.m : at % g.n;
    float held[kDepth];  // a stack in registers: `top` is compared, never an index
    int top = 0;
#pragma unroll 1
    for (int i = 0; i < r.count; ++i) {
      const auto& from = r.root[i];
      float value = from.data[row * from.strides.row + col * from.strides.col];
      int closes = r.closes[i];
#pragma unroll
      for (int level = kDepth - 1; level >= 0; --level) {
        const bool pops = closes > 0 && level == top - 1;
        if (pops) value = arithmetic::add_rn(held[level], value);
        top -= pops ? 1 : 0;
        closes -= pops ? 1 : 0;
      }
#pragma unroll
      for (int level = 0; level < kDepth; ++level) {
        if (level == top) held[level] = value;
      }
      ++top;
    }
    finish_element(g, row, col, arithmetic::canonical(held[0]));
  }
}

/// The largest number of sums on the stack, or 0 where the roots do not make one tree.
int max_waiting(std::span<const Root> roots) {
  int top = 0;
  int deepest = 0;
  for (const Root& root : roots) {
    if (root.closes < 0 || root.closes > top) return 0;
    top += 1 - root.closes;
    deepest = std::max(deepest, top);
  }
  return top == 1 ? deepest : 0;
}

template <int kCapacity, int kDepth>
cudaError_t launch(const GemmArguments& g, std::span<const Root> roots,
                   const LaunchOptions& options) {
  Roots<kCapacity> list{};
  list.count = static_cast<int>(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    list.root[i] = {roots[i].data, roots[i].strides};
    list.closes[i] = static_cast<std::uint8_t>(roots[i].closes);
  }
  const std::int64_t blocks = (g.m * g.n + kThreads - 1) / kThreads;
  const std::int64_t max_blocks = 8 * std::int64_t{options.sms};
  GemmArguments arguments_of_kernel = g;
  void* arguments[] = {&arguments_of_kernel, &list};
  // This call returns its own error. The runtime's last one may be an older one of the caller's.
  return cudaLaunchKernel(reinterpret_cast<const void*>(&combine_kernel<kCapacity, kDepth>),
                          dim3(static_cast<unsigned>(std::min(blocks, max_blocks))), dim3(kThreads),
                          arguments, 0, options.stream);
}

}  // namespace

cudaError_t combine_roots(const GemmArguments& g, std::span<const Root> roots,
                          const LaunchOptions& options) {
  const int waiting = roots.size() > kMaxRoots ? 0 : max_waiting(roots);
  if (waiting == 0 || waiting > kMaxWaiting) return cudaErrorInvalidValue;
  if (g.m == 0 || g.n == 0) return cudaSuccess;
  if (roots.size() <= 16 && waiting <= 5) return launch<16, 5>(g, roots, options);
  return launch<kMaxRoots, kMaxWaiting>(g, roots, options);
}

}  // namespace detgemm::cuda
