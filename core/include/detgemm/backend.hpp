// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detgemm/device.hpp"
#include "detgemm/gemm_spec.hpp"
#include "detgemm/status.hpp"

namespace detgemm {

/// What a backend promises for a contract, in the vocabulary of CUDA's CCCL extended by the
/// two that matter here. Each is a claim the conformance harness tests.
struct Guarantees {
  bool run_to_run = false;          ///< same call, same bits
  bool batch_invariant = false;     ///< a row's bits do not depend on M or on other rows
  bool launch_invariant = false;    ///< nor on stream, graph, thread or SM count, strides
  bool gpu_to_gpu = false;          ///< nor on which supported device of this kind computes it
  bool backend_to_backend = false;  ///< nor on the backend: the reference's bits
};

/// An operand that nothing still running on the stream writes when `run` is called: weights, as a
/// rule. A promise of the caller's; a GPU backend may then read it before earlier work has ended.
enum class Stable : std::int32_t { none = 0, a = 1, b = 2 };

DETGEMM_API std::string_view name(Stable stable) noexcept;
DETGEMM_API Result<Stable> parse_stable(std::string_view text);

/// Choices of how to compute that never change bits.
struct PlanOptions {
  /// Force one of `Backend::variants`; empty lets the backend choose by shape.
  std::string variant;
  /// At most this many workers (threads on the host, SMs on a GPU); 0 for all.
  std::int32_t max_workers = 0;
  /// None is always right. A broken promise is a data race.
  Stable stable = Stable::none;
};

/// What ran, for tools that must be sure of it.
struct RunInfo {
  std::string kernel;
};

/// A backend's half of a plan. Immutable; every function may be called concurrently.
/// Preconditions of `run` and `combine`: the arguments passed `detgemm::validate`, the stream
/// is of the backend's kind, and the workspace is aligned and at least
/// `workspace_bytes(d.rows)` long. Postcondition of a refusal: nothing was written or enqueued.
class DETGEMM_API PlanImpl {
 public:
  virtual ~PlanImpl();

  /// A non-decreasing function of max_m and of nothing else.
  virtual std::size_t workspace_bytes(std::int64_t max_m) const = 0;
  /// Enqueues D; does not wait, allocate device memory or synchronise.
  virtual Status run(Stream stream, const Operands& operands, Workspace workspace,
                     RunInfo* info) const = 0;
  /// Joins fp32 roots of equal leaf ranges in tree order, then the epilogue (`a`, `b` unused).
  virtual Status combine(Stream stream, std::span<const ConstMatrix> roots,
                         const Operands& operands, Workspace workspace, RunInfo* info) const = 0;
  /// The kernel that would run for this m, in one line.
  virtual std::string kernel(std::int64_t m) const = 0;
};

/// One way to compute contracts: a named object, found by name, that says yes or a sentence.
/// To add one, implement this class and add a line to backends/registry.cpp; see
/// backends/skeleton. Every function may be called concurrently.
class DETGEMM_API Backend {
 public:
  virtual ~Backend();

  virtual std::string_view name() const noexcept = 0;
  virtual std::string_view description() const noexcept = 0;
  /// Whether it can run here and now: device, driver, initialisation.
  virtual Status available() const = 0;
  /// Whether it computes this problem (`spec` passed `validate`); says why not in a sentence.
  virtual Status supports(const GemmSpec& spec) const = 0;
  virtual Guarantees guarantees(const Contract& contract) const = 0;
  /// The kernels that may be forced for this problem; all give the same bits.
  virtual std::vector<std::string> variants(const GemmSpec& spec) const = 0;
  /// Preconditions: `available`, `supports`; `options.variant` is empty or one of `variants`.
  virtual Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                            const PlanOptions& options) const = 0;
  virtual Device& device() const noexcept = 0;
};

/// The backends built into this library, in order of preference.
DETGEMM_API std::span<const Backend* const> backends() noexcept;

/// The backend of that name, or a sentence that lists the names there are.
DETGEMM_API Result<const Backend*> find_backend(std::string_view name);

}  // namespace detgemm
