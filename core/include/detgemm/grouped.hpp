// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "detgemm/backend.hpp"
#include "detgemm/gemm_spec.hpp"
#include "detgemm/plan.hpp"

namespace detgemm {

/// The most groups of one problem.
inline constexpr std::int64_t kMaxGroups = std::int64_t{1} << 20;

/// How many products under one contract are laid out in memory. R is the number of rows that all
/// groups share, G the number of groups, and o the offsets, with o[-1] = 0:
///
///   batched     G problems of M x N x K each              D[g] = A[g] B[g]
///   m_grouped   segments of the rows of A and D           D[r] = A[r] B[g]  for o[g-1] <= r < o[g]
///   m_masked    batched, but only count[g] rows matter    D[g][r] = A[g][r] B[g]  for r < count[g]
///   k_grouped   segments of the products                  D[g] = A[:, s] B[s, :]  for s the range
///                                                                of k from o[g-1] to o[g]
///
/// m_grouped is the forward pass of a mixture of experts and its dA, m_masked the same with a fixed
/// capacity per expert, k_grouped the gradient of the experts' weights (with op_a transpose).
/// Segments need no alignment and may be empty. Every output has the bits that Plan gives it for
/// its group alone (core/contract/CONTRACT.md, section 7).
enum class GroupKind : std::int32_t { batched = 0, m_grouped = 1, m_masked = 2, k_grouped = 3 };

/// "batched", "m_grouped", "m_masked" or "k_grouped"; "unknown" for a value that is not listed.
DETGEMM_API std::string_view name(GroupKind kind) noexcept;
/// The value of a name; `not_found` lists the names there are.
DETGEMM_API Result<GroupKind> parse_group_kind(std::string_view text);

/// Many problems under one contract, without their sizes M and without the offsets: what a plan
/// cannot see cannot change the bits.
struct GroupedSpec {
  /// One of the problems. For k_grouped its k is 0, since the offsets decide how many products a
  /// group has.
  GemmSpec gemm;
  GroupKind kind = GroupKind::batched;
  std::int64_t groups = 1;  ///< from 1 to kMaxGroups; may not and does not change a bit
};

/// ok, or the rule that the problem breaks on every backend.
DETGEMM_API Status validate(const GroupedSpec& spec);

/// The type of offsets and counts.
enum class OffsetType : std::int32_t { i32 = 0, i64 = 1 };

/// "i32" or "i64"; "unknown" for a value that is not listed.
DETGEMM_API std::string_view name(OffsetType type) noexcept;
/// Bytes of one offset; 0 for a value that is not listed.
DETGEMM_API std::size_t size_of(OffsetType type) noexcept;

/// Where groups end, in memory of the stream's device: a plan's run does not wait for them, except
/// where `GroupedPlan::waits_for_offsets` says so. For
/// m_grouped and k_grouped element g is o[g], the end of group g, which is where group g + 1
/// begins: 0 <= o[0] <= o[1] <= ... <= R (what torch calls `offs`). For m_masked element g is the
/// number of rows of group g that matter, from 0 to the capacity.
struct Offsets {
  const void* data = nullptr;  ///< aligned to the size of an offset
  std::int64_t size = 0;       ///< the number of groups; 0 for batched, which has none
  OffsetType type = OffsetType::i32;
};

/// From an array of one group to that of the next, in elements; 0: all groups share it.
struct GroupDistances {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t d = 0;
  std::int64_t c = 0;
  std::int64_t bias = 0;
  std::int64_t scale_a = 0;
  std::int64_t scale_b = 0;
};

/// The arrays of one run. `arrays` holds, in the shapes of GemmSpec:
///
///   kind        A              B              C, D           distances in use
///   batched     of group 0     of group 0     of group 0     a, b, c, d, bias
///   m_masked    of group 0     of group 0     of group 0     a, b, c, d, bias; M is the capacity
///   m_grouped   all R rows     of group 0     all R rows     b, bias
///   k_grouped   all R columns  all R rows     of group 0     c, d, bias
///
/// Scales (contracts of `scaled`) go with their operand: scale_a has a distance where A has one,
/// scale_b where B has. For m_grouped scale_a is that of all R rows, one scale per row, since a
/// segment may begin at any row. k_grouped takes no contract of `scaled` yet.
///
/// Distances not in use are 0, and none is negative. Where D has one, groups of D do not overlap:
/// the distance is at least what one group spans, or groups interleave, each within the gaps
/// between the rows (or columns) of the one before. D may be C itself, then with the same distance;
/// otherwise D shares no memory with anything that is read.
struct GroupedOperands {
  Operands arrays;
  GroupDistances group;
  Offsets offsets;
};

/// ok, or the rule that the arrays break. No element and no offset is read.
DETGEMM_API Status validate(const GroupedSpec& spec, const GroupedOperands& operands);

/// A backend's half of a grouped plan. It is immutable, and every function may be called
/// concurrently. Preconditions of `run`: the arguments passed `detgemm::validate`, the stream is of
/// the backend's kind, and the workspace is aligned to kWorkspaceAlignment bytes and
/// `workspace_bytes` long. Offsets may break their rules: whatever they are, nothing
/// outside of the arrays is read or written. Postcondition of a refusal: nothing was written.
class DETGEMM_API GroupedPlanImpl {
 public:
  virtual ~GroupedPlanImpl();

