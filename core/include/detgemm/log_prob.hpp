// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "detgemm/backend.hpp"
#include "detgemm/contract.hpp"
#include "detgemm/grouped.hpp"
#include "detgemm/matrix.hpp"

namespace detgemm {

/// Log-probabilities of tokens: logits by a product under any contract, then one written reduction
/// over the vocabulary (core/contract/CONTRACT.md, section 8). T is the number of tokens (rows), V
/// the vocabulary (columns). A row's bits do not depend on T, on other rows, on chunks or on shards
/// of V, nor on whether the logits are stored.
///
/// Its text is that of the product's contract and `+logsum16`, for example
/// `hopper/bf16/chain->fp32+logsum16`.
struct DETGEMM_API LogProbContract {
  Contract logits;  ///< its output, the type of the logits, is bf16 or fp32

  /// Reads the text form; the sentence of a refusal says which part is wrong.
  static Result<LogProbContract> parse(std::string_view text);
  /// The text form; `parse(text())` gives this contract back.
  std::string text() const;
  /// Every field in one line, the product's by its digest; the digest is computed from it.
  std::string canonical() const;
  /// FNV-1a (64 bit) of `canonical()`.
  std::uint64_t digest() const;
  /// ok, or the rule that the contract breaks.
  Status validate() const;

  /// Same contract: the same bits are promised.
  bool operator==(const LogProbContract&) const = default;
};

/// Tokens of each row: id j of row t is element t * row_stride + j. A negative id is ignored: its
/// log-probability is +0 and its row has no gradient.
struct TokenIds {
  const void* data = nullptr;  ///< aligned to the size of an id; null: there are none
  std::int64_t rows = 0;
  std::int64_t per_row = 1;
  std::int64_t row_stride = 1;  ///< in ids, at least per_row
  OffsetType type = OffsetType::i64;
};

/// What rows bring besides logits, in memory of the stream's device.
struct LogProbRows {
  TokenIds targets{};            ///< numbers of columns of the whole vocabulary
  const float* scale = nullptr;  ///< one per row, finite and positive; null: 1
};

/// Where results go: fp32, contiguous, in memory of the stream's device. What is null is not
/// written. Special values are those of CONTRACT.md, section 8.5.
struct LogProbOutputs {
  float* logp = nullptr;            ///< T x per_row: ln of the probability of each id, at most 0
  float* target_logit = nullptr;    ///< T x per_row: the id's logit times the row's scale
  float* lse = nullptr;             ///< T: ln of the sum of e^x
  float* entropy = nullptr;         ///< T: in nats
  std::int32_t* saved_k = nullptr;  ///< T: with saved_r what the gradient needs
  float* saved_r = nullptr;         ///< T: 1 / S
  /// Of a plan's run alone: the logits are kept, T x the columns that exist, of the contract's
  /// output type. Without data they are not.
  Matrix logits{};
};

/// The nodes of a shard: columns begin .. end - 1 of the whole vocabulary, of which those from the
/// vocabulary's end on are left out. Words of 32 bits, planes K, S and, with entropy, A, each of
/// slots x T; `log_prob_slots` says how many slots.
struct LogShard {
  std::int64_t begin = 0;  ///< a multiple of 16
  std::int64_t end = 0;    ///< a multiple of 16, or the end of the vocabulary
  void* nodes = nullptr;
  float* target_logit = nullptr;  ///< T x per_row; ids of other shards are left alone. Or null
  bool entropy = false;           ///< whether there is a plane A
};

/// The number of maximal aligned nodes of a shard, or the rule that its borders break.
DETGEMM_API Result<std::int64_t> log_prob_slots(std::int64_t begin, std::int64_t end);

/// What a gradient reads per row; fp32 and contiguous. d_logp is T, one target per row.
struct LogProbUpstream {
  const std::int32_t* saved_k = nullptr;  ///< of the forward pass
  const float* saved_r = nullptr;
  const float* lse = nullptr;      ///< with d_entropy
  const float* entropy = nullptr;  ///< with d_entropy
  const float* d_logp = nullptr;   ///< null: none
  const float* d_lse = nullptr;
  const float* d_entropy = nullptr;
};

/// A linear layer and the reduction over its columns, without T: what a plan cannot see cannot
/// change the arithmetic. Logits are alpha * acc + bias under `contract`.
struct LogProbSpec {
  std::int64_t n = 0;  ///< rows of W: the vocabulary, or a shard of it
  std::int64_t k = 0;  ///< the hidden size
  Contract contract;   ///< of the logits: output bf16 or fp32; not `scaled`
  float alpha = 1.0F;
  std::optional<DType> bias{};      ///< the type of n numbers (bf16, fp16 or fp32), or none
  std::int64_t begin = 0;           ///< the shard's first column, a multiple of 16
  std::int64_t vocabulary = 0;      ///< columns from here on do not exist; 0: begin + n
  bool entropy = false;             ///< whether runs may give entropies
  std::optional<Contract> dgrad{};  ///< of dX = G W, bf16 input; none: no dX
  std::optional<Contract> wgrad{};  ///< of dW = G^T X, bf16 input; none: no dW
  bool continue_dw = false;         ///< dW starts from what it holds: micro-batches
  /// Columns of logits that exist at a time, a multiple of 16; 0: chosen, and none exist where the
  /// backend has a kernel of a whole layer (backend cuda, chains of hopper). No bit depends on it.
  /// For the gradient also a multiple of dgrad's leaf (fold) or step (chain), and under a tree it
  /// must be 0 or at least n.
  std::int64_t chunk = 0;
};

/// ok, or the rule that the problem breaks on every backend.
DETGEMM_API Status validate(const LogProbSpec& spec);

/// The product of a layer, alpha * X W^T + bias: its n is the number of columns that exist, those
/// before the end of the vocabulary. What an engine's `layer` computes before the reduction.
DETGEMM_API GemmSpec logits_product(const LogProbSpec& spec);

/// The arrays of a forward run. X is T x K, W is n x K as a layer stores it, with any strides that
/// matrix.hpp allows.
struct LogProbOperands {
  ConstMatrix x, w;
  ConstVector bias{};
  LogProbRows rows{};
};

/// The arrays of a backward run. dX is T x K of dgrad's output type, dW is n x K of wgrad's (fp32
/// with continue_dw); one without data is not computed.
struct LogProbBackward {
  LogProbOperands forward;
  LogProbUpstream upstream{};
  Matrix dx{}, dw{};
  ConstMatrix logits{};  ///< kept by the run; without data they are computed again. Bit-neutral
};

/// A problem prepared on one backend: create it once, run it for any T, from any thread.
class DETGEMM_API LogProbPlan {
 public:
  /// Refuses with a sentence: a problem or options that break a rule (invalid_argument), a contract
  /// that the backend does not compute or a backend without log-probabilities (unsupported), one
  /// that cannot run here or now (unavailable).
  static Result<LogProbPlan> create(const Backend& backend, const LogProbSpec& spec,
                                    const PlanOptions& options = {});

