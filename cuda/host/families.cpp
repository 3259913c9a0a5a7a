// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/families.hpp"

#include <algorithm>

#include "cuda/host/snapped.hpp"
#include "cuda/simt/choose.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/launch.hpp"
#include "cuda/sm90/host/packing.hpp"

namespace detgemm::cuda {
namespace {

// The columns are explained at FamilyRow.
constexpr FamilyRow kFamilies[] = {
    {Family::chain, Arithmetic::hopper, sm90::chain_kernels, sm90::usual_question, sm90::why_not,
     sm90::choose, sm90::name, sm90::compiled, sm90::kernel_of, sm90::launch_chain, nullptr,
     sm90::packed_bound},
    {Family::realign, Arithmetic::hopper, nullptr, nullptr, sm90::why_not, sm90::choose, sm90::name,
     sm90::compiled, sm90::kernel_of, sm90::launch_realign, nullptr, nullptr},
    {Family::leaves, Arithmetic::hopper, sm90::leaf_kernels, sm90::usual_question, sm90::why_not,
     sm90::choose, sm90::name, sm90::compiled, sm90::kernel_of, sm90::launch_leaves,
     sm90::leaf_workspace, sm90::packed_bound},
    {Family::gather, Arithmetic::hopper, nullptr, nullptr, sm90::why_not, sm90::choose, sm90::name,
     sm90::compiled, sm90::kernel_of, sm90::launch_gather, sm90::leaf_workspace, nullptr},
    {Family::simt, Arithmetic::ieee_fma, simt::kernels, simt::usual_question, simt::why_not,
     simt::choose, simt::name, simt::compiled, simt::kernel_of, simt::launch, nullptr, nullptr},
    {Family::snap, Arithmetic::snap, nullptr, nullptr, nullptr, nullptr, snap::name, snap::compiled,
     snap::kernel_of, nullptr, nullptr, nullptr},
    {Family::split, Arithmetic::snap3, nullptr, nullptr, nullptr, nullptr, snap::split_name,
     snap::compiled_splits, snap::split_kernel_of, nullptr, nullptr, nullptr},
};

}  // namespace

std::span<const FamilyRow> families() { return kFamilies; }

const FamilyRow& row_of(Family family) { return kFamilies[static_cast<std::size_t>(family) - 1]; }

std::size_t needed_workspace(Arithmetic arithmetic, const Reduction& reduction, std::int64_t m,
                             std::int64_t n, std::int64_t k, int sms) {
  std::size_t bytes = 0;
  for (const FamilyRow& row : families()) {
    if (row.arithmetic != arithmetic || row.workspace_bytes == nullptr) continue;
    bytes = std::max(bytes, row.workspace_bytes(reduction, m, n, k, sms));
  }
  return bytes;
}

Question question_of(const GemmArguments& g, Arithmetic arithmetic, DType input,
                     const LaunchOptions& options) {
  Question q;
  q.m = g.m;
  q.n = g.n;
  q.k = g.k;
  q.reduction = g.reduction;
  q.input = input;
  q.from_c = g.continue_from_c;
  q.clusters = options.clusters;
  q.sms = options.sms;
  q.forced = options.forced;
  if (arithmetic == Arithmetic::ieee_fma) {
    simt::ask(g, q);
    return q;
  }
  sm90::ask(g, q);
  if (q.packing.any()) {
    const std::size_t needed =
        aligned_workspace(needed_workspace(arithmetic, g.reduction, g.m, g.n, g.k, options.sms));
    if (options.workspace_bytes < needed ||
        options.workspace_bytes - needed < sm90::packed_bytes(q)) {
      q.packing = {};
    }
  }
  return q;
}

}  // namespace detgemm::cuda
