// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/log_nodes.hpp"
#include "core/contract/log_results.hpp"
#include "cuda/log_prob/launch.hpp"

// Shards join: a thread per row pushes their nodes, in ascending order, as the host does.

namespace detgemm::cuda::log_prob {
namespace {

constexpr int kThreads = 32;  // as many stacks as shared memory has room for

/// Borders are columns; vocabularies fit int32.
struct Part {
  std::int32_t begin, end;
  void* nodes;
  const float* target_logit;
};
struct Parts {
  Part part[kMaxShards];
  int count;
  bool entropy;  // all parts have a plane A, or none is read
};

__host__ __device__ Planes planes_of(std::int64_t begin, std::int64_t end, void* nodes,
                                     std::int64_t rows, bool entropy) {
  return planes_at(nodes, node_count(begin / arithmetic::kLogLeaf, log_leaves(end)), rows, entropy);
}

Parts parts_of(std::span<const LogShard> shards) {
  Parts parts{};
  parts.entropy = true;
  for (const LogShard& shard : shards) {
    if (shard.begin == shard.end) continue;
    parts.part[parts.count++] = {static_cast<std::int32_t>(shard.begin),
                                 static_cast<std::int32_t>(shard.end), shard.nodes,
                                 shard.target_logit};
    parts.entropy = parts.entropy && shard.entropy;
  }
  return parts;
}

/// Pushes the nodes of row `row` of `rows`.
__device__ void push_all(const Parts& parts, std::int64_t row, std::int64_t rows, LogStack& stack) {
  for (int i = 0; i < parts.count; ++i) {
    const Part& part = parts.part[i];
    const Planes nodes = planes_of(part.begin, part.end, part.nodes, rows, parts.entropy);
    std::int64_t leaf = part.begin / arithmetic::kLogLeaf;
    for (std::int64_t slot = 0; slot < nodes.slots; ++slot) {
      const int level = node_level(leaf, log_leaves(part.end));
      stack.push(nodes.get(slot, row), level, leaf >> level);
      leaf += std::int64_t{1} << level;
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    join_kernel(const __grid_constant__ Parts parts, std::int64_t t, TokenIds ids,
                LogProbOutputs out) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= t) return;
  __shared__ LogStack stacks[kThreads];  // registers have no index
  LogStack& stack = stacks[threadIdx.x];
  stack.count = 0;
  push_all(parts, row, t, stack);
  const std::int64_t vocabulary = parts.count == 0 ? 0 : parts.part[parts.count - 1].end;
  put_log_results(stack.root(), ids, vocabulary, out, row, [&](std::int64_t at, std::int64_t id) {
    int i = 0;
    while (id >= parts.part[i].end) ++i;
    return parts.part[i].target_logit[at];
  });
}

__global__ void __launch_bounds__(kThreads)
    merge_kernel(const __grid_constant__ Parts parts, std::int64_t t, std::int64_t first,
                 Planes to) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= t) return;
  __shared__ LogStack stacks[kThreads];  // registers have no index
  LogStack& stack = stacks[threadIdx.x];
  stack.count = 0;
  push_all(parts, row, t, stack);
  for (int slot = 0; slot < stack.count; ++slot) to.put(slot, first + row, stack.nodes[slot]);
}

dim3 grid_of(std::int64_t t) { return dim3(static_cast<unsigned>((t + kThreads - 1) / kThreads)); }

}  // namespace

cudaError_t merge(std::int64_t t, std::span<const LogShard> from, std::int64_t first,
                  std::int64_t all, const LogShard& to, cudaStream_t stream) {
  if (from.size() > kMaxShards) return cudaErrorInvalidValue;
  if (t == 0) return cudaSuccess;
  Parts parts = parts_of(from);
  Planes planes = planes_of(to.begin, to.end, to.nodes, all, to.entropy);
  void* arguments[] = {&parts, &t, &first, &planes};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&merge_kernel), grid_of(t), dim3(kThreads),
                          arguments, 0, stream);
}

cudaError_t join(std::int64_t t, std::span<const LogShard> shards, const LogProbRows& rows,
                 const LogProbOutputs& outputs, cudaStream_t stream) {
  if (shards.size() > kMaxShards) return cudaErrorInvalidValue;
  if (t == 0) return cudaSuccess;
  Parts parts = parts_of(shards);
  TokenIds ids = rows.targets;
  LogProbOutputs out = outputs;
  void* arguments[] = {&parts, &t, &ids, &out};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&join_kernel), grid_of(t), dim3(kThreads),
                          arguments, 0, stream);
}

}  // namespace detgemm::cuda::log_prob