  /// Bytes of workspace of `run` and `nodes` for any T from 0 to max_t. It holds logits of a stripe
  /// of rows and a chunk of columns, never all of them.
  Result<std::size_t> workspace_bytes(std::int64_t max_t) const;
  /// Bytes of workspace of `backward`, which holds the bf16 gradient of one chunk for all rows.
  Result<std::size_t> backward_workspace_bytes(std::int64_t max_t) const;

  /// Results of each row. Needs the whole vocabulary: begin is 0. Everything is checked before
  /// anything is written. In host memory also the ids and scales: a target that is not below the
  /// vocabulary's end, or a scale that is not finite and positive, is refused; on a device its row
  /// has NaN.
  Status run(Stream stream, const LogProbOperands& operands, const LogProbOutputs& outputs,
             Workspace workspace = {}) const;
  /// The nodes of this shard, `shard.begin` and `shard.end` as the spec has them.
  Status nodes(Stream stream, const LogProbOperands& operands, const LogShard& shard,
               Workspace workspace = {}) const;
  /// dX and dW. Logits are computed again, chunk by chunk; rows of other ranks' targets take part
  /// as the upstream says.
  Status backward(Stream stream, const LogProbBackward& arrays, Workspace workspace = {}) const;

  /// What the plan was created from.
  const LogProbSpec& spec() const noexcept;
  /// The contract whose bits every run returns.
  LogProbContract contract() const noexcept;
  /// Who computes it.
  const Backend& backend() const noexcept;

