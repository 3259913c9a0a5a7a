// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/launch.hpp"

#include <algorithm>
#include <limits>

#include "core/arithmetic/step.hpp"
#include "core/contract/forced_kernel.hpp"
#include "cuda/families.hpp"
#include "cuda/host/context.hpp"
#include "cuda/host/recall.hpp"
#include "cuda/host/snapped.hpp"
#include "cuda/sample.hpp"

namespace detgemm::cuda {
namespace {

Status refusal(const Question& q, const char* why) {
  Contract contract;
  contract.arithmetic = row_of(q.family).arithmetic;
  contract.reduction = q.reduction;
  contract.input = q.input;
  return forced_kernel_refuses(kernels(contract)[static_cast<std::size_t>(q.forced)].name, why);
}

/// decide for the arithmetics whose kernels multiply.
Result<Decision> decide_multiplication(const GemmArguments& g, Arithmetic arithmetic, DType input,
                                       const LaunchOptions& options) {
  static thread_local Recall recall;
  const Question q = question_of(g, arithmetic, input, options);
  if (const Decision* known = recall.find(q)) return *known;
  const Choice choice = row_of(q.family).choose(q);
  if (choice.why_not != nullptr) return refusal(q, choice.why_not);
  Decision decision = choice.decision;
  decision.us = choice.us;
  recall.keep(q, decision);
  return decision;
}

}  // namespace

Status whole_build() {
  if (!kSampleAlone) return {};
  return {Errc::unavailable,
          "cuda: this build has a sample of the kernels, to show that they compile, and computes "
          "nothing: DETGEMM_CUDA_KERNELS is sample where it must be all"};
}

std::span<const KernelInfo> kernels(const Contract& contract) {
  if (arithmetic::is_snap(contract.arithmetic)) return snap::kernels(contract);
  for (const FamilyRow& row : families()) {
    if (row.kernels == nullptr || row.arithmetic != contract.arithmetic) continue;
    if (const auto list = row.kernels(contract); !list.empty()) return list;
  }
  return {};
}

bool takes(const KernelInfo& kernel, const GemmSpec& problem) {
  GemmSpec spec = problem;
  if (spec.contract.arithmetic == Arithmetic::snap3) {  // what is multiplied
    const snap::Copied on_copies = snap::copied(Arithmetic::snap3, spec.contract.reduction, spec.k);
    spec.contract.input = DType::bf16;
    spec.contract.reduction = on_copies.reduction;
    spec.k = on_copies.k;
    spec.op_a = Op::none;
    spec.op_b = Op::transpose;
  }
  // A usual number of rows, or so few that CTAs share the leaves of a tile.
  const auto takes_rows = [&](std::int64_t m) {
    Question q = row_of(kernel.family).usual(spec, m);
    q.forced = kernel.index;
    return row_of(q.family).why_not(q) == nullptr;
  };
  return spec.n > 0 && (takes_rows(64) || (kernel.family == Family::leaves && takes_rows(8)));
}

Result<Decision> decide(const GemmArguments& g, Arithmetic arithmetic, DType input,
                        const LaunchOptions& options) {
  if (g.m == 0 || g.n == 0) return Decision{};
  if (!arithmetic::is_snap(arithmetic)) return decide_multiplication(g, arithmetic, input, options);
  const snap::SnappedCall call(g, arithmetic, input, options, nullptr);
  if (call.why_not() != nullptr) return snap::refusal(options, call.why_not());
  auto decision =
      decide_multiplication(call.arguments(), call.arithmetic(), DType::bf16, call.options());
  if (decision) {
    decision->snap = true;
    decision->splits = arithmetic == Arithmetic::snap3;
    decision->operands = input;
    decision->snaps_a = call.snaps().a;
    decision->snaps_b = call.snaps().b;
  }
  return decision;
}

std::string name(const Decision& d) {
  if (d.family == Family::none) return "none (no outputs)";
  const std::string text = row_of(d.family).name(d);
  if (!d.snaps_a && !d.snaps_b) return text;
  if (d.splits) return text + "/snap3";
  return text + (!d.snaps_b ? "/snap-a" : !d.snaps_a ? "/snap-b" : "/snap");
}

std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, const LaunchOptions& options) {
  const bool snaps = arithmetic::is_snap(contract.arithmetic);
  const snap::Copied over = snap::copied(contract.arithmetic, contract.reduction, k);
  const std::size_t copies = snaps ? snap::copies_bytes(max_m, n, over.k, options) : 0;
  const Arithmetic arithmetic = snaps ? snap::multiplies(options) : contract.arithmetic;
  return copies + needed_workspace(arithmetic, over.reduction, max_m, n, over.k, options.sms);
}

std::size_t fast_workspace_bytes(const GemmArguments& g, Arithmetic arithmetic, DType input,
                                 const LaunchOptions& options) {
  Contract contract;
  contract.arithmetic = arithmetic;
  contract.reduction = g.reduction;
  const std::size_t needed = workspace_bytes(contract, g.m, g.n, g.k, options);
  LaunchOptions all = options;
  all.workspace_bytes = std::numeric_limits<std::size_t>::max();
  const auto decision = decide(g, arithmetic, input, all);
  if (!decision || decision->packed_bytes == 0) return needed;
  return aligned_workspace(needed) + decision->packed_bytes;
}

