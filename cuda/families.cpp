// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/families.hpp"

#include "cuda/simt/choose.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/launch.hpp"

namespace detgemm::cuda {
namespace {

// The columns are explained at FamilyRow.
constexpr FamilyRow kFamilies[] = {
    {Family::chain, Arithmetic::hopper, sm90::chain_kernels, sm90::usual_question, sm90::why_not,
     sm90::choose, sm90::name, sm90::compiled, sm90::kernel_of, sm90::launch_chain, nullptr},
    {Family::realign, Arithmetic::hopper, nullptr, nullptr, sm90::why_not, sm90::choose, sm90::name,
     sm90::compiled, sm90::kernel_of, sm90::launch_realign, nullptr},
    {Family::leaves, Arithmetic::hopper, sm90::leaf_kernels, sm90::usual_question, sm90::why_not,
     sm90::choose, sm90::name, sm90::compiled, sm90::kernel_of, sm90::launch_leaves,
     sm90::leaf_workspace},
    {Family::gather, Arithmetic::hopper, nullptr, nullptr, sm90::why_not, sm90::choose, sm90::name,
     sm90::compiled, sm90::kernel_of, sm90::launch_gather, sm90::leaf_workspace},
    {Family::simt, Arithmetic::ieee_fma, simt::kernels, simt::usual_question, simt::why_not,
     simt::choose, simt::name, simt::compiled, simt::kernel_of, simt::launch, nullptr},
};

}  // namespace

std::span<const FamilyRow> families() { return kFamilies; }

const FamilyRow& row_of(Family family) { return kFamilies[static_cast<std::size_t>(family) - 1]; }

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
  arithmetic == Arithmetic::ieee_fma ? simt::ask(g, q) : sm90::ask(g, q);
  return q;
}

}  // namespace detgemm::cuda
