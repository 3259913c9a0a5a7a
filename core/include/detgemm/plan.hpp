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

/// The fp32 sum over a node of the tree over all leaves, as the rank that owns these leaves
/// computed it.
struct NodeRoot {
  ConstMatrix root;  ///< M x N, fp32
  LeafRange leaves;  ///< one of the nodes of `cover`
};

/// The maximal number of roots that one `Plan::combine` of nodes takes.
inline constexpr std::size_t kMaxNodeRoots = 1024;

/// A problem prepared on one backend: create it once, run it for any M, from any thread. A plan is
/// immutable, and its copies share one state. On a GPU it belongs to the device that was current
/// when it was created.
class DETGEMM_API Plan {
 public:
  /// Refuses with a sentence: a problem or options that break a rule (invalid_argument), a contract
  /// that the backend does not compute (unsupported), an unknown variant (not_found), a backend
  /// that cannot run here or now (unavailable). Another backend is never tried.
  static Result<Plan> create(const Backend& backend, const GemmSpec& spec,
                             const PlanOptions& options = {});

  /// Bytes of workspace that `run` and `combine` need for any M from 0 to max_m. On the host too,
  /// where most problems need some: HostWorkspace::allocate (workspace.hpp) gives it.
  Result<std::size_t> workspace_bytes(std::int64_t max_m) const;

  /// Bytes of workspace with which this run is fastest, at least `workspace_bytes` of its M. More
  /// than that is never needed and never moves a bit: it buys time where a backend has a faster way
  /// for these arrays. The CUDA backend then copies operands whose rows do not start at multiples
  /// of 16 bytes, or whose leaves are not multiples of 64 k, into the workspace, and multiplies the
  /// copies. The answer depends on sizes, strides and addresses of the arrays alone; no element is
  /// read.
  Result<std::size_t> fast_workspace_bytes(const Operands& operands) const;

  /// Enough of it for all arrays of any M from 0 to max_m, with any strides. For the CUDA backend
  /// that is about the size of op(A) and op(B) together, most of which aligned arrays never use.
  Result<std::size_t> fast_workspace_bytes(std::int64_t max_m) const;

  /// D = A*B with the spec's epilogue; M is the number of D's rows. Everything is checked before
  /// anything is written or enqueued. On a GPU the work is enqueued on the stream and the call
  /// returns without waiting: the arrays and the workspace must not change until it has
  /// finished, and concurrent runs need a workspace each. On the host D is finished at return.
  /// Calls may be captured into a graph. `info` may be null.
  ///
  /// The workspace has at least `workspace_bytes` of this M, and nothing beyond what the run uses
  /// is looked at: the first `fast_workspace_bytes(operands)` bytes if it has that many, else the
  /// first `workspace_bytes`. What is used shares no memory with any array. A graph keeps the
  /// workspace of its capture, so two executable graphs made from one capture (instantiated twice,
  /// or cloned) share it, and may not run at the same time; capture twice, with a workspace each,
  /// where they shall.
  Status run(Stream stream, const Operands& operands, Workspace workspace = {},
             RunInfo* info = nullptr) const;
  /// The same for a problem without C and bias.
  Status run(Stream stream, const ConstMatrix& a, const ConstMatrix& b, const Matrix& d,
             Workspace workspace = {}) const {
    return run(stream, Operands{a, b, d}, workspace);
  }

  /// Tensor parallelism, under `tree` only: adds the M x N fp32 roots that 1, 2, 4, ... ranks
  /// computed over their shares of K (`rank_share`; each with a plan of fp32 output and no
  /// epilogue), given in rank order, and applies this plan's epilogue. D has the bits of one rank
  /// that computes all of K. This plan's k is all of K, and the number of roots divides its leaves.
  /// `operands.a` and `operands.b` are ignored. D may not overlap a root. Streams, workspace and
  /// `info` are as in `run`.
  Status combine(Stream stream, std::span<const ConstMatrix> roots, const Operands& operands,
                 Workspace workspace = {}, RunInfo* info = nullptr) const;
  /// The same for any number of ranks and any shares that end at leaves: the roots of nodes that
  /// follow each other from the first leaf of k to the last, at most kMaxNodeRoots of them.
  Status combine(Stream stream, std::span<const NodeRoot> roots, const Operands& operands,
                 Workspace workspace = {}, RunInfo* info = nullptr) const;

  /// What the plan was created from.
  const GemmSpec& spec() const noexcept;
  /// The contract whose bits every run returns.
  const Contract& contract() const noexcept { return spec().contract; }
  /// Who computes it.
  const Backend& backend() const noexcept;
  /// The choices it was created with.
  const PlanOptions& options() const noexcept;
  /// The name of the kernel that would run for this M (a negative one counts as 0).
  std::string kernel(std::int64_t m) const;
  /// Contract, digest, backend, kernel and workspace for this M, one per line.
  std::string describe(std::int64_t m) const;

 private:
  struct State;
  Status join(Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
              Workspace workspace, RunInfo* info) const;
  explicit Plan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Options of the one-call form. The fields mean what they mean in GemmSpec, Operands and
/// PlanOptions.
struct GemmOptions {
  Op op_a = Op::none;
  Op op_b = Op::none;
  float alpha = 1.0F;
  float beta = 0.0F;
  Activation activation = Activation::none;
  bool continue_from_c = false;
  ConstMatrix c{};
  ConstVector bias{};            ///< used when its data is not null
  std::string backend{};         ///< a name; empty: the first that computes the problem
  std::string variant{};         ///< the name of a kernel to force; empty: the backend chooses
  Workspace workspace{};         ///< when empty on the host, scratch is allocated for the call
  std::int32_t max_workers = 0;  ///< as in PlanOptions
  Stable stable = Stable::none;  ///< as in PlanOptions
  bool serial_launch = false;    ///< as in PlanOptions
  bool a_snapped = false;        ///< as in GemmSpec
  bool b_snapped = false;        ///< as in GemmSpec
  /// Contracts of `scaled` need both; under others both are line_scales of GemmSpec.
  BlockScales scale_a{};
  BlockScales scale_b{};
};

/// One call that plans, checks and runs. The contract is part of the call; there is no default one.
/// M, N and K are those of the views. Without `options.backend` that is the `first_backend` of the
/// stream's kind of memory; where none can run here or now, for
/// example before a Runtime is started, the call returns `unavailable`, and where those that can
/// run do not compute the problem, `unsupported`. Other errors are those of Plan::create and
/// Plan::run.
DETGEMM_API Status gemm(Stream stream, const ConstMatrix& a, const ConstMatrix& b, const Matrix& d,
                        const Contract& contract, const GemmOptions& options = {});

}  // namespace detgemm
