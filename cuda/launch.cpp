// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/launch.hpp"

#include <algorithm>

#include "core/contract/forced_kernel.hpp"
#include "cuda/context.hpp"
#include "cuda/families.hpp"
#include "cuda/recall.hpp"
#include "cuda/simt/choose.hpp"
#include "cuda/sm90/host/paths.hpp"

namespace detgemm::cuda {
namespace {

const FamilyRow* row_for(const Question& q) {
  const auto rows = families();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const FamilyRow& r) { return r.answers(q); });
  return row == rows.end() ? nullptr : &*row;
}

Status refusal(const Question& q, const char* why) {
  Contract contract;
  contract.arithmetic = q.arithmetic;
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
  const bool sixteen = contract.input == DType::bf16 || contract.input == DType::fp16;
  const bool fma = contract.arithmetic == Arithmetic::ieee_fma;
  if (!sixteen && !(fma && contract.input == DType::fp32)) return {};
  Question q;
  q.arithmetic = contract.arithmetic;
  q.reduction = contract.reduction;
  const FamilyRow* const row = row_for(q);
  return row == nullptr ? std::span<const KernelInfo>() : row->kernels();
}

bool takes(const KernelInfo& kernel, const GemmSpec& spec) {
  if (spec.n == 0) return false;
  // As usual, or where the kernel is made for few rows, which only fold and tree's lists have.
  for (const std::int64_t m : {64, 8}) {
    Question q = spec.contract.arithmetic == Arithmetic::ieee_fma ? simt::usual_question(spec)
                                                                  : sm90::usual_question(spec, m);
    q.forced = kernel.index;
    const FamilyRow* const row = row_for(q);
    if (row != nullptr && row->why_not(q) == nullptr) return true;
    if (!q.leaves()) return false;
  }
  return false;
}

Result<Decision> decide(const GemmArguments& g, Arithmetic arithmetic, DType input,
                        const LaunchOptions& options) {
  if (g.m == 0 || g.n == 0) return Decision{};
  static thread_local Recall recall;
  const Question q = question_of(g, arithmetic, input, options);
  if (const Decision* known = recall.find(q)) return *known;
  const Choice choice = row_for(q)->choose(q);
  if (choice.why_not != nullptr) return refusal(q, choice.why_not);
  recall.keep(q, choice.decision);
  return choice.decision;
}

std::string name(const Decision& decision) {
  return decision.family == Family::none ? "none (no outputs)"
                                         : row_of(decision.family).name(decision);
}

std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, int sms) {
  std::size_t bytes = 0;
  for (const FamilyRow& row : families()) {
    if (row.arithmetic != contract.arithmetic || row.workspace_bytes == nullptr) continue;
    bytes = std::max(bytes, row.workspace_bytes(contract.reduction, max_m, n, k, sms));
  }
  return bytes;
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
  if (options.forced >= 0) return cudaErrorInvalidClusterSize;
  LaunchOptions alone = options;
  alone.clusters = false;
  const auto again = decide(g, row.arithmetic, decision.input, alone);
  if (!again) return cudaErrorInvalidClusterSize;
  decision = *again;
  const FamilyRow& other = row_of(decision.family);
  return other.launch(other.kernel(decision), decision, call);
}

}  // namespace detgemm::cuda
