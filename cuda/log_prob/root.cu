// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/log_results.hpp"
#include "cuda/log_prob/launch.hpp"
#include "cuda/sm90/ptx/control.cuh"

namespace detgemm::cuda::log_prob {
namespace {

constexpr int kThreads = 512;
constexpr int kRows = 8;  // of a CTA: 32 bytes of each plane's slot
constexpr int kLines = kThreads / kRows;
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

/// A CTA has 8 rows. Lines of 8 neighbouring threads join 16 nodes each, then pairs of what they
/// have.
///
///   slots   0 .. 15   16 .. 31   32 .. 47   48 ..      of each row
///           line 0    line 1     line 2     line 3     in registers
///              \______/             \________/         in shared memory
///                   \__________________/
__global__ void __launch_bounds__(kThreads) root_kernel(const __grid_constant__ RootJob job) {
  __shared__ std::int32_t k[kChunks][kRows];
  __shared__ float s[kChunks][kRows], a[kChunks][kRows];
  const int at = static_cast<int>(threadIdx.x) % kRows;
  const int line = static_cast<int>(threadIdx.x) / kRows;
  const std::int64_t row = std::int64_t{blockIdx.x} * kRows + at;
  const bool exists = row < job.nodes.rows;
  const int chunks = static_cast<int>((job.nodes.slots + kEach - 1) / kEach);
  const auto put = [&](int i, const arithmetic::LogNode& node) {
    k[i][at] = node.k;
    s[i][at] = node.s;
    a[i][at] = node.a;
  };
  const auto get = [&](int i) { return arithmetic::LogNode{k[i][at], s[i][at], a[i][at]}; };
  sm90::ptx::wait_for_earlier_work();
  for (int i = line; i < chunks; i += kLines) {
    put(i, exists ? chunk_of(job.nodes, std::int64_t{i} * kEach, row) : arithmetic::absent_node());
  }
  __syncthreads();
  for (int step = 1; step < chunks; step *= 2) {
    for (int i = line * 2 * step; i + step < chunks; i += kLines * 2 * step) {
      put(i, arithmetic::log_join(get(i), get(i + step)));
    }
    __syncthreads();
  }
  if (line != 0 || !exists) return;
  put_log_results(chunks > 0 ? get(0) : arithmetic::absent_node(), job.ids, job.vocabulary, job.out,
                  row, [&](std::int64_t id, std::int64_t) { return job.logits[id]; });
}

}  // namespace

cudaError_t root(const Planes& nodes, std::int64_t vocabulary, const LogProbRows& rows,
                 const float* logits, const LogProbOutputs& outputs, const Queue& queue) {
  if (nodes.slots > kMaxRootSlots) return cudaErrorInvalidValue;
  if (nodes.rows == 0) return cudaSuccess;
  RootJob job{nodes, vocabulary, rows.targets, logits, outputs};
  void* arguments[] = {&job};
  const Kernel kernel{reinterpret_cast<const void*>(&root_kernel), kThreads};
  return launch(kernel, static_cast<int>((nodes.rows + kRows - 1) / kRows), queue, arguments);
}

}  // namespace detgemm::cuda::log_prob
