// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/log_prob.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "core/capi/descriptors.hpp"
#include "core/capi/handles.hpp"
#include "core/capi/operands.hpp"
#include "core/capi/text.hpp"
#include "detgemm/detgemm_log_prob.h"

/// What is behind the C interface's opaque plan of a layer with log-probabilities.
struct detgemm_log_prob_plan_t {
  static constexpr std::uint64_t kMagic = 0x626f7270676f6c64;  // "dlogprob" as bytes

  explicit detgemm_log_prob_plan_t(detgemm::LogProbPlan made) : plan(std::move(made)) {}
  detgemm_log_prob_plan_t(const detgemm_log_prob_plan_t&) = delete;
  detgemm_log_prob_plan_t& operator=(const detgemm_log_prob_plan_t&) = delete;
  ~detgemm_log_prob_plan_t() { magic = 0; }

  volatile std::uint64_t magic = kMagic;  // first; volatile, so that its last write stays
  detgemm::LogProbPlan plan;
};

namespace detgemm::capi {

template <>
struct Descriptor<detgemm_log_prob_outputs_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_log_prob_outputs_t, logits);
};
template <>
struct Descriptor<detgemm_log_prob_upstream_t> {
  static constexpr std::size_t min_size = offsetof(detgemm_log_prob_upstream_t, alpha);
};

}  // namespace detgemm::capi

DETGEMM_STRUCT(log_prob_spec, spec, ours.bias = DETGEMM_NONE; ours.alpha = 1)
DETGEMM_STRUCT(log_prob_rows, rows, ours.target_type = DETGEMM_I64;
               ours.per_row = ours.target_stride = 1)
DETGEMM_STRUCT(log_prob_outputs, outputs)
DETGEMM_STRUCT(log_prob_shard, shard)
DETGEMM_STRUCT(log_prob_upstream, upstream, ours.alpha = 1)

