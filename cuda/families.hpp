// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "cuda/kernel.hpp"
#include "cuda/launch.hpp"

namespace detgemm::cuda {

/// SM90: which roles a chooser may give the operands.
enum class Roles : std::uint8_t {
  any,
  straight,  ///< M on the x side
  swapped,   ///< N on the x side
};

/// Operands that could be copied into the workspace, and what the copies would be for a decision.
struct Packing {
  bool a = false, b = false;
  sm90::Form form = sm90::Form::plain;  ///< in place of the Question's
  Roles roles = Roles::any;             ///< likewise

  bool any() const { return a || b; }
  bool operator==(const Packing&) const = default;
};

/// What choosers answer. Those of single products of hopper and ieee_fma see how the arrays are
/// laid out (strides, alignment, output type, epilogue) as family, form and majors; others look at
/// the problem itself. Promises of stability and overlap change no decision.
struct Question {
  Family family = Family::none;         ///< whose kernels take the arrays
  sm90::Form form = sm90::Form::plain;  ///< SM90: in which form
  std::int64_t m = 0, n = 0, k = 0;
  Reduction reduction;  ///< chain also for the fold or tree of a single leaf from +0
  DType input = DType::bf16;
  bool a_mn = false, b_mn = false;  ///< memory of the operand does not run along k
  bool from_c = false;
  bool reads_c = false;
  bool activates = false;    ///< by more than relu
  Packing packing;           ///< SM90: none where the workspace has no room for the copies
  Roles roles = Roles::any;  ///< a forced kernel may have any
  bool clusters = true;
  int sms = 1;
  int forced = -1;                   ///< index in the family
  const Problem* problem = nullptr;  ///< null in a usual Question

  bool leaves() const { return reduction.kind != ReductionKind::chain; }
};

/// A decision, or the rule by which the forced kernel does not take the problem.
struct Choice {
  Decision decision;
  const char* why_not = nullptr;  ///< null if and only if there is a decision
  double us = 0;                  ///< what the model of time expects, where it is compared
};

/// A kernel with its operands on chosen sides, as a chooser judges it.
struct Candidate {
  int kernel = 0;
  bool swapped = false;
  const char* why_not = nullptr;  ///< the rule by which it does not take the problem, or null
  bool preferred = false;         ///< to those that are not, whatever they take
  double time = 0;                ///< by the model of its kind
};

/// Models that count clocks give microseconds by a usual clock.
inline constexpr double kClocksPerUs = 1700;

/// Kernels [begin, end) of a family.
struct KernelRange {
  int begin, end;
};

/// The kernels that may answer a Question: all of them, or the forced one.
inline KernelRange kernels_for(const Question& q, int all) {
  return q.forced < 0 ? KernelRange{0, all} : KernelRange{q.forced, q.forced + 1};
}

/// The walk of every chooser: the best of these kernels with either role, and of equals the first.
/// `judge` completes a candidate. Where no kernel takes the problem, the last rule.
template <class Judge>
Candidate best_of(KernelRange kernels, const Judge& judge) {
  Candidate best;
  best.why_not = "no such kernel is compiled";
  for (int kernel = kernels.begin; kernel < kernels.end; ++kernel) {
    for (const bool swapped : {false, true}) {
      Candidate c{kernel, swapped};
      judge(c);
      const bool wins = c.preferred != best.preferred ? c.preferred : c.time < best.time;
      if (best.why_not != nullptr || (c.why_not == nullptr && wins)) best = c;
    }
  }
  return best;
}

/// The rest of what a launch needs. Steps move it to the copies that they have made.
struct Call {
  Problem problem;
  LaunchOptions options;
  void* workspace = nullptr;
  std::uint64_t context = 0;  ///< see Queue

