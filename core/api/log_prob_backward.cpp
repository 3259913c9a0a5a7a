// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <new>
#include <string>

#include "core/api/log_prob_plan.hpp"
#include "core/api/plan_checks.hpp"
#include "core/arithmetic/floating_point_mode.hpp"

// The gradient of a linear layer with log-probabilities, chunk by chunk of the vocabulary: logits
// again, their bf16 gradient G for all rows, then
//
//   dX = (.. + G_0 W_0) + G_1 W_1 ..      continued in fp32, rounded with the last chunk
//   dW of the chunk = G_c^T X             K is T: one product for all rows of the call

namespace detgemm {
namespace {

/// The gradient products of one call.
struct Gradients {
  bool dx = false, dw = false;
  std::size_t product = 0;  ///< workspace of the largest of them
  std::size_t g = 0, sum = 0;
};

/// Columns that exist only as padding of W.
std::int64_t padding(const LogProbSpec& spec, std::int64_t existing) { return spec.n - existing; }

GemmSpec dx_spec(const LogProbSpec& spec, std::int64_t columns, bool first, bool last) {
  GemmSpec product;
  product.n = spec.k;
  product.k = columns;
  product.contract = *spec.dgrad;
  if (!last) product.contract.output = DType::fp32;
  product.continue_from_c = !first;
  return product;
}

GemmSpec dw_spec(const LogProbSpec& spec, std::int64_t t) {
  GemmSpec product;
  product.n = spec.k;
  product.k = t;
  product.contract = *spec.wgrad;
  product.op_a = Op::transpose;
  product.continue_from_c = spec.continue_dw;
  return product;
}

/// Plans one product and says what workspace it needs for so many rows.
Result<Plan> planned(const Backend& backend, const GemmSpec& spec, const PlanOptions& options,
                     std::int64_t rows, std::size_t& bytes) {
  auto plan = Plan::create(backend, spec, options);
  if (!plan) return plan.status();
  const auto needed = plan->workspace_bytes(rows);
  if (!needed) return needed.status();
  bytes = std::max(bytes, aligned(*needed));
  return plan;
}

/// Sizes for T rows; `dx` and `dw` are those that the call computes.
Result<Gradients> sizes(const Backend& backend, const LogProbSpec& spec, const PlanOptions& options,
                        std::int64_t existing, std::int64_t chunk, std::int64_t t, bool dx,
                        bool dw) {
  Gradients sizes{dx, dw, 0, 0, 0};
  const std::int64_t width = std::min(chunk, existing);
  sizes.g = product_bytes(sizeof(std::uint16_t) * static_cast<std::size_t>(width), t);
  if (dx) {
    for (const std::int64_t columns : {width, existing % chunk}) {
      const auto plan =
          planned(backend, dx_spec(spec, columns, true, true), options, t, sizes.product);
      if (!plan) return plan.status();
    }
    if (existing > chunk && spec.dgrad->output != DType::fp32) {
      sizes.sum = product_bytes(sizeof(float) * static_cast<std::size_t>(spec.k), t);
    }
  }
  if (dw) {
    const auto plan = planned(backend, dw_spec(spec, t), options,
                              std::max(width, padding(spec, existing)), sizes.product);
    if (!plan) return plan.status();
  }
  return sizes;
}

Status check_result(std::string_view what, const Matrix& d, const std::optional<Contract>& contract,
                    std::int64_t rows, std::int64_t cols, NamedArrays& arrays) {
  if (d.data == nullptr && d.rows == 0) return {};
  if (!contract) {
    return invalid(std::string(what) + " is given: the plan was created without its contract");
  }
  if (Status s = check_view(what, d); !s) return s;
  if (d.dtype != contract->output) {
    return invalid(std::string(what) + ".dtype is " + std::string(name(d.dtype)) +
                   ": its contract is " + contract->text());
  }
  if (d.rows != rows || d.cols != cols) {
    return invalid(std::string(what) + " is " + std::to_string(d.rows) + " x " +
                   std::to_string(d.cols) + ": it must be " + std::to_string(rows) + " x " +
                   std::to_string(cols));
  }
  arrays.add(std::string(what), extent_of(ConstMatrix(d)), true);
  return {};
}

Status multiply(const Backend& backend, Stream stream, const GemmSpec& spec,
                const PlanOptions& options, const Operands& operands, Workspace workspace) {
  auto plan = Plan::create(backend, spec, options);
  if (!plan) return plan.status();
  return plan->run(stream, operands, workspace);
}

}  // namespace

Result<std::size_t> LogProbPlan::backward_workspace_bytes(std::int64_t max_t) const try {
  const arithmetic::FloatingPointMode ieee;
  const auto forward = workspace_bytes(max_t);
  if (!forward) return forward.status();
  const State& s = *state_;
  const auto more = sizes(*s.backend, s.spec, s.options, s.existing, s.chunk, max_t,
                          s.spec.dgrad.has_value(), s.spec.wgrad.has_value());
  if (!more) return more.status();
  return *forward + more->product + more->g + more->sum;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status LogProbPlan::backward(Stream stream, const LogProbBackward& arrays,
                             Workspace workspace) const try {
  const arithmetic::FloatingPointMode ieee;
  const State& state = *state_;
  const LogProbSpec& spec = state.spec;
  const LogProbOperands& operands = arrays.forward;
  const std::int64_t t = operands.x.rows;
  NamedArrays named;
  if (Status s = state.check(operands, named); !s) return s;
  if (Status s = check_upstream(arrays.upstream, operands.rows, t, named); !s) return s;
  if (Status s = check_result("dx", arrays.dx, spec.dgrad, t, spec.k, named); !s) return s;
  if (Status s = check_result("dw", arrays.dw, spec.wgrad, spec.n, spec.k, named); !s) return s;
  if (Status s = state.check_kept(arrays.logits, t, false, named); !s) return s;
  const bool dx = spec.dgrad && arrays.dx.data != nullptr;
  const bool dw = spec.wgrad && arrays.dw.data != nullptr;
  const auto forward = state.layout(t);
  if (!forward) return forward.status();
  const auto more =
      sizes(*state.backend, spec, state.options, state.existing, state.chunk, t, dx, dw);
  if (!more) return more.status();
  const std::size_t needed =
      forward->product + forward->logits + more->product + more->g + more->sum;
  if (Status s = named.add_workspace(workspace, needed); !s) return s;
  if (Status s = named.check(); !s) return s;
  if (Status s = state.check_place(stream, operands.rows, t); !s) return s;

  auto* const memory = static_cast<std::byte*>(workspace.data);
  const Workspace scratch{memory, std::max(forward->product, more->product)};
  std::byte* const logits = memory + scratch.bytes;
  std::byte* const gradient = logits + forward->logits;
  std::byte* const sum = gradient + more->g;
  for (std::int64_t i = 0; i < state.pieces(); ++i) {
    const LogPiece piece = state.piece(i);
    const Matrix g = row_major(gradient, t, piece.count, DType::bf16);
    for (std::int64_t row = 0; row < t; row += state.stripe_rows) {
      const std::int64_t count = std::min(state.stripe_rows, t - row);
      const Matrix to = row_major(logits, count, piece.count, spec.contract.output);
      ConstMatrix from = to;
      if (arrays.logits.data != nullptr) {
        from = cols_of(rows_of(arrays.logits, row, count), piece.first, piece.count);
      } else if (Status s = state.logits(stream, operands, row, count, piece, to, scratch); !s) {
        return s;
      }
      if (Status s = state.engine->gradient(stream, from, spec.begin + piece.first, piece.count,
                                            rows_from(operands.rows, row),
                                            upstream_from(arrays.upstream, row), spec.alpha,
                                            rows_of(g, row, count), state.options.max_workers);
          !s) {
        return s;
      }
    }
    if (dx) {
      const bool last = i + 1 == state.pieces();
      const Matrix partial = more->sum == 0 ? arrays.dx : row_major(sum, t, spec.k, DType::fp32);
      Operands product{g, rows_of(operands.w, piece.first, piece.count),
                       last ? arrays.dx : partial};
      if (i > 0) product.c = partial;
      const GemmSpec one = dx_spec(spec, piece.count, i == 0, last);
      if (Status s = multiply(*state.backend, stream, one, state.options, product, scratch); !s) {
        return s;
      }
    }
    if (dw) {
      const Matrix rows = rows_of(arrays.dw, piece.first, piece.count);
      Operands product{g, operands.x, rows};
      if (spec.continue_dw) product.c = rows;
      if (Status s =
              multiply(*state.backend, stream, dw_spec(spec, t), state.options, product, scratch);
          !s) {
        return s;
      }
    }
  }
  // Products of no terms are +0: what a shard without columns, and padding, gets.
  if (dx && state.pieces() == 0 && t > 0) {
    const GemmSpec nothing = dx_spec(spec, 0, true, true);
    const Operands product{row_major(gradient, t, 0, DType::bf16), rows_of(operands.w, 0, 0),
                           arrays.dx};
    if (Status s = multiply(*state.backend, stream, nothing, state.options, product, scratch); !s) {
      return s;
    }
  }
  if (dw && !spec.continue_dw && padding(spec, state.existing) > 0) {
    GemmSpec nothing = dw_spec(spec, 0);
    const std::int64_t rows = padding(spec, state.existing);
    const Operands product{row_major(gradient, 0, rows, DType::bf16), rows_of(operands.x, 0, 0),
                           rows_of(arrays.dw, state.existing, rows)};
    return multiply(*state.backend, stream, nothing, state.options, product, scratch);
  }
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace detgemm