namespace detgemm::capi {
namespace {

Status check_plan(const detgemm_log_prob_plan_t* handle) {
  if (handle == nullptr) return null_argument("plan", "a plan");
  if (handle->magic == detgemm_log_prob_plan_t::kMagic) return {};
  return invalid(
      "plan is not a plan's handle: it must be a result of detgemm_log_prob_plan_create that "
      "detgemm_log_prob_plan_destroy has not destroyed");
}

Status check_reserved(std::string_view what, std::int64_t given) {
  if (given == 0) return {};
  return invalid(std::string(what) + ".reserved is " + std::to_string(given) + ": it must be 0");
}

Result<LogProbSpec> log_prob_spec_of(const detgemm_log_prob_spec_t* given) {
  auto c = read("spec", given);
  if (!c) return c.status();
  if (Status s = check_reserved("spec", c->reserved); !s) return s;
  auto contract = contract_of("spec.contract", c->contract);
  if (!contract) return contract.status();
  auto entropy = flag_of("spec.entropy", c->entropy);
  if (!entropy) return entropy.status();
  auto continues = flag_of("spec.continue_dw", c->continue_dw);
  if (!continues) return continues.status();
  LogProbSpec spec;
  spec.n = c->n;
  spec.k = c->k;
  spec.contract = *contract;
  spec.alpha = c->alpha;
  if (c->bias != DETGEMM_NONE) spec.bias = static_cast<DType>(c->bias);
  spec.begin = c->begin;
  spec.vocabulary = c->vocabulary;
  spec.entropy = *entropy;
  spec.continue_dw = *continues;
  spec.chunk = c->chunk;
  for (const auto& [what, from, to] : {std::tuple{"spec.dgrad", c->dgrad, &spec.dgrad},
                                       std::tuple{"spec.wgrad", c->wgrad, &spec.wgrad}}) {
    if (from == nullptr) continue;
    auto gradient = contract_of(what, from);
    if (!gradient) return gradient.status();
    *to = *gradient;
  }
  if (Status s = validate(spec); !s) return s;
  return spec;
}

Result<LogProbRows> rows_of(const detgemm_log_prob_rows_t* given, std::int64_t t) {
  auto c = read("rows", given);
  if (!c) return c.status();
  LogProbRows rows;
  rows.targets = {c->targets, t, c->per_row, c->target_stride,
                  static_cast<OffsetType>(c->target_type)};
  rows.scale = c->scale;
  return rows;
}

Result<LogProbOutputs> outputs_of(const detgemm_log_prob_outputs_t* given) {
  auto c = read("outputs", given);
  if (!c) return c.status();
  if (Status s = check_reserved("outputs", c->reserved); !s) return s;
  LogProbOutputs outputs{c->logp, c->target_logit, c->lse, c->entropy, c->saved_k, c->saved_r};
  if (c->logits != nullptr) {
    auto kept = matrix_of("outputs.logits", c->logits);
    if (!kept) return kept.status();
    outputs.logits = *kept;
  }
  return outputs;
}

Result<LogShard> shard_of(std::string_view what, const detgemm_log_prob_shard_t* given) {
  auto c = read(what, given);
  if (!c) return c.status();
  auto entropy = flag_of(std::string(what) + ".entropy", c->entropy);
  if (!entropy) return entropy.status();
  return LogShard{c->begin, c->end, c->nodes, c->target_logit, *entropy};
}

Result<LogProbUpstream> upstream_of(const detgemm_log_prob_upstream_t* given) {
  auto c = read("upstream", given);
  if (!c) return c.status();
  if (Status s = check_reserved("upstream", c->reserved); !s) return s;
  if (Status s = check_reserved("upstream", c->reserved_2); !s) return s;
  return LogProbUpstream{c->saved_k, c->saved_r, c->lse,      c->entropy,
                         c->d_logp,  c->d_lse,   c->d_entropy};
}

/// The arrays that all calls of a plan have.
Result<LogProbOperands> layer_of(const LogProbSpec& spec, const detgemm_const_matrix_t* x,
                                 const detgemm_const_matrix_t* w, const detgemm_vector_t* bias,
                                 const detgemm_log_prob_rows_t* rows) {
  LogProbOperands operands;
  auto left = matrix_of("x", x);
  if (!left) return left.status();
  operands.x = *left;
  auto right = matrix_of("w", w);
  if (!right) return right.status();
  operands.w = *right;
  if (spec.bias) {
    auto vector = vector_of("bias", bias);
    if (!vector) return vector.status();
    operands.bias = *vector;
  }
  auto with = rows_of(rows, operands.x.rows);
  if (!with) return with.status();
  operands.rows = *with;
  return operands;
}

/// `body(stream, operands)` of a plan's call.
template <class Body>
detgemm_status_t call(const detgemm_log_prob_plan_t* plan, const detgemm_stream_t* stream,
                      const detgemm_const_matrix_t* x, const detgemm_const_matrix_t* w,
                      const detgemm_vector_t* bias, const detgemm_log_prob_rows_t* rows,
                      const Body& body) {
  return guarded([&]() -> Status {
    if (Status s = check_plan(plan); !s) return s;
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    auto operands = layer_of(plan->plan.spec(), x, w, bias, rows);
    if (!operands) return operands.status();
    return body(*queue, *operands);
  });
}

/// A backend, a stream and a matrix of logits, for calls without a plan.
template <class Body>
detgemm_status_t call(const detgemm_backend_t* backend, const detgemm_stream_t* stream,
                      const detgemm_const_matrix_t* logits, const detgemm_log_prob_rows_t* rows,
                      const Body& body) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    auto view = matrix_of("logits", logits);
    if (!view) return view.status();
    auto with = rows_of(rows, view->rows);
    if (!with) return with.status();
    return body(*queue, *view, *with);
  });
}

template <class T>
Status give(const Result<T>& from, T* to, std::string_view what) {
  if (to == nullptr) return null_argument(what, "a place for the answer");
  if (!from) return from.status();
  *to = *from;
  return {};
}

}  // namespace
}  // namespace detgemm::capi

using namespace detgemm;
using namespace detgemm::capi;

detgemm_status_t detgemm_log_prob_spec_validate(const detgemm_log_prob_spec_t* spec) {
  return guarded([&] { return log_prob_spec_of(spec).status(); });
}

detgemm_status_t detgemm_log_prob_contract_parse(const char* text, detgemm_contract_t* contract) {
  return guarded([&]() -> Status {
    if (text == nullptr) return null_argument("text", "a contract's text");
    if (auto unused = read("contract", contract); !unused) return unused.status();
    auto parsed = LogProbContract::parse(text);
    if (!parsed) return parsed.status();
    return write("contract", c_contract(parsed->logits), contract);
  });
}

detgemm_status_t detgemm_log_prob_contract_text(const detgemm_contract_t* contract, char* buffer,
                                                size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    auto logits = contract_of("contract", contract);
    if (!logits) return logits.status();
    const LogProbContract whole{*logits};
    if (Status s = whole.validate(); !s) return s;
    return give_text(whole.text(), buffer, size, needed);
  });
}