 private:
  struct State;
  explicit LogProbPlan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Bytes of workspace of `log_prob_of_logits` for T rows.
DETGEMM_API Result<std::size_t> log_prob_workspace_bytes(std::int64_t t, std::int64_t vocabulary);

/// The same results from stored logits: T x at least `vocabulary`, bf16 or fp32, any strides that
/// matrix.hpp allows. The bits are those of a plan whose contract returns these logits.
DETGEMM_API Status log_prob_of_logits(const Backend& backend, Stream stream,
                                      const ConstMatrix& logits, std::int64_t vocabulary,
                                      const LogProbRows& rows, const LogProbOutputs& outputs,
                                      Workspace workspace = {});
/// The nodes of a shard of stored logits, whose column 0 is column `shard.begin`; of `vocabulary`
/// columns in all.
DETGEMM_API Status log_prob_nodes_of_logits(const Backend& backend, Stream stream,
                                            const ConstMatrix& logits, std::int64_t vocabulary,
                                            const LogProbRows& rows, const LogShard& shard);
/// Results from the nodes of all shards, in ascending order and without gaps from column 0 to the
/// vocabulary's end; an empty shard has begin = end. Every rank that joins has the same bits.
DETGEMM_API Status log_prob_join(const Backend& backend, Stream stream, std::int64_t t,
                                 std::span<const LogShard> shards, std::int64_t vocabulary,
                                 const LogProbRows& rows, const LogProbOutputs& outputs);
/// The bf16 gradient of stored logits, T x the logits' columns; those that do not exist are +0. It
/// is that of the product behind them, whose factor is alpha. `g` may be the bf16 logits
/// themselves.
DETGEMM_API Status log_prob_gradient_of_logits(const Backend& backend, Stream stream,
                                               const ConstMatrix& logits, std::int64_t begin,
                                               std::int64_t vocabulary, const LogProbRows& rows,
                                               const LogProbUpstream& upstream, const Matrix& g,
                                               float alpha = 1.0F);

/// What a backend computes of log-probabilities besides products. Preconditions: the arguments were
/// checked, there are rows, and the stream is of the backend's kind.
class DETGEMM_API LogProbEngine {
 public:
  virtual ~LogProbEngine();
  /// At most so many workers; 0 for all.
  using Workers = std::int32_t;

  /// Nodes of the logits' first shard.end - shard.begin columns.
  virtual Status nodes(Stream stream, const ConstMatrix& logits, const LogProbRows& rows,
                       const LogShard& shard, Workers workers) const = 0;
  /// Rows first .. first + t - 1 of the `all` rows of `to`, of which `from` are the parts.
  virtual Status merge(Stream stream, std::int64_t t, std::span<const LogShard> from,
                       std::int64_t first, std::int64_t all, const LogShard& to,
                       Workers workers) const = 0;
  /// Results from the nodes of the whole vocabulary.
  virtual Status join(Stream stream, std::int64_t t, std::span<const LogShard> shards,
                      const LogProbRows& rows, const LogProbOutputs& outputs,
                      Workers workers) const = 0;
  /// Results from logits whose first `vocabulary` columns are the whole of it. By default `nodes`
  /// and `join`; `memory` has room for the nodes.
  virtual Status of_logits(Stream stream, const ConstMatrix& logits, std::int64_t vocabulary,
                           const LogProbRows& rows, const LogProbOutputs& outputs, void* memory,
                           Workers workers) const;
  /// The gradient of logits times alpha; columns from `existing` on are +0.
  virtual Status gradient(Stream stream, const ConstMatrix& logits, std::int64_t begin,
                          std::int64_t existing, const LogProbRows& rows,
                          const LogProbUpstream& upstream, float alpha, const Matrix& g,
                          Workers workers) const = 0;

  /// Bytes of workspace of `layer` for up to max_t rows; 0 where it takes no operands of the
  /// problem, which is the default.
  virtual std::size_t layer_bytes(const LogProbSpec& spec, std::int64_t max_t) const;
  /// Whether `layer` takes these operands of a whole vocabulary. By default false: logits are then
  /// computed by a plan, chunk by chunk, and read by `nodes`.
  virtual bool takes_layer(const LogProbSpec& spec, const LogProbOperands& operands) const;
  /// Results of a layer whose logits are never stored. By default `unsupported`.
  virtual Status layer(Stream stream, const LogProbSpec& spec, const PlanOptions& options,
                       const LogProbOperands& operands, const LogProbOutputs& outputs,
                       Workspace workspace) const;
};

}  // namespace detgemm
