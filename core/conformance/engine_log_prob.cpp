// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <vector>

#include "core/conformance/engine_backend.hpp"
#include "core/conformance/engine_call.hpp"
#include "detgemm/log_prob.hpp"

// Log-probabilities of an engine in C. What is between its callbacks, such as the columns of a
// chunk, is decided by the library, as for every backend.

namespace detgemm::conformance {
namespace {

class EngineLogProb final : public LogProbEngine {
 public:
  explicit EngineLogProb(const detgemm_engine& engine) : engine_(engine) {}

  Status of_logits(Stream stream, const ConstMatrix& logits, std::int64_t vocabulary,
                   const LogProbRows& rows, const LogProbOutputs& out, void* memory,
                   Workers) const override {
    const auto bytes = log_prob_workspace_bytes(logits.rows, vocabulary);
    if (!bytes) return bytes.status();
    const detgemm_engine_matrix z = to_c(columns(logits, vocabulary));
    return call(logits.rows, vocabulary, rows, out, stream, {memory, memory ? *bytes : 0},
                [&](const auto& tokens) { return engine_.log_probs(&z, &tokens); });
  }

  Status nodes(Stream stream, const ConstMatrix& logits, const LogProbRows& rows,
               const LogShard& shard, Workers) const override {
    if (engine_.log_prob_nodes == nullptr) return lacks("log_prob_nodes callback");
    const detgemm_engine_matrix z = to_c(columns(logits, shard.end - shard.begin));
    const detgemm_engine_shard part = to_c(shard);
    return call(logits.rows, shard.end, rows, {}, stream, {},
                [&](const auto& tokens) { return engine_.log_prob_nodes(&z, &part, &tokens); });
  }

  Status join(Stream stream, std::int64_t t, std::span<const LogShard> shards,
              const LogProbRows& rows, const LogProbOutputs& out, Workers) const override {
    if (engine_.log_prob_join == nullptr) return lacks("log_prob_join callback");
    std::vector<detgemm_engine_shard> list;
    std::int64_t end = 0;
    for (const LogShard& shard : shards) {
      list.push_back(to_c(shard));
      end = std::max(end, shard.end);
    }
    return call(t, end, {rows.targets, nullptr}, out, stream, {}, [&](const auto& tokens) {
      return engine_.log_prob_join(list.data(), list.size(), &tokens);
    });
  }

  Status merge(Stream, std::int64_t, std::span<const LogShard>, std::int64_t, std::int64_t,
               const LogShard&, Workers) const override {
    return lacks("callback that merges nodes: the table has none");
  }
  Status gradient(Stream, const ConstMatrix&, std::int64_t, std::int64_t, const LogProbRows&,
                  const LogProbUpstream&, float, const Matrix&, Workers) const override {
    return lacks("callback of gradients: the table has none");
  }

  std::size_t layer_bytes(const LogProbSpec& spec, std::int64_t max_t) const override {
    if (engine_.log_prob_layer == nullptr || engine_.log_prob_layer_bytes == nullptr) return 0;
    const CSpec c(logits_product(spec), {});
    return engine_.log_prob_layer_bytes(&c.c, max_t);
  }
  bool takes_layer(const LogProbSpec&, const LogProbOperands&) const override {
    return engine_.log_prob_layer != nullptr;
  }
  Status layer(Stream stream, const LogProbSpec& spec, const PlanOptions& options,
               const LogProbOperands& operands, const LogProbOutputs& out,
               Workspace workspace) const override {
    const CSpec c(logits_product(spec), options);  // columns of padding are not shown to the engine
    ConstMatrix head = operands.w;
    head.rows = c.c.n;
    const detgemm_engine_matrix x = to_c(operands.x), w = to_c(head);
    return call(operands.x.rows, c.c.n, operands.rows, out, stream, workspace,
                [&](const auto& tokens) {
                  return engine_.log_prob_layer(&c.c, &x, &w, operands.bias.data, &tokens);
                });
  }

 private:
  static ConstMatrix columns(ConstMatrix logits, std::int64_t count) {
    logits.cols = count;
    return logits;
  }
  static detgemm_engine_shard to_c(const LogShard& shard) {
    return {shard.begin,
            shard.end,
            log_prob_slots(shard.begin, shard.end).value(),
            shard.nodes,
            shard.target_logit,
            shard.entropy ? 3 : 2,
            0};
  }
  static detgemm_engine_matrix to_c(const ConstMatrix& m) { return conformance::to_c(m); }

  Status lacks(const char* what) const {
    return unsupported(std::string("engine \"") + engine_.name + "\" has no " + what);
  }

  template <class Run>
  static Status call(std::int64_t t, std::int64_t vocabulary, const LogProbRows& rows,
                     const LogProbOutputs& out, Stream stream, Workspace workspace, Run&& run) {
    if (rows.targets.data != nullptr && rows.targets.per_row != 1) {
      return unsupported("targets.per_row is " + std::to_string(rows.targets.per_row) +
                         ": an engine in C has one target per row");
    }
    Sentence sentence{};
    detgemm_engine_tokens c{};
    c.struct_size = sizeof c;
    c.rows = t;
    c.vocabulary = vocabulary;
    c.targets = rows.targets.data;
    c.target_stride = rows.targets.row_stride;
    c.target_type = static_cast<std::int32_t>(rows.targets.type);
    c.scale = rows.scale;
    c.logp = out.logp;
    c.target_logit = out.target_logit;
    c.lse = out.lse;
    c.entropy = out.entropy;
    c.saved_k = out.saved_k;
    c.saved_r = out.saved_r;
    c.stream = stream.handle;
    c.workspace = workspace.data;
    c.workspace_bytes = workspace.bytes;
    c.sentence = sentence.data();
    c.sentence_size = sentence.size();
    if (const int code = run(c); code != 0) {
      return {Errc::internal, "the engine returned " + std::to_string(code) + ": " +
                                  text_of(sentence, "it gave no sentence")};
    }
    return {};
  }

  const detgemm_engine& engine_;
};

}  // namespace

std::unique_ptr<LogProbEngine> make_engine_log_prob(const detgemm_engine& engine) {
  return std::make_unique<EngineLogProb>(engine);
}

}  // namespace detgemm::conformance