detgemm_status_t detgemm_log_prob_contract_digest(const detgemm_contract_t* contract,
                                                  uint64_t* digest) {
  return guarded([&]() -> Status {
    if (digest == nullptr) return null_argument("digest", "a place for the answer");
    auto logits = contract_of("contract", contract);
    if (!logits) return logits.status();
    const LogProbContract whole{*logits};
    if (Status s = whole.validate(); !s) return s;
    *digest = whole.digest();
    return {};
  });
}

detgemm_status_t detgemm_log_prob_slots(int64_t begin, int64_t end, int64_t* slots) {
  return guarded([&] { return give(log_prob_slots(begin, end), slots, "slots"); });
}

detgemm_status_t detgemm_log_prob_plan_create(const detgemm_backend_t* backend,
                                              const detgemm_log_prob_spec_t* spec,
                                              const detgemm_plan_options_t* options,
                                              detgemm_log_prob_plan_t** plan) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan", "a place for the answer");
    *plan = nullptr;
    if (Status s = check(backend); !s) return s;
    auto problem = log_prob_spec_of(spec);
    if (!problem) return problem.status();
    auto choices = plan_options_of("options", options);
    if (!choices) return choices.status();
    auto made = LogProbPlan::create(backend_of(backend), *problem, *choices);
    if (!made) return made.status();
    *plan = new detgemm_log_prob_plan_t(*std::move(made));
    return {};
  });
}

void detgemm_log_prob_plan_destroy(detgemm_log_prob_plan_t* plan) {
  if (plan == nullptr) return;
  if (guarded([&] { return check_plan(plan); }) == DETGEMM_OK) delete plan;
}

detgemm_status_t detgemm_log_prob_plan_workspace_size(const detgemm_log_prob_plan_t* plan,
                                                      int64_t max_t, size_t* bytes) {
  return guarded([&]() -> Status {
    if (Status s = check_plan(plan); !s) return s;
    return give(plan->plan.workspace_bytes(max_t), bytes, "bytes");
  });
}

detgemm_status_t detgemm_log_prob_plan_backward_workspace_size(const detgemm_log_prob_plan_t* plan,
                                                               int64_t max_t, size_t* bytes) {
  return guarded([&]() -> Status {
    if (Status s = check_plan(plan); !s) return s;
    return give(plan->plan.backward_workspace_bytes(max_t), bytes, "bytes");
  });
}

detgemm_status_t detgemm_linear_log_prob(
    const detgemm_log_prob_plan_t* plan, const detgemm_stream_t* stream,
    const detgemm_const_matrix_t* x, const detgemm_const_matrix_t* w, const detgemm_vector_t* bias,
    const detgemm_log_prob_rows_t* rows, const detgemm_log_prob_outputs_t* outputs, void* workspace,
    size_t workspace_bytes) {
  return call(plan, stream, x, w, bias, rows,
              [&](Stream queue, const LogProbOperands& operands) -> Status {
                auto to = outputs_of(outputs);
                if (!to) return to.status();
                return plan->plan.run(queue, operands, *to, {workspace, workspace_bytes});
              });
}

detgemm_status_t detgemm_linear_log_prob_nodes(
    const detgemm_log_prob_plan_t* plan, const detgemm_stream_t* stream,
    const detgemm_const_matrix_t* x, const detgemm_const_matrix_t* w, const detgemm_vector_t* bias,
    const detgemm_log_prob_rows_t* rows, const detgemm_log_prob_shard_t* shard, void* workspace,
    size_t workspace_bytes) {
  return call(plan, stream, x, w, bias, rows,
              [&](Stream queue, const LogProbOperands& operands) -> Status {
                auto to = shard_of("shard", shard);
                if (!to) return to.status();
                return plan->plan.nodes(queue, operands, *to, {workspace, workspace_bytes});
              });
}

detgemm_status_t detgemm_linear_log_prob_backward(
    const detgemm_log_prob_plan_t* plan, const detgemm_stream_t* stream,
    const detgemm_const_matrix_t* x, const detgemm_const_matrix_t* w, const detgemm_vector_t* bias,
    const detgemm_log_prob_rows_t* rows, const detgemm_log_prob_upstream_t* upstream,
    const detgemm_matrix_t* dx, const detgemm_matrix_t* dw, void* workspace,
    size_t workspace_bytes) {
  return call(plan, stream, x, w, bias, rows,
              [&](Stream queue, const LogProbOperands& operands) -> Status {
                LogProbBackward arrays;
                arrays.forward = operands;
                auto from = upstream_of(upstream);
                if (!from) return from.status();
                arrays.upstream = *from;
                auto rest = read("upstream", upstream);
                if (!rest) return rest.status();
                if (rest->logits != nullptr) {
                  auto kept = matrix_of("upstream.logits", rest->logits);
                  if (!kept) return kept.status();
                  arrays.logits = *kept;
                }
                for (const auto& [what, given, to] :
                     {std::tuple{"dx", dx, &arrays.dx}, std::tuple{"dw", dw, &arrays.dw}}) {
                  if (given == nullptr) continue;
                  auto view = matrix_of(what, given);
                  if (!view) return view.status();
                  *to = *view;
                }
                return plan->plan.backward(queue, arrays, {workspace, workspace_bytes});
              });
}

