// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/families.hpp"

#include <algorithm>

#include "core/arithmetic/step.hpp"
#include "cuda/host/snapped.hpp"
#include "cuda/mma/choose.hpp"
#include "cuda/simt/choose.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/gather.hpp"
#include "cuda/sm90/host/groups.hpp"
#include "cuda/sm90/host/launch.hpp"
#include "cuda/sm90/host/packing.hpp"
#ifdef DETGEMM_CUDA_FP8
#include "cuda/sm90/host/fp8.hpp"
#include "cuda/sm90/host/fp8_elements.hpp"
#include "cuda/sm90/host/fp8_groups.hpp"
#endif

namespace detgemm::cuda {
namespace {

// The columns are explained at FamilyRow.
constexpr FamilyRow kFamilies[] = {
    {Family::chain, KernelSet::hopper, false, sm90::chain_kernels, sm90::usual_question,
     sm90::why_not, sm90::choose, sm90::name, sm90::compiled, sm90::kernel_of, sm90::launch_chain,
     nullptr, sm90::packed_bound},
    {Family::realign, KernelSet::hopper, false, nullptr, nullptr, sm90::why_not, sm90::choose,
     sm90::name, sm90::compiled, sm90::kernel_of, sm90::launch_realign, nullptr, nullptr},
    {Family::leaves, KernelSet::hopper, false, sm90::leaf_kernels, sm90::usual_question,
     sm90::why_not, sm90::choose, sm90::name, sm90::compiled, sm90::kernel_of, sm90::launch_leaves,
     sm90::leaf_workspace, sm90::packed_bound},
    {Family::gather, KernelSet::hopper, false, nullptr, nullptr, sm90::why_not, sm90::choose,
     sm90::name, sm90::compiled, sm90::kernel_of, sm90::launch_gather, sm90::leaf_workspace,
     nullptr},
    {Family::simt, KernelSet::ieee_fma, false, simt::kernels, simt::usual_question, simt::why_not,
     simt::choose, simt::name, simt::compiled, simt::kernel_of, simt::launch, nullptr, nullptr},
    {Family::snap, KernelSet::snap, false, nullptr, nullptr, nullptr, nullptr, snap::name,
     snap::compiled, snap::kernel_of, nullptr, nullptr, nullptr},
    {Family::split, KernelSet::snap3, false, nullptr, nullptr, nullptr, nullptr, snap::split_name,
     snap::compiled_splits, snap::split_kernel_of, nullptr, nullptr, nullptr},
    {Family::groups, KernelSet::groups_of_hopper, true, sm90::group_kernels, nullptr, nullptr,
     sm90::choose_groups, sm90::name, sm90::compiled_groups, sm90::group_kernel_of,
     sm90::launch_groups, nullptr, nullptr},
    {Family::gather_groups, KernelSet::groups_of_mma, true, sm90::gather_kernels, nullptr, nullptr,
     sm90::choose_gather_groups, sm90::name, sm90::compiled, sm90::gather_kernel_of_groups,
     sm90::launch_gather_groups, nullptr, nullptr},
    {Family::simt_groups, KernelSet::groups_of_ieee_fma, true, simt::group_kernels, nullptr,
     nullptr, simt::choose_groups, simt::name, simt::compiled_groups, simt::group_kernel_of,
     simt::launch_groups, nullptr, nullptr},
    {Family::mma, KernelSet::mma, false, mma::kernels, mma::usual_question, mma::why_not,
     mma::choose, mma::name, mma::compiled, mma::kernel_of, mma::launch, mma::workspace_bytes,
     nullptr},
#ifdef DETGEMM_CUDA_FP8
    {Family::fp8, KernelSet::e4m3, false, sm90::fp8_kernels, nullptr, nullptr, sm90::choose_fp8,
     sm90::fp8_name, sm90::compiled_fp8, sm90::fp8_kernel, sm90::launch_fp8, nullptr, nullptr},
    {Family::elements, KernelSet::e4m3, false, sm90::element_kernels, nullptr, nullptr,
     sm90::choose_elements, sm90::element_name, sm90::compiled_elements, sm90::element_kernel,
     sm90::launch_elements, nullptr, nullptr},
    {Family::fp8_groups, KernelSet::e4m3, true, sm90::fp8_group_kernels, nullptr, nullptr,
     sm90::choose_fp8_groups, sm90::fp8_name, sm90::compiled_fp8, sm90::fp8_kernel,
     sm90::launch_fp8_groups, nullptr, nullptr},
    {Family::element_groups, KernelSet::e4m3, true, sm90::element_group_kernels, nullptr, nullptr,
     sm90::choose_element_groups, sm90::element_name, sm90::compiled_elements, sm90::element_kernel,
     sm90::launch_element_groups, nullptr, nullptr},
#endif
};

/// `row_of` finds a family's row by its value.
constexpr bool rows_are_in_order() {
  for (std::size_t at = 0; at < std::size(kFamilies); ++at) {
    if (static_cast<std::size_t>(kFamilies[at].family) != at + 1) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "rows stand in the order of Family");

}  // namespace

std::span<const FamilyRow> families() { return kFamilies; }

const FamilyRow& row_of(Family family) { return kFamilies[static_cast<std::size_t>(family) - 1]; }

bool has_row(Family family) {
  return family != Family::none && static_cast<std::size_t>(family) <= std::size(kFamilies);
}

bool has_e4m3() { return has_row(Family::fp8); }

Arithmetic multiplies(Arithmetic arithmetic, bool wgmma) {
  if (!arithmetic::is_snap(arithmetic)) return arithmetic;
  return wgmma ? Arithmetic::hopper : Arithmetic::ieee_fma;
}

KernelSet set_of(Arithmetic multiplies, DType input, bool grouped, bool wgmma) {
  if (input == DType::e4m3) return KernelSet::e4m3;
  if (multiplies == Arithmetic::hopper && wgmma && input != DType::tf32) {
    return grouped ? KernelSet::groups_of_hopper : KernelSet::hopper;
  }
  if (multiplies != Arithmetic::ieee_fma) {
    return grouped ? KernelSet::groups_of_mma : KernelSet::mma;
  }
  return grouped ? KernelSet::groups_of_ieee_fma : KernelSet::ieee_fma;
}

std::size_t needed_workspace(KernelSet set, const Reduction& reduction, std::int64_t m,
                             std::int64_t n, std::int64_t k, int sms) {
  std::size_t bytes = 0;
  for (const FamilyRow& row : families()) {
    if (row.set != set || row.workspace_bytes == nullptr) continue;
    bytes = std::max(bytes, row.workspace_bytes(reduction, m, n, k, sms));
  }
  return bytes;
}

Question question_of(const Problem& p, const LaunchOptions& options) {
  const GemmArguments& g = p.g();
  Question q;
  q.m = g.m;
  q.n = g.n;
  q.k = g.k;
  q.reduction = g.reduction;
  q.input = p.input;
  q.from_c = g.continue_from_c;
  q.reads_c = reads_c(g);
  q.activates = sm90::takes_chunks(g.epilogue.activation);
  q.clusters = options.clusters;
  q.sms = options.sms;
  q.forced = options.forced;
  if (p.is_grouped()) {
    const KernelInfo* const forced = forced_kernel(p, options);
    q.forced = forced == nullptr ? -1 : forced->index;
    q.problem = &p;
    return q;
  }
  if (p.arithmetic == Arithmetic::ieee_fma) {
    simt::ask(g, q);
    return q;
  }
#ifdef DETGEMM_CUDA_FP8
  if (p.input == DType::e4m3) {
    sm90::ask_fp8(p, q);
    return q;
  }
#endif
  const KernelInfo* const forced = forced_kernel(p, options);
  const bool by_mma = set_of(p.arithmetic, p.input, false, options.wgmma) == KernelSet::mma;
  if (by_mma || (forced != nullptr && forced->family == Family::mma)) {
    q.forced = forced == nullptr ? -1 : forced->index;
    mma::ask(g, q);
    return q;
  }
  sm90::ask(g, q);
  if (q.packing.any()) {
    const std::size_t needed = aligned_workspace(
        needed_workspace(KernelSet::hopper, g.reduction, g.m, g.n, g.k, options.sms));
    if (options.workspace_bytes < needed ||
        options.workspace_bytes - needed < sm90::packed_bytes(q)) {
      q.packing = {};
    }
  }
  return q;
}

}  // namespace detgemm::cuda
