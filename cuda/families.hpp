// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "cuda/kernel.hpp"
#include "cuda/launch.hpp"
#include "cuda/sm90/host/paths.hpp"

namespace detgemm::cuda {

/// Everything that a decision depends on. Choosers see a Question and nothing else, so what was
/// decided for a Question is right for every call that asks it again. How the arrays lie (output
/// type, epilogue, alignment) has become the path and the majors by then; promises of stability and
/// overlap change no decision.
struct Question {
  std::int64_t m = 0, n = 0, k = 0;
  Reduction reduction;  ///< chain also for the fold or tree of a single leaf from +0
  Arithmetic arithmetic = Arithmetic::hopper;
  DType input = DType::bf16;
  sm90::Path path = sm90::Path::plain;  ///< SM90
  bool a_mn = false, b_mn = false;      ///< memory of the operand does not run along k
  bool from_c = false;
  bool clusters = true;
  int sms = 1;
  int forced = -1;

  bool leaves() const { return reduction.kind != ReductionKind::chain; }
  bool operator==(const Question&) const = default;
};

/// A decision, or the rule by which the forced kernel does not take the problem.
struct Choice {
  Decision decision;
  const char* why_not = nullptr;  ///< null if and only if there is a decision
};

/// The rest of what a launch needs.
struct Call {
  const GemmArguments& g;
  const LaunchOptions& options;
  void* workspace;

  Queue queue() const { return {options.stream, options.overlap}; }
};

/// A family of kernels is one row of the table in families.cpp. To add a family, say a grouped
/// GEMM, write these functions, add a value to Family (launch.hpp) and a row to the table; decide,
/// name, enqueue, preparation, forced kernels and the memory of decisions then work for it.
struct FamilyRow {
  Family family;
  /// The arithmetic whose contracts its kernels compute; they are prepared together.
  Arithmetic arithmetic;
  /// Whether it answers the Question. The first row that does is asked.
  bool (*answers)(const Question&);
  /// The kernels that can be forced, or null where none can.
  std::span<const KernelInfo> (*kernels)();
  /// The rule by which the forced kernel does not take the problem, or null. No model of time.
  const char* (*why_not)(const Question&);
  /// The cheapest kernel by a model of time. Pure.
  Choice (*choose)(const Question&);
  /// The kernel's line for RunInfo.
  std::string (*name)(const Decision&);
  /// One Decision per compiled kernel, of which the fields that `kernel` reads are set.
  std::vector<Decision> (*compiled)();
  /// The compiled kernel; its function is null where there is none.
  Kernel (*kernel)(const Decision&);
  /// Makes the kernel's arguments (tensor maps, shapes) and launches it.
  cudaError_t (*launch)(const Kernel&, const Decision&, const Call&);
  /// Workspace for at most max_m rows: (reduction, max_m, n, k, multiprocessors). Null: none.
  std::size_t (*workspace_bytes)(const Reduction&, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, int sms) = nullptr;
};

std::span<const FamilyRow> families();
const FamilyRow& row_of(Family family);

/// The Question that a call asks.
Question question_of(const GemmArguments& g, Arithmetic arithmetic, DType input,
                     const LaunchOptions& options);

}  // namespace detgemm::cuda
