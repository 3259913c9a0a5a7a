// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "core/contract/gemm_arguments.hpp"
#include "cuda/kernel.hpp"
#include "cuda/log_prob/planes.hpp"

/// The kernels of `logsum16` besides those that multiply (cuda/sm90/log_prob): portable code, from
/// compute capability 8.0 on. Nothing here waits or allocates; all of it is capturable.
namespace detgemm::cuda::log_prob {

/// The most shards of one merge or join: they travel as the kernel's argument.
inline constexpr std::size_t kMaxShards = 128;
/// The most slots that `root` takes.
inline constexpr std::int64_t kMaxRootSlots = 2048;

/// Stored logits: element (row, column) is number row * at.row + column * at.col.
struct LogitView {
  const void* data = nullptr;
  DType type = DType::bf16;
  Strides at;
  std::int64_t rows = 0;
};

/// The nodes of a shard of stored logits, and the logits of its ids.
cudaError_t nodes(const LogitView& logits, const LogProbRows& rows, const LogShard& shard,
                  cudaStream_t stream);

/// The maximal nodes of `to`, which `from` make; of `all` rows those from `first` on.
cudaError_t merge(std::int64_t t, std::span<const LogShard> from, std::int64_t first,
                  std::int64_t all, const LogShard& to, cudaStream_t stream);

/// Results from the shards of a whole vocabulary.
cudaError_t join(std::int64_t t, std::span<const LogShard> shards, const LogProbRows& rows,
                 const LogProbOutputs& outputs, cudaStream_t stream);

/// Results from nodes of one level, which begin at leaf 0 and hold the whole vocabulary.
/// `logits`: those of the ids that exist.
cudaError_t root(const Planes& nodes, std::int64_t vocabulary, const LogProbRows& rows,
                 const float* logits, const LogProbOutputs& outputs, const Queue& queue);

/// What a launch may use.
struct Machine {
  int sms = 1;
  bool is_sm90 = false;  ///< 9.0: there are clusters, and launches that overlap
};
/// The most columns and rows that `whole` takes.
inline constexpr std::int64_t kMaxWholeVocabulary = 262144;
inline constexpr std::int64_t kMaxWholeRows = std::int64_t{1} << 27;

/// Results from stored logits, of whose rows `columns` columns are the whole vocabulary; one kernel
/// and no workspace.
cudaError_t whole(const LogitView& logits, std::int64_t columns, const LogProbRows& rows,
                  const LogProbOutputs& outputs, const Machine& machine, cudaStream_t stream);

/// The bf16 gradient of stored logits; columns from `existing` on are +0.
struct GradientJob {
  LogitView logits;
  std::int64_t begin = 0, existing = 0;
  LogProbRows rows;
  LogProbUpstream upstream;
  float alpha = 1.0F;
  std::uint16_t* g = nullptr;
  Strides to;
  std::int64_t columns = 0;
};
cudaError_t gradient(const GradientJob& job, const Queue& queue);

}  // namespace detgemm::cuda::log_prob
