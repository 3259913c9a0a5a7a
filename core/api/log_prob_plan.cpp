// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/api/log_prob_plan.hpp"

#include <new>
#include <numeric>
#include <string>

#include "core/api/plan_checks.hpp"
#include "core/arithmetic/floating_point_mode.hpp"
#include "core/contract/log_nodes.hpp"
#include "core/contract/wording.hpp"

// A linear layer with log-probabilities: stripes of rows by chunks of columns. A chunk is a shard
// of the vocabulary, so that joining chunks is joining shards.

namespace detgemm {
namespace {

/// Columns at a time where the caller does not choose: gradients cut K of dgrad there.
std::int64_t chosen_chunk(const LogProbSpec& spec, std::int64_t most) {
  if (!spec.dgrad) return most;
  if (spec.dgrad->reduction.kind == ReductionKind::tree) return std::max<std::int64_t>(spec.n, 16);
  const std::int64_t unit = std::lcm(cut_unit(*spec.dgrad), std::int64_t{arithmetic::kLogLeaf});
  return std::max<std::int64_t>(most / unit, 1) * unit;
}

Status check_extents(std::string_view what, const ConstMatrix& view, std::int64_t rows,
                     std::int64_t cols, std::string_view rule) {
  if (view.rows == rows && view.cols == cols) return {};
  return invalid(std::string(what) + " is " + std::to_string(view.rows) + " x " +
                 std::to_string(view.cols) + ": it must be " + std::to_string(rows) + " x " +
                 std::to_string(cols) + " (" + std::string(rule) + ")");
}

Status check_element(std::string_view what, DType type, DType needed) {
  if (type == needed) return {};
  return invalid(std::string(what) + ".dtype is " + described(type) + ": the plan needs " +
                 std::string(name(needed)));
}

}  // namespace

Result<LogProbPlan::State::Layout> LogProbPlan::State::layout(std::int64_t t) const {
  Layout layout;
  const std::int64_t rows = std::min(t, stripe_rows);
  if (rows == 0) return layout;
  if (may_be_layer()) layout.layer = aligned(engine->layer_bytes(spec, t));
  for (const auto* plan : {&chunks, &tail}) {
    if (!*plan) continue;
    const auto bytes = (*plan)->workspace_bytes(rows);
    if (!bytes) return bytes.status();
    layout.product = std::max(layout.product, aligned(*bytes));
  }
  layout.logits =
      product_bytes(logit_bytes() * static_cast<std::size_t>(std::min(chunk, existing)), rows);
  for (std::int64_t i = 0; i < pieces(); ++i) {
    const auto [first, count] = piece(i);
    layout.nodes += node_bytes(spec.begin + first, spec.begin + first + count, rows);
  }
  return layout;
}

Status LogProbPlan::State::check(const LogProbOperands& operands, NamedArrays& arrays) const {
  const std::int64_t t = operands.x.rows;
  const DType type = operand_type(spec.contract.input);
  if (Status s = check_view("x", operands.x); !s) return s;
  if (Status s = check_extents("x", operands.x, t, spec.k, "T x k"); !s) return s;
  if (Status s = check_element("x", operands.x.dtype, type); !s) return s;
  if (Status s = check_view("w", operands.w); !s) return s;
  if (Status s = check_extents("w", operands.w, spec.n, spec.k, "n x k"); !s) return s;
  if (Status s = check_element("w", operands.w.dtype, type); !s) return s;
  arrays.add("x", extent_of(operands.x), false);
  arrays.add("w", extent_of(operands.w), false);
  if (spec.bias) {
    const ConstVector& bias = operands.bias;
    if (bias.size != spec.n) {
      return invalid("bias.size is " + std::to_string(bias.size) +
                     ": it must be n = " + std::to_string(spec.n));
    }
    if (Status s = check_element("bias", bias.dtype, *spec.bias); !s) return s;
    if (Status s = arrays.add("bias.data", bias.data, bias.size, size_of(bias.dtype), false); !s) {
      return s;
    }
  }
  return check_rows(operands.rows, t, arrays);
}

Status LogProbPlan::State::check_place(Stream stream, const LogProbRows& rows,
                                       std::int64_t t) const {
  if (const auto checked = engine_of(*backend, stream); !checked) return checked.status();
  if (backend->device().kind() != DeviceKind::host) return {};
  return check_values(rows, t, vocabulary);
}

Status LogProbPlan::State::logits(Stream stream, const LogProbOperands& operands, std::int64_t row,
                                  std::int64_t t, const LogPiece& piece, const Matrix& to,
                                  Workspace workspace) const {
  Operands product{rows_of(operands.x, row, t), rows_of(operands.w, piece.first, piece.count), to};
  if (spec.bias) {
    const auto at = static_cast<std::size_t>(piece.first) * size_of(operands.bias.dtype);
    product.bias = {static_cast<const std::byte*>(operands.bias.data) + at, piece.count,
                    operands.bias.dtype};
  }
  return this->product(piece).run(stream, product, workspace);
}

Status LogProbPlan::State::check_kept(const ConstMatrix& kept, std::int64_t t, bool written,
                                      NamedArrays& arrays) const {
  if (kept.data == nullptr) return {};
  if (Status s = check_view("logits", kept); !s) return s;
  if (Status s = check_extents("logits", kept, t, existing, "T x the columns that exist"); !s) {
    return s;
  }
  if (Status s = check_element("logits", kept.dtype, spec.contract.output); !s) return s;
  arrays.add("logits", extent_of(kept), written);
  return {};
}

Status LogProbPlan::State::run_kept(Stream stream, const LogProbOperands& operands,
                                    const LogProbOutputs& outputs, Workspace workspace) const {
  const std::int64_t t = operands.x.rows;
  const auto layout = this->layout(t);
  if (!layout) return layout.status();
  auto* const memory = static_cast<std::byte*>(workspace.data);
  for (std::int64_t row = 0; row < t; row += stripe_rows) {
    const std::int64_t count = std::min(stripe_rows, t - row);
    const Matrix kept = rows_of(outputs.logits, row, count);
    for (std::int64_t i = 0; i < pieces(); ++i) {
      const LogPiece part = piece(i);
      if (Status s = logits(stream, operands, row, count, part,
                            cols_of(kept, part.first, part.count), {memory, layout->product});
          !s) {
        return s;
      }
    }
    if (Status s =
            engine->of_logits(stream, kept, vocabulary, rows_from(operands.rows, row),
                              outputs_from(outputs, operands.rows, row),
                              memory + layout->product + layout->logits, options.max_workers);
        !s) {
      return s;
    }
  }
  return {};
}

Status LogProbPlan::State::stripe(Stream stream, const LogProbOperands& operands, std::int64_t row,
                                  std::int64_t t, float* target_logit, bool entropy,
                                  std::byte* memory, std::vector<LogShard>& shards) const {
  const auto layout = this->layout(t);
  if (!layout) return layout.status();
  std::byte* const buffer = memory + layout->product;
  std::byte* nodes = buffer + layout->logits;
  const LogProbRows rows = rows_from(operands.rows, row);
  shards.clear();
  for (std::int64_t i = 0; i < pieces(); ++i) {
    const LogPiece part = piece(i);
    const Matrix to = row_major(buffer, t, part.count, spec.contract.output);
    if (Status s = logits(stream, operands, row, t, part, to, {memory, layout->product}); !s) {
      return s;
    }
    const std::int64_t begin = spec.begin + part.first;
    shards.push_back({begin, begin + part.count, nodes, target_logit, entropy});
    nodes += node_bytes(begin, begin + part.count, t);
    if (Status s = engine->nodes(stream, to, rows, shards.back(), options.max_workers); !s) {
      return s;
    }
  }
  return {};
}

Result<LogProbPlan> LogProbPlan::create(const Backend& backend, const LogProbSpec& spec,
                                        const PlanOptions& options) try {
  const arithmetic::FloatingPointMode ieee;
  if (Status s = validate(spec); !s) return s;
  Stream stream;
  stream.kind = backend.device().kind();
  const auto engine = engine_of(backend, stream);
  if (!engine) return engine.status();
  auto state = std::make_shared<State>();
  state->backend = &backend;
  state->engine = *engine;
  state->spec = spec;
  state->options = options;
  GemmSpec product = logits_product(spec);
  state->vocabulary = spec.vocabulary == 0 ? spec.begin + spec.n : spec.vocabulary;
  state->existing = product.n;
  const LogBlock block = log_block(backend);
  state->stripe_rows = block.rows;
  state->chunk = spec.chunk != 0 ? spec.chunk : chosen_chunk(spec, block.columns);
  const auto plan = [&](std::int64_t n, std::optional<Plan>& to) -> Status {
    if (n == 0) return {};
    product.n = n;
    auto made = Plan::create(backend, product, options);
    if (!made) return made.status();
    to.emplace(*std::move(made));
    return {};
  };
  if (Status s = plan(state->existing >= state->chunk ? state->chunk : 0, state->chunks); !s) {
    return s;
  }
  if (Status s = plan(state->existing % state->chunk, state->tail); !s) return s;
  for (const auto& gradient : {spec.dgrad, spec.wgrad}) {
    if (!gradient) continue;
    GemmSpec one;
    one.contract = *gradient;
    one.n = one.k = spec.k;
    if (Status s = backend.supports(one); !s) return s;
  }
  return LogProbPlan(std::move(state));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<std::size_t> LogProbPlan::workspace_bytes(std::int64_t max_t) const try {
  if (max_t < 0) {
    return invalid("max_t is " + std::to_string(max_t) + ": it must not be negative");
  }
  const auto layout = state_->layout(max_t);
  if (!layout) return layout.status();
  return layout->all();
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status LogProbPlan::run(Stream stream, const LogProbOperands& operands,
                        const LogProbOutputs& outputs, Workspace workspace) const try {
  const arithmetic::FloatingPointMode ieee;
  const State& state = *state_;
  const std::int64_t t = operands.x.rows;
  NamedArrays arrays;
  if (Status s = state.check(operands, arrays); !s) return s;
  if (Status s = check_outputs(outputs, operands.rows, t, arrays); !s) return s;
  if (!state.is_whole()) {
    return invalid("the plan has columns " + std::to_string(state.spec.begin) + " to " +
                   std::to_string(state.spec.begin + state.spec.n) + " of a vocabulary of " +
                   std::to_string(state.vocabulary) + ": use nodes, and join them");
  }
  if (outputs.entropy != nullptr && !state.spec.entropy) {
    return invalid("entropy is not null: the plan was created without entropy");
  }
  if (Status s = state.check_kept(outputs.logits, t, true, arrays); !s) return s;
  const auto needed = state.layout(t);
  if (!needed) return needed.status();
  if (Status s = arrays.add_workspace(workspace, needed->all()); !s) return s;
  if (Status s = arrays.check(); !s) return s;
  if (Status s = state.check_place(stream, operands.rows, t); !s) return s;
  if (outputs.logits.data != nullptr) return state.run_kept(stream, operands, outputs, workspace);
  if (t > 0 && state.may_be_layer() && state.engine->takes_layer(state.spec, operands)) {
    return state.engine->layer(stream, state.spec, state.options, operands, outputs, workspace);
  }
  std::vector<LogShard> shards;
  for (std::int64_t row = 0; row < t; row += state.stripe_rows) {
    const std::int64_t count = std::min(state.stripe_rows, t - row);
    const LogProbOutputs to = outputs_from(outputs, operands.rows, row);
    float* const target = to.target_logit != nullptr ? to.target_logit : to.logp;
    if (Status s = state.stripe(stream, operands, row, count, target, outputs.entropy != nullptr,
                                static_cast<std::byte*>(workspace.data), shards);
        !s) {
      return s;
    }
    if (Status s = state.engine->join(stream, count, shards, rows_from(operands.rows, row), to,
                                      state.options.max_workers);
        !s) {
      return s;
    }
  }
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status LogProbPlan::nodes(Stream stream, const LogProbOperands& operands, const LogShard& shard,
                          Workspace workspace) const try {
  const arithmetic::FloatingPointMode ieee;
  const State& state = *state_;
  const std::int64_t t = operands.x.rows;
  NamedArrays arrays;
  if (Status s = state.check(operands, arrays); !s) return s;
  if (shard.begin != state.spec.begin || shard.end != state.end()) {
    return invalid("shard is [" + std::to_string(shard.begin) + ", " + std::to_string(shard.end) +
                   "): it must be [" + std::to_string(state.spec.begin) + ", " +
                   std::to_string(state.end()) + "), the plan's columns that exist");
  }
  if (shard.entropy && !state.spec.entropy) {
    return invalid("shard.entropy is set: the plan was created without entropy");
  }
  if (Status s = check_shard("shard", shard, operands.rows, t, state.vocabulary, true, arrays);
      !s) {
    return s;
  }
  const auto needed = state.layout(t);
  if (!needed) return needed.status();
  if (Status s = arrays.add_workspace(workspace, needed->all()); !s) return s;
  if (Status s = arrays.check(); !s) return s;
  if (Status s = state.check_place(stream, operands.rows, t); !s) return s;
  std::vector<LogShard> pieces;
  for (std::int64_t row = 0; row < t; row += state.stripe_rows) {
    const std::int64_t count = std::min(state.stripe_rows, t - row);
    float* const target = shard.target_logit == nullptr
                              ? nullptr
                              : shard.target_logit + row * operands.rows.targets.per_row;
    if (Status s = state.stripe(stream, operands, row, count, target, shard.entropy,
                                static_cast<std::byte*>(workspace.data), pieces);
        !s) {
      return s;
    }
    if (Status s =
            state.engine->merge(stream, count, pieces, row, t, shard, state.options.max_workers);
        !s) {
      return s;
    }
  }
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

const LogProbSpec& LogProbPlan::spec() const noexcept { return state_->spec; }
LogProbContract LogProbPlan::contract() const noexcept { return {state_->spec.contract}; }
const Backend& LogProbPlan::backend() const noexcept { return *state_->backend; }

}  // namespace detgemm
