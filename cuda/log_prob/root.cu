// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/log_results.hpp"
#include "cuda/log_prob/launch.hpp"

namespace detgemm::cuda::log_prob {
namespace {

constexpr int kWarps = 16;
constexpr int kEach = 16;  // nodes that a thread joins in registers
constexpr int kChunks = kMaxRootSlots / kEach;

struct RootJob {
  Planes nodes;
  std::int64_t vocabulary;
  TokenIds ids;
  const float* logits;
  LogProbOutputs out;
};

/// Nodes `first` .. first + 15 of one row as their common node.
__device__ __forceinline__ arithmetic::LogNode chunk_of(const Planes& nodes, std::int64_t first,
                                                        std::int64_t row) {
  arithmetic::LogNode node[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    node[i] = first + i < nodes.slots ? nodes.get(first + i, row) : arithmetic::absent_node();
  }
#pragma unroll
  for (int step = 1; step < kEach; step *= 2) {
#pragma unroll
    for (int i = 0; i < kEach; i += 2 * step) {
      node[i] = arithmetic::log_join(node[i], node[i + step]);
    }
  }
  return node[0];
}

/// A CTA has 32 rows, one per lane. Warps join 16 nodes each, then pairs of what they have.
///
///   slots   0 .. 15   16 .. 31   32 .. 47   48 ..      of each row
///           warp 0    warp 1     warp 2     warp 3     in registers
///              \______/             \________/         in shared memory
///                   \__________________/
__global__ void __launch_bounds__(kWarps * 32) root_kernel(const __grid_constant__ RootJob job) {
  __shared__ std::int32_t k[kChunks][32];
  __shared__ float s[kChunks][32], a[kChunks][32];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t row = std::int64_t{blockIdx.x} * 32 + lane;
  const bool exists = row < job.nodes.rows;
  const int chunks = static_cast<int>((job.nodes.slots + kEach - 1) / kEach);
  const auto put = [&](int i, const arithmetic::LogNode& node) {
    k[i][lane] = node.k;
    s[i][lane] = node.s;
    a[i][lane] = node.a;
  };
  const auto get = [&](int i) { return arithmetic::LogNode{k[i][lane], s[i][lane], a[i][lane]}; };
  for (int i = warp; i < chunks; i += kWarps) {
    put(i, exists ? chunk_of(job.nodes, std::int64_t{i} * kEach, row) : arithmetic::absent_node());
  }
  __syncthreads();
  for (int step = 1; step < chunks; step *= 2) {
    for (int i = warp * 2 * step; i + step < chunks; i += kWarps * 2 * step) {
      put(i, arithmetic::log_join(get(i), get(i + step)));
    }
    __syncthreads();
  }
  if (warp != 0 || !exists) return;
  put_log_results(chunks > 0 ? get(0) : arithmetic::absent_node(), job.ids, job.vocabulary, job.out,
                  row, [&](std::int64_t at, std::int64_t) { return job.logits[at]; });
}

}  // namespace

cudaError_t root(const Planes& nodes, std::int64_t vocabulary, const LogProbRows& rows,
                 const float* logits, const LogProbOutputs& outputs, cudaStream_t stream) {
  if (nodes.slots > kMaxRootSlots) return cudaErrorInvalidValue;
  if (nodes.rows == 0) return cudaSuccess;
  RootJob job{nodes, vocabulary, rows.targets, logits, outputs};
  void* arguments[] = {&job};
  const auto ctas = static_cast<unsigned>((nodes.rows + 31) / 32);
  return cudaLaunchKernel(reinterpret_cast<const void*>(&root_kernel), dim3(ctas),
                          dim3(kWarps * 32), arguments, 0, stream);
}

}  // namespace detgemm::cuda::log_prob
