// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/arithmetic/log_near.hpp"
#include "core/contract/log_nodes.hpp"
#include "cuda/log_prob/launch.hpp"
#include "cuda/log_prob/words.cuh"

namespace detgemm::cuda::log_prob {
namespace {

using arithmetic::kLogLeaf;
using arithmetic::LogNode;

constexpr unsigned kAll = 0xffffffffU;
constexpr int kWarps = 16;
constexpr int kWarpLevel = 5;  // a warp has 32 leaves at a time, one per lane
constexpr int kMaxLevels = 32;

/// Slots of a shard, as LogPlanes has them.
struct Slots {
  std::int64_t begin[kMaxLogNodes];  // the first leaf
  std::int8_t level[kMaxLogNodes];
  int count;
};

struct NodesJob {
  LogitView logits;
  LogProbRows rows;
  std::int64_t begin, end;  // columns of the shard
  float* target_logit;
  Planes nodes;
  bool vectors;  // a leaf is 16 neighbours at a multiple of 16 bytes
};

template <bool k32>
__device__ __forceinline__ float load(const LogitView& z, std::int64_t at) {
  if constexpr (k32) return static_cast<const float*>(z.data)[at];
  return arithmetic::to_float<DType::bf16>(static_cast<const std::uint16_t*>(z.data)[at]);
}

/// The logits of a leaf times the scale; those that do not exist are -Inf.
template <bool k32>
__device__ __forceinline__ void load_leaf(const NodesJob& job, std::int64_t row, std::int64_t col,
                                          float scale, float (&x)[kLogLeaf]) {
  const LogitView& z = job.logits;
  const std::int64_t first = row * z.at.row + (col - job.begin) * z.at.col;
  if (job.vectors && col + kLogLeaf <= job.end) {
    constexpr int kWords = k32 ? 16 : 8;
    std::uint32_t words[kWords];
    load_words(words, z.data, first * (k32 ? 4 : 2));
#pragma unroll
    for (int i = 0; i < kLogLeaf; ++i) {
      const std::uint32_t bits = k32          ? words[i % kWords]
                                 : i % 2 == 0 ? words[i / 2] << 16
                                              : words[i / 2] & 0xffff0000U;
      x[i] = arithmetic::mul_rn(__uint_as_float(bits), scale);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kLogLeaf; ++i) {
    x[i] = __uint_as_float(0xff800000U);
    if (col + i < job.end) x[i] = arithmetic::mul_rn(load<k32>(z, first + i * z.at.col), scale);
  }
}

/// The node of the leaves of a warp, one per lane; all lanes have it. `leaves` of them take part.
template <bool kEntropy>
__device__ __forceinline__ LogNode warp_node(const float (&x)[kLogLeaf], int leaves, int lane) {
  float lowest = x[0], highest = x[0], least = fabsf(x[0]);
  bool nan = false;
#pragma unroll
  for (int i = 0; i < kLogLeaf; ++i) {
    nan = nan || x[i] != x[i];
    lowest = fminf(lowest, x[i]);
    highest = fmaxf(highest, x[i]);
    least = fminf(least, fabsf(x[i]));
  }
  const bool near = !nan && arithmetic::is_near<kEntropy>(lowest, highest, least);
  if (leaves == 32 && __all_sync(kAll, near)) {
    float e[kLogLeaf], w[kLogLeaf];
#pragma unroll
    for (int i = 0; i < kLogLeaf; ++i) {
      e[i] = arithmetic::near_exponential(x[i]);
      if constexpr (kEntropy) w[i] = arithmetic::mul_rn(e[i], x[i]);
    }
    float sum = arithmetic::add_leaf(e), weighted = -0.0F;
    if constexpr (kEntropy) weighted = arithmetic::add_leaf(w);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      sum = arithmetic::add_rn(sum, __shfl_xor_sync(kAll, sum, step));
      if constexpr (kEntropy) {
        weighted = arithmetic::add_rn(weighted, __shfl_xor_sync(kAll, weighted, step));
      }
      highest = fmaxf(highest, __shfl_xor_sync(kAll, highest, step));
    }
    return arithmetic::near_node(highest, sum, weighted);
  }
  LogNode node = arithmetic::log_leaf<kEntropy>(x);
  if (lane >= leaves) node = arithmetic::absent_node();
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const LogNode other = {__shfl_xor_sync(kAll, node.k, step), __shfl_xor_sync(kAll, node.s, step),
                           kEntropy ? __shfl_xor_sync(kAll, node.a, step) : -0.0F};
    node = arithmetic::log_join(node, other);
  }
  return node;
}

/// A CTA has one slot of one row. Its warps have equal parts of it, 32 leaves at a time, whose
/// nodes wait in shared memory for their right neighbours.
///
///   leaves of a slot   | warp 0: 32, 32, 32, .. | warp 1 | ... | warp 15 |
///                             \__/   \__/                 each pair as soon as it is there
template <bool k32, bool kEntropy>
__global__ void __launch_bounds__(kWarps * 32, kEntropy ? 1 : 2)
    nodes_kernel(const __grid_constant__ NodesJob job, const __grid_constant__ Slots slots) {
  __shared__ LogNode waiting[kWarps][kMaxLevels];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t row = blockIdx.x;
  const int slot = static_cast<int>(blockIdx.y);
  const float scale = usable_scale(job.rows.scale, row);
  if (slot == 0 && job.target_logit != nullptr) {
    const TokenIds& ids = job.rows.targets;
    for (std::int64_t j = threadIdx.x; j < ids.per_row; j += kWarps * 32) {
      const std::int64_t id = token(ids, row, j);
      if (id < job.begin || id >= job.end) continue;
      const std::int64_t at = row * job.logits.at.row + (id - job.begin) * job.logits.at.col;
      job.target_logit[row * ids.per_row + j] =
          arithmetic::mul_rn(load<k32>(job.logits, at), scale);
    }
  }
  const int level = slots.level[slot];
  const std::int64_t pieces = level > kWarpLevel ? std::int64_t{1} << (level - kWarpLevel) : 1;
  const int warps = pieces < kWarps ? static_cast<int>(pieces) : kWarps;
  const std::int64_t each = pieces / warps;
  if (warp < warps) {
    for (std::int64_t i = 0; i < each; ++i) {
      const std::int64_t leaf = slots.begin[slot] + (warp * each + i) * 32 + lane;
      const int leaves = level < kWarpLevel ? 1 << level : 32;
      float x[kLogLeaf];
      if (lane < leaves) {
        load_leaf<k32>(job, row, leaf * kLogLeaf, scale, x);
      } else {
#pragma unroll
        for (int c = 0; c < kLogLeaf; ++c) x[c] = __uint_as_float(0xff800000U);
      }
      LogNode node = warp_node<kEntropy>(x, leaves, lane);
      int up = 0;
      for (; (i >> up & 1) != 0; ++up) node = arithmetic::log_join(waiting[warp][up], node);
      __syncwarp();
      if (lane == 0) waiting[warp][up] = node;
      __syncwarp();
    }
  }
  __syncthreads();
  if (warp != 0) return;
  const int top = each > 1 ? 63 - __clzll(static_cast<long long>(each)) : 0;
  LogNode node = lane < warps ? waiting[lane][top] : arithmetic::absent_node();
#pragma unroll
  for (int step = 1; step < kWarps; step *= 2) {
    const LogNode other = {__shfl_xor_sync(kAll, node.k, step), __shfl_xor_sync(kAll, node.s, step),
                           __shfl_xor_sync(kAll, node.a, step)};
    node = arithmetic::log_join(node, other);
  }
  if (lane == 0) job.nodes.put(slot, row, node);
}

}  // namespace

