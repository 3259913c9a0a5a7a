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
#include "detgemm/quantize.hpp"
#include "detgemm/snap.hpp"
#include "detgemm/status.hpp"

namespace detgemm {

/// What a backend promises for a contract, in the vocabulary of CUDA's CCCL, extended by the
/// promises that matter here. The conformance harness tests each of them. A backend that does not
/// compute a contract promises nothing for it: all are false.
struct Guarantees {
  bool run_to_run = false;          ///< the same call gives the same bits
  bool batch_invariant = false;     ///< a row's bits do not depend on M or on other rows
  bool launch_invariant = false;    ///< nor on stream, graph, number of threads or SMs, or strides
  bool gpu_to_gpu = false;          ///< nor on which supported device of this kind computes them
  bool backend_to_backend = false;  ///< nor on the backend: they are the reference's bits
};

/// The operand, if any, that the caller promises to leave unwritten while earlier work on the
/// stream still runs: the weights of a layer, as a rule.
///
/// The promise: when the kernel of a run starts, no kernel, copy or other work that was enqueued
/// earlier on the same stream and has not ended yet writes this operand. A CUDA backend uses it for
/// programmatic dependent launch: the kernel starts while the kernels before it still run, and
/// reads the promised operand without waiting for them. It waits for all earlier work, as always,
/// before it reads the other operand, C or the bias, and before it writes D. So the promise
/// covers this one operand and earlier work on the stream alone; work on other streams must be
/// ordered by events or by synchronisation, with or without it. Backends that do not launch this
/// way ignore it.
///
/// The promise is part of the plan and holds for each of its runs. A graph captured from such a run
/// keeps it: at every replay, neither work in the graph before the run nor work still running on
/// the stream on which the graph is launched may write the operand.
///
/// How far back the promise reaches: to every piece of work on the stream that may still run, not
/// to the one before alone. Runs let each other start early, one after the other, so a run may
/// start while work before several earlier runs still goes on. Weights may therefore be promised if
/// they were last written before the host last waited for the stream, or before an event, a copy or
/// an ordinary launch on the stream between the writing and the run, since these wait for all
/// work before them. A run of this library between the two is not enough.
///
/// A broken promise is a data race, which nothing detects: the kernel may read the operand's old
/// elements, the new ones, or some of each, and D is computed from what it read. No memory other
/// than D and the workspace is written. `none` is always right.
enum class Stable : std::int32_t { none = 0, a = 1, b = 2 };

/// "none", "a" or "b"; "unknown" for a value that is not listed.
DETGEMM_API std::string_view name(Stable stable) noexcept;
/// The value of a name; `not_found` lists the names there are.
DETGEMM_API Result<Stable> parse_stable(std::string_view text);

// Measured choices of kernels: detgemm/tuning.hpp.
class Tuning;
class TuningEngine;

/// Choices of how to compute. None of them changes a bit while the promise in `stable` is kept.
struct PlanOptions {
  /// The name of one of `Backend::variants`, which is then forced; empty: the backend chooses.
  std::string variant{};
  /// At most this many workers (threads on the host, multiprocessors on a GPU); 0 for all.
  std::int32_t max_workers = 0;
  /// A promise of the caller's about one operand; see Stable.
  Stable stable = Stable::none;
  /// Launch every kernel so that it starts when all earlier work on the stream has ended. By
  /// default a CUDA backend uses programmatic dependent launch, with which kernels start earlier
  /// and wait by themselves. Switch it off where other people's kernels on the stream use
  /// programmatic dependent launch without waiting for the work before them, or where it is not
  /// available. `stable` has no effect then. Backends that do not launch this way ignore it.
  bool serial_launch = false;
  /// Measured choices of kernels (tuning.hpp), where no `variant` is named; null: those of
  /// `use_tuning`, if any, else the backend's model of time. Of the plan's own backend. Products
  /// over groups have no rows.
  std::shared_ptr<const Tuning> tuning{};
};

/// What ran, for tools that must be sure of it.
struct RunInfo {
  std::string kernel{};    ///< the name of the kernel that was launched, in one line
  std::string evidence{};  ///< Verification::text, or empty where the backend has none
};

/// What the bits of an arithmetic on a device rest on.
struct Verification {
  bool measured = false;       ///< by the project on devices of this kind; nothing was computed
  std::int64_t outputs = 0;    ///< of pinned products, computed on this device and compared
  std::int64_t different = 0;  ///< of them, from the contract: then nothing is planned here
  std::string device{};        ///< for people
  /// "measured by the project", "verified here on 2026-11-27", or a sentence about the first output
  /// that differs.
  std::string text{};
};

/// A root of a combine and where it goes in the tree: the root is pushed onto a stack, and then
/// closes so many nodes, for each of which two sums are popped, added and pushed.
struct TreeRoot {
  ConstMatrix root;         ///< M x N, fp32
  std::int32_t closes = 0;  ///< nodes of the tree that end with this one
};

/// A backend's half of a plan. It is immutable, and every function may be called concurrently.
/// Preconditions of `run` and `combine`: the arguments passed `detgemm::validate`, the stream is of
/// the backend's kind, and the workspace is aligned to kWorkspaceAlignment bytes and at least
/// `workspace_bytes(d.rows)` long; for `run` it has either that length or that of
/// `fast_workspace_bytes(operands)`. Postcondition of a refusal: nothing was written or enqueued.
class DETGEMM_API PlanImpl {
 public:
  virtual ~PlanImpl();

