// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <vector>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"
#include "core/contract/log_rows.hpp"

// Engines that add exponentials in another way than the contract says.

namespace detgemm::controls {
namespace {

using namespace arithmetic;

/// Rows one after the other, with these kernels.
template <void (*Leaves)(const LogLeavesJob&)>
struct Rows {
  static LogKernels kernels() {
    return {Leaves, [](const LogGradientJob& j) { compute_gradient(j); }};
  }
  template <class Body>
  static void run(std::int64_t total, double, std::int32_t, const Body& body) {
    for (std::int64_t i = 0; i < total; ++i) body(i);
  }
};

/// Column `i` of a job times the scale, or -Inf after its end.
float column(const LogLeavesJob& job, std::int64_t i) {
  if (i >= job.columns) return -HUGE_VALF;
  const float z = job.type == DType::fp32
                      ? detgemm::log_detail::logit<DType::fp32>(job.data, i * job.step)
                      : detgemm::log_detail::logit<DType::bf16>(job.data, i * job.step);
  return mul_rn(z, job.scale);
}

/// Leaves added in pairs of bit 0, then 1, 2 and 3: the order of most reductions.
void ascending_bits(const LogLeavesJob& job) {
  for (std::int64_t first = 0; first < job.columns; first += kLogLeaf) {
    LogNode n[kLogLeaf];
    for (int i = 0; i < kLogLeaf; ++i) {
      const LogTerm term = log_term(column(job, first + i));
      n[i] = {term.n, term.f, term.g};
    }
    for (int width = kLogLeaf / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) n[i] = log_join(n[2 * i], n[2 * i + 1]);
    }
    job.leaves[first / kLogLeaf] = n[0];
  }
}

/// Leaves behind their own maximum, which is multiplied back: one rounding more for each.
void own_maximum(const LogLeavesJob& job) {
  compute_leaves(job);
  for (std::int64_t first = 0; first < job.columns; first += kLogLeaf) {
    LogNode& leaf = job.leaves[first / kLogLeaf];
    if (!is_ordinary(leaf)) continue;
    float most = -HUGE_VALF;
    for (int i = 0; i < kLogLeaf; ++i) most = std::fmax(most, column(job, first + i));
    float sum = 0;
    for (int i = 0; i < kLogLeaf; ++i) {
      const float x = column(job, first + i);
      if (is_absent(x)) continue;
      const LogTerm e = log_exponential(x - most);
      sum += e.f * power_below(e.n);
    }
    const LogTerm top = log_exponential(most);
    leaf.k = top.n;
    leaf.s = sum * top.f;
  }
}

void honest_leaves(const LogLeavesJob& job) { compute_leaves(job); }

const LogProbEngine& right() {
  static const HostLogProb<Rows<honest_leaves>> engine;
  return engine;
}

/// The right engine, but for what a class below changes.
class Wrapped : public LogProbEngine {
 public:
  Status nodes(Stream stream, const ConstMatrix& logits, const LogProbRows& rows,
               const LogShard& shard, Workers workers) const override {
    return right().nodes(stream, logits, rows, shard, workers);
  }
  Status merge(Stream stream, std::int64_t t, std::span<const LogShard> from, std::int64_t first,
               std::int64_t all, const LogShard& to, Workers workers) const override {
    return right().merge(stream, t, from, first, all, to, workers);
  }
  Status join(Stream stream, std::int64_t t, std::span<const LogShard> shards,
              const LogProbRows& rows, const LogProbOutputs& outputs,
              Workers workers) const override {
    return right().join(stream, t, shards, rows, outputs, workers);
  }
  Status gradient(Stream stream, const ConstMatrix& logits, std::int64_t begin,
                  std::int64_t existing, const LogProbRows& rows, const LogProbUpstream& upstream,
                  float alpha, const Matrix& g, Workers workers) const override {
    return right().gradient(stream, logits, begin, existing, rows, upstream, alpha, g, workers);
  }
};

class BatchSwitch final : public Wrapped {
  Status nodes(Stream stream, const ConstMatrix& logits, const LogProbRows& rows,
               const LogShard& shard, Workers workers) const override {
    static const HostLogProb<Rows<ascending_bits>> other;
    const LogProbEngine& engine = logits.rows > 1 ? other : right();
    return engine.nodes(stream, logits, rows, shard, workers);
  }
};

/// The faults below show where every result is.
bool all_requested(const LogProbOutputs& outputs) {
  return outputs.logp != nullptr && outputs.target_logit != nullptr && outputs.lse != nullptr &&
         outputs.entropy != nullptr && outputs.saved_k != nullptr && outputs.saved_r != nullptr;
}

/// Each shard's nodes are joined first, and then the shards in rank order.
class RankOrder final : public Wrapped {
  Status join(Stream stream, std::int64_t t, std::span<const LogShard> shards,
              const LogProbRows& rows, const LogProbOutputs& outputs,
              Workers workers) const override {
    if (shards.size() < 2 || !all_requested(outputs)) {
      return right().join(stream, t, shards, rows, outputs, workers);
    }
    for (std::int64_t row = 0; row < t; ++row) {
      LogNode root = absent_node();
      const std::int64_t id = token(rows.targets, row, 0);
      float logit = 0;
      for (const LogShard& shard : shards) {
        LogStack stack;
        LogPlanes(shard, t).push(stack, row);
        root = log_join(root, stack.root());
        if (id >= shard.begin && id < shard.end) logit = shard.target_logit[row];
      }
      const float lse = log_sum_exp(root);
      outputs.lse[row] = lse;
      outputs.entropy[row] = log_entropy(root, lse);
      outputs.saved_k[row] = root.k;
      outputs.saved_r[row] = log_inverse(root);
      outputs.target_logit[row] = logit;
      outputs.logp[row] = id < 0 ? 0.0F : log_probability(root, lse, logit);
    }
    return {};
  }
};

/// The logarithm of the sum is subtracted from the logit.
class Difference final : public Wrapped {
  Status join(Stream stream, std::int64_t t, std::span<const LogShard> shards,
              const LogProbRows& rows, const LogProbOutputs& outputs,
              Workers workers) const override {
    const Status status = right().join(stream, t, shards, rows, outputs, workers);
    for (std::int64_t row = 0; all_requested(outputs) && row < t; ++row) {
      if (token(rows.targets, row, 0) < 0 || !(std::fabs(outputs.lse[row]) < kLogLimit)) continue;
      outputs.logp[row] = outputs.target_logit[row] - outputs.lse[row];
    }
    return status;
  }
};

/// Targets are read as if they were of 32 bits and followed each other.
class PackedTargets final : public Wrapped {
  static LogProbRows packed(LogProbRows rows) {
    rows.targets.type = OffsetType::i32;
    rows.targets.row_stride = 1;
    return rows;
  }
  Status nodes(Stream stream, const ConstMatrix& logits, const LogProbRows& rows,
               const LogShard& shard, Workers workers) const override {
    return right().nodes(stream, logits, packed(rows), shard, workers);
  }
  Status join(Stream stream, std::int64_t t, std::span<const LogShard> shards,
              const LogProbRows& rows, const LogProbOutputs& outputs,
              Workers workers) const override {
    return right().join(stream, t, shards, packed(rows), outputs, workers);
  }
};

/// Columns are counted in 16 bits: those beyond are left out.
class ShortVocabulary final : public Wrapped {
  Status nodes(Stream stream, const ConstMatrix& logits, const LogProbRows& rows,
               const LogShard& shard, Workers workers) const override {
    constexpr std::int64_t kEnd = 65'536;
    if (logits.cols <= kEnd || logits.dtype != DType::fp32 || shard.begin != 0) {
      return right().nodes(stream, logits, rows, shard, workers);
    }
    std::vector<float> kept(static_cast<std::size_t>(logits.rows * logits.cols), -HUGE_VALF);
    const LogitRows all(logits);
    for (std::int64_t i = 0; i < logits.rows; ++i) {
      for (std::int64_t j = 0; j < kEnd; ++j) {
        kept[static_cast<std::size_t>(i * logits.cols + j)] = all.get(i, j);
      }
    }
    return right().nodes(stream, row_major(kept.data(), logits.rows, logits.cols, DType::fp32),
                         rows, shard, workers);
  }
};

template <class Engine>
const LogProbEngine* only() {
  static const Engine engine;
  return &engine;
}

constexpr std::string_view kWide = "hopper/bf16/chain->fp32";
const std::array kLogFaults{
    PlantedInLogProbs{"logits_batch_switch",
                      "more than one row of logits is added in another order", "log_prob_rows",
                      kNarrowChain, only<BatchSwitch>()},
    PlantedInLogProbs{"shards_in_rank_order", "the sums of shards are added one after the other",
                      "log_prob_shards", kWide, only<RankOrder>()},
    PlantedInLogProbs{"chunks_in_order", "the sums of chunks are added one after the other",
                      "log_prob_fused", kWide, only<RankOrder>()},
    PlantedInLogProbs{"leaf_bits_0123", "columns are added in pairs of bits 0, 1, 2, 3",
                      "log_prob_reference", kWide, only<HostLogProb<Rows<ascending_bits>>>()},
    PlantedInLogProbs{"leaf_maximum", "leaves are added behind their own maximum",
                      "log_prob_reference", kNarrowChain, only<HostLogProb<Rows<own_maximum>>>()},
    PlantedInLogProbs{"logit_less_lse", "the log-sum-exp is subtracted from the logit",
                      "log_prob_reference", kWide, only<Difference>()},
    PlantedInLogProbs{"packed_targets", "targets are taken for packed numbers of 32 bits",
                      "log_prob_rows", kWide, only<PackedTargets>()},
    PlantedInLogProbs{"short_vocabulary", "columns from 65,536 on are left out",
                      "log_prob_reference", kWide, only<ShortVocabulary>()},
};

}  // namespace

std::span<const PlantedInLogProbs> log_prob_faults() { return kLogFaults; }

}  // namespace detgemm::controls
