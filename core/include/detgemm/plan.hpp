// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "detgemm/backend.hpp"
#include "detgemm/gemm_spec.hpp"

namespace detgemm {

/// A problem prepared on one backend: create once, run for any M, from any thread.
/// Copies share the same immutable state.
class DETGEMM_API Plan {
 public:
  /// Refuses with a sentence whatever the backend does not compute; never tries another one.
  static Result<Plan> create(const Backend& backend, const GemmSpec& spec,
                             const PlanOptions& options = {});

  /// Bytes `run` and `combine` need for any M up to max_m.
  Result<std::size_t> workspace_bytes(std::int64_t max_m) const;

  /// D = A*B with the spec's epilogue. Everything is checked before anything is written.
  Status run(Stream stream, const Operands& operands, Workspace workspace = {},
             RunInfo* info = nullptr) const;
  Status run(Stream stream, const ConstMatrix& a, const ConstMatrix& b, const Matrix& d,
             Workspace workspace = {}) const {
    return run(stream, Operands{a, b, d}, workspace);
  }

  /// Tensor parallelism, `tree` only: joins the M x N fp32 roots that 1, 2, 4, ... ranks computed
  /// over their shares of K (`rank_share`; a plan with fp32 output and no epilogue), in rank
  /// order, and applies this plan's epilogue: the bits of one rank computing all of K.
  /// `operands.a` and `operands.b` are not looked at. D may not overlap a root. The number of roots
  /// divides the leaves of the plan's k, which is all of K.
  Status combine(Stream stream, std::span<const ConstMatrix> roots, const Operands& operands,
                 Workspace workspace = {}, RunInfo* info = nullptr) const;

  const GemmSpec& spec() const noexcept;
  const Contract& contract() const noexcept { return spec().contract; }
  const Backend& backend() const noexcept;
  const PlanOptions& options() const noexcept;
  /// The kernel that would run for this m (a negative one counts as 0).
  std::string kernel(std::int64_t m) const;
  /// Contract, digest, backend, kernel and workspace for this m, a line each.
  std::string describe(std::int64_t m) const;

 private:
  struct State;
  explicit Plan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Options of the one-call form; the fields mean what they mean in GemmSpec.
struct GemmOptions {
  Op op_a = Op::none;
  Op op_b = Op::none;
  float alpha = 1.0F;
  float beta = 0.0F;
  Activation activation = Activation::none;
  bool continue_from_c = false;
  ConstMatrix c{};
  ConstVector bias{};     ///< used when its data is not null
  std::string backend;    ///< a name; empty: the first that supports the problem
  std::string variant;    ///< force a kernel of that backend
  Workspace workspace{};  ///< on the host, scratch is allocated when this is empty
};

/// One call: plans, checks, runs. The contract is part of the call; there is no default one.
DETGEMM_API Status gemm(Stream stream, const ConstMatrix& a, const ConstMatrix& b, const Matrix& d,
                        const Contract& contract, const GemmOptions& options = {});

}  // namespace detgemm