  const GemmArguments& g() const { return problem.g(); }
  Queue queue() const { return {options.stream, options.overlap, context}; }
  /// Of kernels that other devices than 9.0 take too, where such launches were never tried.
  Queue portable_queue() const {
    return {options.stream, options.overlap && options.wgmma, context};
  }
};

/// Kernels that are prepared together, and of which one computes a problem.
enum class KernelSet : std::uint8_t {
  hopper,
  ieee_fma,
  snap,
  snap3,
  groups_of_hopper,
  groups_of_mma,  ///< on 9.0 beside groups_of_hopper
  groups_of_ieee_fma,
  e4m3,
  mma,
  count,
};

/// A family of kernels is one row of the table in host/families.cpp, in the order of Family. To add
/// a family, say for another tensor core, add a value to Family (launch.hpp), write these
/// functions, add a row, list its kernels in host/kernels.cpp, and let `question_of`, or what it
/// calls, say which problems are the family's; decide, name, enqueue, preparation, forced kernels
/// and the memory of decisions then work for it.
struct FamilyRow {
  Family family;
  KernelSet set;
  /// Its kernels compute many products in one launch.
  bool groups;
  /// The kernels that can be forced. Null: none can be.
  std::span<const KernelInfo> (*kernels)();
  /// The Question about m rows whose arrays are as they usually are (see `takes`). Null: every
  /// kernel takes some arrays of every problem for which it is listed.
  Question (*usual)(const GemmSpec&, std::int64_t m);
  /// The rule by which the forced kernel does not take the problem, or null. No model of time. Null
  /// with usual.
  const char* (*why_not)(const Question&);
  /// The cheapest kernel by a model of time, or the forced one. Pure. Null with launch: its kernels
  /// run ahead of those of other families, and no Question is theirs.
  Choice (*choose)(const Question&);
  /// The kernel's line for RunInfo.
  std::string (*name)(const Decision&);
  /// One Decision per compiled kernel whose shared-memory limit must be raised, with the fields set
  /// that `kernel` reads.
  std::vector<Decision> (*compiled)(Family);
  /// The compiled kernel; its function is null where there is none.
  Kernel (*kernel)(const Decision&);
  /// Makes the kernel's arguments (tensor maps, shapes) and launches it.
  cudaError_t (*launch)(const Kernel&, const Decision&, const Call&);
  /// Workspace for at most max_m rows: (reduction, max_m, n, k, multiprocessors). Null: none.
  std::size_t (*workspace_bytes)(const Reduction&, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, int sms);
  /// The maximum of a step's bytes for at most max_m rows: (reduction, max_m, n, k). Null: it packs
  /// no operand.
  std::size_t (*packed_bytes)(const Reduction&, std::int64_t max_m, std::int64_t n, std::int64_t k);
};

/// The rows of this build: those of e4m3 are the last, and only where DETGEMM_CUDA_FP8 is ON.
std::span<const FamilyRow> families();
const FamilyRow& row_of(Family family);
bool has_row(Family family);

/// The arithmetic whose kernels multiply. Of snap, `wgmma` says which.
Arithmetic multiplies(Arithmetic arithmetic, bool wgmma);
/// The kernels that multiply where none is forced. `wgmma`: see LaunchOptions.
KernelSet set_of(Arithmetic multiplies, DType input, bool grouped, bool wgmma);

/// The Question of a problem that is multiplied unchanged. It refers to the problem. Of
/// groups it has no family, since several may take them.
Question question_of(const Problem& problem, const LaunchOptions& options);

/// The forced kernel, or null.
const KernelInfo* forced_kernel(const Problem& problem, const LaunchOptions& options);
/// What `decide` says where the forced kernel does not take the arrays.
Status refusal(const KernelInfo& forced, const char* why);

/// Workspace that calls of at most m rows may use without copies.
std::size_t needed_workspace(KernelSet set, const Reduction& reduction, std::int64_t m,
                             std::int64_t n, std::int64_t k, int sms);
/// Where copies begin after so many bytes.
inline std::size_t aligned_workspace(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace detgemm::cuda