cudaError_t nodes(const LogitView& logits, const LogProbRows& rows, const LogShard& shard,
                  cudaStream_t stream) {
  Slots slots{};
  const std::int64_t end = log_leaves(shard.end);
  for (std::int64_t at = shard.begin / kLogLeaf; at < end;) {
    const int level = node_level(at, end);
    slots.begin[slots.count] = at;
    slots.level[slots.count++] = static_cast<std::int8_t>(level);
    at += std::int64_t{1} << level;
  }
  if (slots.count == 0 || logits.rows == 0) return cudaSuccess;
  const bool is_32 = logits.type == DType::fp32;
  const std::int64_t size = is_32 ? 4 : 2;
  NodesJob job{logits, rows, shard.begin, shard.end, shard.target_logit, {}, false};
  job.nodes = planes_at(shard.nodes, slots.count, logits.rows, shard.entropy);
  job.vectors = logits.at.col == 1 && logits.at.row * size % 16 == 0 &&
                reinterpret_cast<std::uintptr_t>(logits.data) % 16 == 0;
  const auto kernel =
      is_32 ? (shard.entropy ? &nodes_kernel<true, true> : &nodes_kernel<true, false>)
            : (shard.entropy ? &nodes_kernel<false, true> : &nodes_kernel<false, false>);
  void* arguments[] = {&job, &slots};
  return cudaLaunchKernel(
      reinterpret_cast<const void*>(kernel),
      dim3(static_cast<unsigned>(logits.rows), static_cast<unsigned>(slots.count)),
      dim3(kWarps * 32), arguments, 0, stream);
}

}  // namespace detgemm::cuda::log_prob
