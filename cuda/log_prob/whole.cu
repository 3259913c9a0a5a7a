// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cooperative_groups.h>

#include "core/contract/log_results.hpp"
#include "cuda/log_prob/launch.hpp"
#include "cuda/log_prob/pieces.cuh"
#include "cuda/sm90/ptx/control.cuh"

namespace detgemm::cuda::log_prob {
namespace {

constexpr int kWarps = 8;  // of a CTA, at most
constexpr int kMaxChunks = 128;
constexpr int kManyRows = 12;  // per multiprocessor
constexpr int kSpread = 2;     // rows per multiprocessor up to which several CTAs share a row
static_assert(kMaxWholeVocabulary == kMaxChunks * kChunkColumns, "Each chunk has a node.");

struct WholeJob {
  RowsOfLogits logits;
  LogProbRows rows;
  LogProbOutputs out;
};

/// The CTAs of a row; one where the device has no clusters.
struct Cluster {
#if __CUDA_ARCH__ >= 900
  const cooperative_groups::cluster_group group = cooperative_groups::this_cluster();
  const int size = static_cast<int>(group.num_blocks()),
            rank = static_cast<int>(group.block_rank());
  __device__ void sync() const { group.sync(); }
  template <class T>
  __device__ T& of_first(T& mine) const {
    return *group.map_shared_rank(&mine, 0);
  }
#else
  static constexpr int size = 1, rank = 0;
  __device__ void sync() const { __syncthreads(); }
  template <class T>
  __device__ T& of_first(T& mine) const {
    return mine;
  }
#endif
};

/// Results of a row, from its stored logits: a cluster of 1 to 8 CTAs has a row, and its warps take
/// chunks in turns, whose nodes meet in shared memory of the first CTA.
///
///   columns of a row   | chunk 0 | chunk 1 | chunk 2 | ..       2048 columns each
///                        warp 0    warp 1    warp 2             of the first CTA, then the next
///                          \_________/          \_____ ..       a tree by position: 4 neighbours
///                               \________________/              in a lane, then lanes
template <bool k32, bool kEntropy, bool kScaled, bool kAligned>
__global__ void __launch_bounds__(kWarps * 32, kEntropy || (k32 && !kAligned) ? 2 : 3)
    whole_kernel(const __grid_constant__ WholeJob job) {
  __shared__ arithmetic::LogNode nodes[kMaxChunks];
  const Cluster cluster;
  sm90::ptx::wait_for_earlier_work();
  if (cluster.size > 1) cluster.sync();  // the first CTA's memory may be written from here on
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t row = blockIdx.x / cluster.size;
  const int chunks = static_cast<int>((job.logits.columns + kChunkColumns - 1) / kChunkColumns);
  const float scale = kScaled ? usable_scale(job.rows.scale, row) : 1.0F;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int step = warps * cluster.size, begin = warp * cluster.size + cluster.rank;
  const RowsOfLogits& z = job.logits;
  std::uint32_t far = 0;  // a bit for each of this warp's chunks, at most 32
  for (int i = begin; i < chunks; i += step) {
    arithmetic::LogNode node;
    if (!near_chunk<k32, kEntropy, kScaled, kAligned>(z, row, i, scale, lane, node)) {
      far |= 1U << (i / step);
    } else if (lane == 0) {
      cluster.of_first(nodes[i]) = node;
    }
  }
#pragma unroll 1
  for (; far != 0; far &= far - 1) {
    const int i = begin + (__ffs(static_cast<int>(far)) - 1) * step;
    const auto node = far_chunk<k32, kEntropy>(z, row, i, scale, lane);
    if (lane == 0) cluster.of_first(nodes[i]) = node;
  }
  __syncwarp();
  cluster.sync();
  if (cluster.rank != 0 || warp != 0) return;
  const auto at = [&](int i) { return i < chunks ? nodes[i] : arithmetic::absent_node(); };
  arithmetic::LogNode node =
      arithmetic::log_join(arithmetic::log_join(at(4 * lane), at(4 * lane + 1)),
                           arithmetic::log_join(at(4 * lane + 2), at(4 * lane + 3)));
  node = join_lanes<kEntropy>(node);
  const TokenIds& ids = job.rows.targets;
  const float lse = arithmetic::log_sum_exp(node);
  if (lane == 0) put_row_results(node, ids, z.columns, job.out, row);
  for (std::int64_t j = lane; j < ids.per_row; j += 32) {
    put_id_results(node, lse, ids, z.columns, job.out, row, j, [&](std::int64_t, std::int64_t id) {
      const float logit = load_logit<k32>(z, row, id);
      return arithmetic::canonical(kScaled ? arithmetic::mul_rn(logit, scale) : logit);
    });
  }
}

/// Warps of a CTA: while one of them ends its row the others wait, so half as many are faster, if
/// there are rows for all multiprocessors. Two and one are slower again (docs/log/log-prob.md).
int warps_of(std::int64_t rows, int sms) {
  return rows >= std::int64_t{sms} * kManyRows ? kWarps / 2 : kWarps;
}

/// A scale of 1 changes no bit, so what is rare has no kernel without one.
template <bool k32, bool kEntropy>
const void* kernel_of(bool scaled, bool is_aligned) {
  constexpr bool kOften = !k32 && !kEntropy;
  const auto kernel = is_aligned ? (scaled ? &whole_kernel<k32, kEntropy, true, true>
                                           : &whole_kernel<k32, kEntropy, false, true>)
                                 : (scaled ? &whole_kernel<k32, kEntropy, true, false>
                                           : &whole_kernel<k32, kEntropy, !kOften, false>);
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace

cudaError_t whole(const LogitView& logits, std::int64_t columns, const LogProbRows& rows,
                  const LogProbOutputs& outputs, const Machine& machine, cudaStream_t stream) {
  if (columns > kMaxWholeVocabulary || logits.rows > kMaxWholeRows) return cudaErrorInvalidValue;
  if (logits.rows == 0) return cudaSuccess;
  const bool is_32 = logits.type == DType::fp32;
  WholeJob job{{logits.data, logits.at, columns}, rows, outputs};
  const bool entropy = outputs.entropy != nullptr, scaled = rows.scale != nullptr;
  const bool aligned = is_aligned(logits, columns);
  Kernel kernel;
  kernel.function = is_32 ? (entropy ? kernel_of<true, true>(scaled, aligned)
                                     : kernel_of<true, false>(scaled, aligned))
                          : (entropy ? kernel_of<false, true>(scaled, aligned)
                                     : kernel_of<false, false>(scaled, aligned));
  const auto chunks = (columns + kChunkColumns - 1) / kChunkColumns;
  kernel.threads = warps_of(logits.rows, machine.sms) * 32;
  while (machine.is_sm90 && kernel.cluster < 8 && kernel.cluster * kWarps < chunks &&
         logits.rows * kernel.cluster <= std::int64_t{kSpread} * machine.sms) {
    kernel.cluster *= 2;
  }
  void* arguments[] = {&job};
  return launch(kernel, static_cast<int>(logits.rows) * kernel.cluster, {stream, machine.is_sm90},
                arguments);
}

}  // namespace detgemm::cuda::log_prob