  /// Bytes of workspace for any number of D's rows up to max_m and of k_grouped's products up to
  /// max_k; it does not decrease as they grow, and depends on nothing else.
  virtual std::size_t workspace_bytes(std::int64_t max_m, std::int64_t max_k) const = 0;
  /// Enqueues the computation of all groups on the stream; does not wait, unless
  /// `waits_for_offsets`, and does not allocate device memory. On the host D is finished at return.
  /// `info` may be null.
  virtual Status run(Stream stream, const GroupedOperands& operands, Workspace workspace,
                     RunInfo* info) const = 0;
  /// Whether `run` waits for the stream to read the offsets; false by default.
  virtual bool waits_for_offsets() const;
  /// The name of the kernel that would run for so many rows of D, in one line.
  virtual std::string kernel(std::int64_t m) const = 0;
};

/// Many products prepared on one backend: create it once, run it for any sizes and offsets, from
/// any thread. A plan is immutable, and its copies share one state. On a GPU it belongs to the
/// device that was current when it was created.
class DETGEMM_API GroupedPlan {
 public:
  /// Refuses with a sentence: a problem or options that break a rule (invalid_argument), what the
  /// backend does not compute (unsupported), an unknown variant (not_found), a backend that cannot
  /// run here or now (unavailable). Another backend is never tried.
  static Result<GroupedPlan> create(const Backend& backend, const GroupedSpec& spec,
                                    const PlanOptions& options = {});

  /// Bytes of workspace that `run` needs where D's view has up to max_m rows and, for k_grouped,
  /// all groups together have up to max_k products. Refuses (invalid_argument) negative numbers,
  /// and a max_k for other kinds.
  Result<std::size_t> workspace_bytes(std::int64_t max_m, std::int64_t max_k = 0) const;

  /// All groups. Everything but the values of offsets is checked before anything is written or
  /// enqueued. On a GPU the work is enqueued on the stream and the call returns without waiting;
  /// it may be captured into a graph, whose replays read the offsets again. Rows of D that belong
  /// to no group keep their bytes, and rows of A and C that belong to none do not enter. A group of
  /// k_grouped without products gives D[g] what K = 0 gives: the epilogue of +0, or of C.
  ///
  /// Offsets that break their rule are not noticed here, since that would mean waiting for them:
  /// each is then taken as if it were moved into 0 .. R, and a group that ends before it begins is
  /// empty. So nothing outside of the arrays is touched; a row of D in several segments
  /// gets the result of one of them. `check` names the offset that breaks the rule.
  ///
  /// A backend without kernels over groups runs a Plan per group; see `waits_for_offsets`.
  Status run(Stream stream, const GroupedOperands& operands, Workspace workspace = {},
             RunInfo* info = nullptr) const;

  /// Whether the host must read the offsets, so that `run` waits for all earlier work on the stream
  /// and refuses one that is being captured: on backends without kernels over groups, for every
  /// kind but batched.
  bool waits_for_offsets() const noexcept;

  /// For debugging: waits for the stream, reads the offsets, and names the first that breaks its
  /// rule (invalid_argument). Also refuses what `run` refuses about the operands, and a stream that
  /// is being captured.
  Status check(Stream stream, const GroupedOperands& operands) const;

  /// What the plan was created from.
  const GroupedSpec& spec() const noexcept;
  /// The contract whose bits every run returns.
  const Contract& contract() const noexcept { return spec().gemm.contract; }
  /// Who computes it.
  const Backend& backend() const noexcept;
  /// The choices it was created with.
  const PlanOptions& options() const noexcept;
  /// The name of the kernel that would run for so many rows of D (a negative number counts as 0).
  std::string kernel(std::int64_t m) const;
  /// Contract, digest, problem, backend, kernel and workspace for so many rows of D and products of
  /// k_grouped, one per line.
  std::string describe(std::int64_t m, std::int64_t k = 0) const;

 private:
  struct State;
  explicit GroupedPlan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace detgemm
