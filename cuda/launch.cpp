// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/launch.hpp"

#include <algorithm>
#include <limits>

#include "core/contract/forced_kernel.hpp"
#include "cuda/context.hpp"
#include "cuda/families.hpp"
#include "cuda/recall.hpp"

namespace detgemm::cuda {
namespace {

Status refusal(const Question& q, const char* why) {
  Contract contract;
  contract.arithmetic = row_of(q.family).arithmetic;
  contract.reduction = q.reduction;
  contract.input = q.input;
  return forced_kernel_refuses(kernels(contract)[static_cast<std::size_t>(q.forced)].name, why);
}

/// What a launch returns where the context has no room for its cluster.
bool says_no_cluster(cudaError_t error) {
  return error == cudaErrorInvalidClusterSize || error == cudaErrorLaunchOutOfResources ||
         error == cudaErrorInvalidConfiguration;
}

}  // namespace

std::span<const KernelInfo> kernels(const Contract& contract) {
  for (const FamilyRow& row : families()) {
    if (row.kernels == nullptr || row.arithmetic != contract.arithmetic) continue;
    if (const auto list = row.kernels(contract); !list.empty()) return list;
  }
  return {};
}

bool takes(const KernelInfo& kernel, const GemmSpec& spec) {
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
  static thread_local Recall recall;
  const Question q = question_of(g, arithmetic, input, options);
  if (const Decision* known = recall.find(q)) return *known;
  const Choice choice = row_of(q.family).choose(q);
  if (choice.why_not != nullptr) return refusal(q, choice.why_not);
  recall.keep(q, choice.decision);
  return choice.decision;
}

std::string name(const Decision& d) {
  return d.family == Family::none ? "none (no outputs)" : row_of(d.family).name(d);
}

std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, int sms) {
  return needed_workspace(contract.arithmetic, contract.reduction, max_m, n, k, sms);
}

std::size_t fast_workspace_bytes(const GemmArguments& g, Arithmetic arithmetic, DType input,
                                 const LaunchOptions& options) {
  const std::size_t needed = needed_workspace(arithmetic, g.reduction, g.m, g.n, g.k, options.sms);
  LaunchOptions all = options;
  all.workspace_bytes = std::numeric_limits<std::size_t>::max();
  const auto decision = decide(g, arithmetic, input, all);
  if (!decision || decision->packed_bytes == 0) return needed;
  return aligned_workspace(needed) + decision->packed_bytes;
}

std::size_t fast_workspace_bound(const Contract& contract, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, int sms) {
  std::size_t packed = 0;
  for (const FamilyRow& row : families()) {
    if (row.arithmetic != contract.arithmetic || row.packed_bytes == nullptr) continue;
    packed = std::max(packed, row.packed_bytes(contract.reduction, max_m, n, k));
  }
  const std::size_t needed = workspace_bytes(contract, max_m, n, k, sms);
  return packed == 0 ? needed : aligned_workspace(needed) + packed;
}

cudaError_t prepare_kernels(Arithmetic arithmetic) {
  return prepare_in(current_context(), arithmetic);
}

cudaError_t enqueue(Decision& decision, const GemmArguments& g, const LaunchOptions& options,
                    void* workspace) {
  if (decision.family == Family::none) return cudaSuccess;
  const Call call{g, options, workspace};
  const FamilyRow& row = row_of(decision.family);
  const std::uint64_t context = current_context();
  if (const auto e = prepare_in(context, row.arithmetic); e != cudaSuccess) return e;
  const Kernel kernel = row.kernel(decision);
  if (kernel.cluster == 1) return row.launch(kernel, decision, call);
  if (holds_cluster(context, kernel, call.queue())) {
    const cudaError_t error = row.launch(kernel, decision, call);
    if (!says_no_cluster(error)) return error;
    cudaGetLastError();
    remember_no_cluster(context, kernel);
  }
  LaunchOptions alone = options;
  alone.clusters = false;
  const auto again = decide(g, row.arithmetic, decision.input, alone);
  if (!again) return cudaErrorInvalidClusterSize;  // a forced kernel
  decision = *again;
  const FamilyRow& other = row_of(decision.family);
  return other.launch(other.kernel(decision), decision, call);
}

}  // namespace detgemm::cuda
