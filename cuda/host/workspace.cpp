// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>

#include "core/arithmetic/step.hpp"
#include "cuda/families.hpp"
#include "cuda/host/copies.hpp"
#include "cuda/host/snapped.hpp"
#include "cuda/sm90/host/gather.hpp"

namespace detgemm::cuda {
namespace {

/// The kernels of a single product, of which one is forced perhaps.
KernelSet set_for(const Contract& contract, const LaunchOptions& options) {
  if (arithmetic::is_snap(contract.arithmetic)) {
    return set_of(snap::arithmetic_of(contract, options), contract.input, false, options.wgmma);
  }
  if (options.forced >= 0) {
    const KernelInfo& forced = kernels(contract)[static_cast<std::size_t>(options.forced)];
    if (forced.family == Family::mma) return KernelSet::mma;
  }
  return set_of(contract.arithmetic, contract.input, false, options.wgmma);
}

}  // namespace

std::size_t workspace_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                            std::int64_t k, const LaunchOptions& options) {
  const bool snaps = arithmetic::is_snap(contract.arithmetic);
  const snap::Copied over = snap::copied(contract.arithmetic, contract.reduction, k);
  const std::size_t copies = snaps ? snap::copies_bytes(max_m, n, over.k, options) : 0;
  return copies + needed_workspace(set_for(contract, options), over.reduction, max_m, n, over.k,
                                   options.sms);
}

std::size_t workspace_bytes(const GroupedSpec& spec, std::int64_t max_m, std::int64_t max_k,
                            const LaunchOptions& options) {
  const GemmSpec& one = spec.gemm;
  const Contract& contract = one.contract;
  if (max_m == 0 || one.n == 0) return 0;
  std::size_t bytes = 0;
  if (spec.kind == GroupKind::batched && spec.groups <= kMaxLoop) {
    LaunchOptions alone = options;
    alone.forced = -1;
    bytes = workspace_bytes(contract, max_m, one.n, one.k, alone);
  }
  const Arithmetic by = multiplies(contract.arithmetic, options.wgmma);
  const KernelSet set = set_of(by, contract.input, true, options.wgmma);
  const bool hopper = set == KernelSet::groups_of_hopper;
  if (!hopper && set != KernelSet::groups_of_mma) return bytes;
  const std::int64_t k = spec.kind == GroupKind::k_grouped ? max_k : one.k;
  if (hopper && contract.reduction.kind == ReductionKind::chain) {
    bytes = std::max(bytes, copies_bound(spec, max_m));
  }
  return std::max(bytes, sm90::gather_workspace(spec, max_m, k, options.sms));
}

std::size_t fast_workspace_bytes(const Problem& p, const LaunchOptions& options) {
  const GemmArguments& g = p.g();
  const std::size_t needed = workspace_bytes(p.contract(), g.m, g.n, g.k, options);
  LaunchOptions all = options;
  all.workspace_bytes = std::numeric_limits<std::size_t>::max();
  // Few arrays need copies, and whether these do is seen without a decision.
  const bool snaps = arithmetic::is_snap(p.arithmetic);
  if (!snaps && !question_of(p, all).packing.any()) return needed;
  const auto decision = decide(p, all);
  if (!decision) return needed;
  const Step* const pack = decision->steps.find(Step::pack);
  return pack == nullptr ? needed : aligned_workspace(needed) + pack->bytes;
}

std::size_t fast_workspace_bound(const Contract& contract, std::int64_t max_m, std::int64_t n,
                                 std::int64_t k, const LaunchOptions& options) {
  const bool snaps = arithmetic::is_snap(contract.arithmetic);
  const KernelSet set = set_for(contract, options);
  std::size_t packed = 0;
  for (const FamilyRow& row : families()) {
    if (row.set != set || row.packed_bytes == nullptr) continue;
    packed = std::max(packed, row.packed_bytes(contract.reduction, max_m, n, k));
  }
  // Copies of snap are laid out as every kernel requires: only operands that are not copied are
  // packed.
  if (snaps && !options.a_is_snapped && !options.b_is_snapped) packed = 0;
  const std::size_t needed = workspace_bytes(contract, max_m, n, k, options);
  return packed == 0 ? needed : aligned_workspace(needed) + packed;
}

}  // namespace detgemm::cuda