  /// Bytes of workspace for any M up to max_m; it does not decrease as max_m grows, and depends on
  /// nothing else.
  virtual std::size_t workspace_bytes(std::int64_t max_m) const = 0;
  /// Bytes of workspace, from workspace_bytes(d.rows) on, with which this run is fastest: more than
  /// that where the backend has a faster way that needs them. A run with fewer has the same bits.
  /// Precondition: the arguments passed `detgemm::validate`. No element is read.
  virtual std::size_t fast_workspace_bytes(const Operands& operands) const;
  /// The maximum of it over all operands with up to max_m rows; it does not decrease as max_m
  /// grows, and may be larger than the maximum.
  virtual std::size_t fast_workspace_bound(std::int64_t max_m) const;
  /// Enqueues the computation of D on the stream; does not wait, synchronise or allocate device
  /// memory. On the host D is finished at return. `info` may be null.
  virtual Status run(Stream stream, const Operands& operands, Workspace workspace,
                     RunInfo* info) const = 0;
  /// What `run` would refuse of these arguments, without enqueuing anything: where the arrays are,
  /// or that the kernel that is forced does not take them. By default ok, for a backend that takes
  /// all arguments for which the preconditions of `run` hold.
  virtual Status check(Stream stream, const Operands& operands, Workspace workspace) const;
  /// Adds roots in tree order, then applies the epilogue; `operands.a` and `operands.b` are not
  /// used. After the last root one sum is on the stack.
  virtual Status combine(Stream stream, std::span<const TreeRoot> roots, const Operands& operands,
                         Workspace workspace, RunInfo* info) const = 0;
  /// The name of the kernel that would run for this M, in one line.
  virtual std::string kernel(std::int64_t m) const = 0;
};

// Many products at once: detgemm/grouped.hpp.
struct GroupedSpec;
class GroupedPlanImpl;
// Windows in the memory of several devices: detgemm/peers.hpp.
class PeerEngine;
// Log-probabilities: detgemm/log_prob.hpp.
class LogProbEngine;

/// One way to compute contracts: an object found by its name, which accepts a problem or refuses it
/// with a sentence. To add a backend, implement this class and add a line to
/// backends/registry.cpp; backends/skeleton is an example. Every function may be called
/// concurrently, but not from inside a Kokkos kernel.
class DETGEMM_API Backend {
 public:
  virtual ~Backend();