std::size_t fast_workspace_bound(const Contract& contract, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, const LaunchOptions& options) {
  const bool snaps = arithmetic::is_snap(contract.arithmetic);
  const Arithmetic arithmetic = snaps ? snap::multiplies(options) : contract.arithmetic;
  std::size_t packed = 0;
  for (const FamilyRow& row : families()) {
    if (row.arithmetic != arithmetic || row.packed_bytes == nullptr) continue;
    packed = std::max(packed, row.packed_bytes(contract.reduction, max_m, n, k));
  }
  // Copies of snap lie as every kernel wants them: only operands that are not copied are packed.
  if (snaps && !options.a_is_snapped && !options.b_is_snapped) packed = 0;
  const std::size_t needed = workspace_bytes(contract, max_m, n, k, options);
  return packed == 0 ? needed : aligned_workspace(needed) + packed;
}

cudaError_t prepare_kernels(Arithmetic arithmetic, bool wgmma) {
  const std::uint64_t context = current_context();
  if (const auto e = prepare_in(context, arithmetic); e != cudaSuccess) return e;
  if (!arithmetic::is_snap(arithmetic)) return cudaSuccess;
  return prepare_in(context, wgmma ? Arithmetic::hopper : Arithmetic::ieee_fma);
}

namespace {

/// enqueue for the arithmetics whose kernels multiply. `first()` launches what comes before.
template <class First>
cudaError_t enqueue_multiplication(Decision& decision, const Call& call, std::uint64_t context,
                                   const First& first) {
  const auto launch = [&](const FamilyRow& row, const Kernel& kernel) {
    const cudaError_t error = first(row);
    return error == cudaSuccess ? row.launch(kernel, decision, call) : error;
  };
  const FamilyRow& row = row_of(decision.family);
  if (const auto e = prepare_in(context, row.arithmetic); e != cudaSuccess) return e;
  const Kernel kernel = row.kernel(decision);
  if (kernel.cluster == 1) return launch(row, kernel);
  if (const int held = clusters_held(context, kernel, call.queue()); held > 0) {
    // The chooser counts multiprocessors, of which clusters of more than two leave some free. A
    // cluster that had to wait for another one's end would take its first tile when the others have
    // done all of theirs.
    if (decision.family == Family::chain && kernel.cluster > 2) {
      decision.grid = kernel.cluster * std::min(held, decision.grid / kernel.cluster);
    }
    const cudaError_t error = launch(row, kernel);
    if (!says_no_cluster(error)) return error;
    cudaGetLastError();
    remember_no_cluster(context, kernel);
  }
  LaunchOptions alone = call.options;
  alone.clusters = false;
  const auto again = decide(call.g, row.arithmetic, decision.input, alone);
  if (!again) return cudaErrorInvalidClusterSize;  // a forced kernel
  decision = *again;
  const FamilyRow& other = row_of(decision.family);
  return launch(other, other.kernel(decision));
}

}  // namespace

cudaError_t enqueue(Decision& decision, const GemmArguments& g, const LaunchOptions& options,
                    void* workspace) {
  if (decision.family == Family::none) return cudaSuccess;
  const std::uint64_t context = current_context();
  if (!decision.snap) {
    const auto nothing = [](const FamilyRow&) { return cudaSuccess; };
    return enqueue_multiplication(decision, {g, options, workspace}, context, nothing);
  }
  const Arithmetic arithmetic = decision.splits ? Arithmetic::snap3 : Arithmetic::snap;
  const DType operands = decision.operands;
  const snap::SnappedCall call(g, arithmetic, operands, options, workspace);
  if (const auto e = prepare_in(context, arithmetic); e != cudaSuccess) return e;
  const auto snaps = [&](const FamilyRow& row) {
    // Kernels of CUDA cores are launched when all before them has ended.
    return call.snap(row.arithmetic == Arithmetic::hopper);
  };
  const bool a = decision.snaps_a, b = decision.snaps_b;
  const cudaError_t error = enqueue_multiplication(
      decision, {call.arguments(), call.options(), call.workspace()}, context, snaps);
  decision.snap = true;
  decision.snaps_a = a;
  decision.snaps_b = b;
  decision.splits = arithmetic == Arithmetic::snap3;
  decision.operands = operands;
  return error;
}

cudaError_t snap_operand(const void* from, Strides from_strides, void* to, Strides to_strides,
                         std::int64_t vectors, std::int64_t k, std::int64_t leaf_k,
                         const LaunchOptions& options) {
  if (const auto e = prepare_in(current_context(), Arithmetic::snap); e != cudaSuccess) return e;
  const snap::Operand operand = snap::operand(from, from_strides.row, from_strides.col, to,
                                              to_strides.row, to_strides.col, vectors, k, leaf_k);
  return snap::enqueue(operand, options.sms, {options.stream, options.overlap});
}

}  // namespace detgemm::cuda