detgemm_status_t detgemm_log_prob_workspace_size(int64_t t, int64_t vocabulary, size_t* bytes) {
  return guarded([&] { return give(log_prob_workspace_bytes(t, vocabulary), bytes, "bytes"); });
}

detgemm_status_t detgemm_log_prob_of_logits(const detgemm_backend_t* backend,
                                            const detgemm_stream_t* stream,
                                            const detgemm_const_matrix_t* logits,
                                            int64_t vocabulary, const detgemm_log_prob_rows_t* rows,
                                            const detgemm_log_prob_outputs_t* outputs,
                                            void* workspace, size_t workspace_bytes) {
  return call(backend, stream, logits, rows,
              [&](Stream queue, const ConstMatrix& view, const LogProbRows& with) -> Status {
                auto to = outputs_of(outputs);
                if (!to) return to.status();
                return log_prob_of_logits(backend_of(backend), queue, view, vocabulary, with, *to,
                                          {workspace, workspace_bytes});
              });
}

detgemm_status_t detgemm_log_prob_nodes(const detgemm_backend_t* backend,
                                        const detgemm_stream_t* stream,
                                        const detgemm_const_matrix_t* logits, int64_t vocabulary,
                                        const detgemm_log_prob_rows_t* rows,
                                        const detgemm_log_prob_shard_t* shard) {
  return call(backend, stream, logits, rows,
              [&](Stream queue, const ConstMatrix& view, const LogProbRows& with) -> Status {
                auto to = shard_of("shard", shard);
                if (!to) return to.status();
                return log_prob_nodes_of_logits(backend_of(backend), queue, view, vocabulary, with,
                                                *to);
              });
}

detgemm_status_t detgemm_log_prob_join(const detgemm_backend_t* backend,
                                       const detgemm_stream_t* stream, int64_t t,
                                       const detgemm_log_prob_shard_t* shards, size_t count,
                                       int64_t vocabulary, const detgemm_log_prob_rows_t* rows,
                                       const detgemm_log_prob_outputs_t* outputs) {
  return guarded([&]() -> Status {
    if (Status s = check(backend); !s) return s;
    auto queue = stream_of(stream);
    if (!queue) return queue.status();
    if (shards == nullptr && count > 0) return null_argument("shards", "so many shards");
    std::vector<LogShard> from;
    const char* at = reinterpret_cast<const char*>(shards);
    for (std::size_t i = 0; i < count; ++i) {
      const auto* given = reinterpret_cast<const detgemm_log_prob_shard_t*>(at);
      auto shard = shard_of("shards[" + std::to_string(i) + "]", given);
      if (!shard) return shard.status();
      from.push_back(*shard);
      at += given->struct_size;  // of the caller's struct
    }
    auto with = rows_of(rows, t);
    if (!with) return with.status();
    auto to = outputs_of(outputs);
    if (!to) return to.status();
    return log_prob_join(backend_of(backend), *queue, t, from, vocabulary, *with, *to);
  });
}

detgemm_status_t detgemm_log_prob_gradient(const detgemm_backend_t* backend,
                                           const detgemm_stream_t* stream,
                                           const detgemm_const_matrix_t* logits, int64_t begin,
                                           int64_t vocabulary, const detgemm_log_prob_rows_t* rows,
                                           const detgemm_log_prob_upstream_t* upstream,
                                           const detgemm_matrix_t* g) {
  return call(backend, stream, logits, rows,
              [&](Stream queue, const ConstMatrix& view, const LogProbRows& with) -> Status {
                auto from = upstream_of(upstream);
                if (!from) return from.status();
                auto to = matrix_of("g", g);
                if (!to) return to.status();
                auto rest = read("upstream", upstream);
                if (!rest) return rest.status();
                return log_prob_gradient_of_logits(backend_of(backend), queue, view, begin,
                                                   vocabulary, with, *from, *to, rest->alpha);
              });
}