  /// A short lower-case name, for example "cuda".
  virtual std::string_view name() const noexcept = 0;
  /// What it computes and on which devices, in one line.
  virtual std::string_view description() const noexcept = 0;
  /// ok if it can run here and now; otherwise `unavailable` and what is missing: a device, a
  /// driver, an initialisation.
  virtual Status available() const = 0;
  /// ok if it computes this problem, which passed `validate`; otherwise `unsupported` and why not.
  virtual Status supports(const GemmSpec& spec) const = 0;
  /// What it promises for a contract. This needs no device.
  virtual Guarantees guarantees(const Contract& contract) const = 0;
  /// The names of the kernels that may be forced for this problem; all give the same bits.
  virtual std::vector<std::string> variants(const GemmSpec& spec) const = 0;
  /// The backend's half of a plan. Preconditions: `available` and `supports` returned ok, and
  /// `options.variant` is empty or one of `variants`.
  virtual Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                            const PlanOptions& options) const = 0;
  /// Compares the current device with the contract's arithmetic: pinned products, whose outputs
  /// must have the reference's bits. A backend does this by itself, once per process, before the
  /// first plan on a device that the project never ran, and refuses to plan where one differs.
  /// `unsupported` where the device has no pinned products for the contract, which is the default.
  virtual Result<Verification> verify(const Contract& contract) const;
  /// The memory and streams that it works with.
  virtual Device& device() const noexcept = 0;

  /// Snaps a matrix, by default `unsupported`. Preconditions: the arguments passed
  /// `detgemm::validate`, there are elements, the stream is of the backend's kind, and `available`
  /// returned ok. Postconditions: those of `detgemm::snap`.
  virtual Status snap(Stream stream, const SnapSpec& spec, const ConstMatrix& from,
                      const Matrix& to) const;
  /// Whether snapping would change no value. By default the matrix is looked at on the host, after
  /// a copy if it is elsewhere. Preconditions as above.
  virtual Result<bool> is_snapped(Stream stream, const SnapSpec& spec,
                                  const ConstMatrix& matrix) const;

  /// Quantises a matrix, by default `unsupported`. Preconditions: the arguments passed
  /// `detgemm::validate`, there are elements, the stream is of the backend's kind, and `available`
  /// returned ok. Postconditions: those of `detgemm::quantize`.
  virtual Status quantize(Stream stream, const QuantizeSpec& spec, const ConstMatrix& from,
                          const Matrix& to, const ScalesOut& scales) const;

  /// ok if it computes these products in one call, which passed `validate`; otherwise `unsupported`
  /// with the reason. By default the answer of `supports` for one of them.
  virtual Status supports_grouped(const GroupedSpec& spec) const;
  /// The names of the kernels that may be forced for them; by default those of one of them.
  virtual std::vector<std::string> grouped_variants(const GroupedSpec& spec) const;
  /// The backend's half of a grouped plan. Preconditions: `available` and `supports_grouped`
  /// returned ok, and `options.variant` is empty or one of `grouped_variants`. By default it
  /// runs a Plan per group, and waits for the stream to read where groups end.
  virtual Result<std::shared_ptr<const GroupedPlanImpl>> make_grouped_plan(
      const GroupedSpec& spec, const PlanOptions& options) const;

  /// Windows in memory that devices of one host share, and joins through them; null, which is the
  /// default, where the backend has none.
  virtual const PeerEngine* peers() const noexcept;

  /// The reduction over a vocabulary; null, which is the default, where the backend has none.
  virtual const LogProbEngine* log_prob() const noexcept;

  /// Kernels that a tuning chooses among; null, which is the default, where there are none.
  virtual const TuningEngine* tuning() const noexcept;

  /// Whether there is a backend at this address of readable memory: false where the C interface was
  /// handed garbage.
  static bool is_at(const void* address) noexcept;

 private:
  static constexpr std::uint64_t kMark = 0x6b6361626d676564;  // "degmback" as bytes
  std::uint64_t mark_ = kMark;
};

/// The backends built into this library, in order of preference. They live as long as the process.
DETGEMM_API std::span<const Backend* const> backends() noexcept;

/// The backend of that name, or `not_found` and the names there are.
DETGEMM_API Result<const Backend*> find_backend(std::string_view name);

/// The backend that `gemm` takes for this problem where none is named: the first of `backends` that
/// works on this kind of memory, can run here and now, and computes the problem. Refused with a
/// sentence that lists why each one was passed over: `unavailable` where none can run (a Runtime
/// may not have been started), `unsupported` where those that can run do not compute the problem;
/// `invalid_argument` for a problem that breaks a rule on every backend.
DETGEMM_API Result<const Backend*> first_backend(const GemmSpec& spec, DeviceKind kind);

}  // namespace detgemm
