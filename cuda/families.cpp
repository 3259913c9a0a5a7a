// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/families.hpp"

#include "cuda/simt/choose.hpp"
#include "cuda/simt/launch.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/host/launch.hpp"

namespace detgemm::cuda {
namespace {

bool on_tensor_cores(const Question& q, bool leaves) {
  return q.arithmetic == Arithmetic::hopper && q.leaves() == leaves;
}

// What a row consists of is said at FamilyRow. The first row that answers a Question is asked, and
// Family's values count the rows from 1.
constexpr FamilyRow kFamilies[] = {
    {.family = Family::chain,
     .arithmetic = Arithmetic::hopper,
     .answers =
         [](const Question& q) {
           return on_tensor_cores(q, false) &&
                  (q.path == sm90::Path::plain || q.path == sm90::Path::general);
         },
     .kernels = sm90::chain_kernels,
     .why_not = sm90::why_not,
     .choose = sm90::choose,
     .name = sm90::name,
     .compiled = [] { return sm90::compiled(Family::chain); },
     .kernel = sm90::kernel_of,
     .launch = sm90::launch_chain},
    {.family = Family::realign,
     .arithmetic = Arithmetic::hopper,
     .answers =
         [](const Question& q) {
           return on_tensor_cores(q, false) && q.path == sm90::Path::realign;
         },
     .kernels = sm90::chain_kernels,
     .why_not = sm90::why_not,
     .choose = sm90::choose,
     .name = sm90::name,
     .compiled = [] { return sm90::compiled(Family::realign); },
     .kernel = sm90::kernel_of,
     .launch = sm90::launch_realign},
    {.family = Family::leaves,
     .arithmetic = Arithmetic::hopper,
     .answers =
         [](const Question& q) { return on_tensor_cores(q, true) && q.path != sm90::Path::gather; },
     .kernels = sm90::leaf_kernels,
     .why_not = sm90::why_not,
     .choose = sm90::choose,
     .name = sm90::name,
     .compiled = [] { return sm90::compiled(Family::leaves); },
     .kernel = sm90::kernel_of,
     .launch = sm90::launch_leaves,
     .workspace_bytes = sm90::leaf_workspace},
    {.family = Family::gather,
     .arithmetic = Arithmetic::hopper,
     .answers =
         [](const Question& q) {
           return q.arithmetic == Arithmetic::hopper && q.path == sm90::Path::gather;
         },
     .kernels = nullptr,
     .why_not = sm90::why_not_gather,
     .choose = sm90::choose_gather,
     .name = sm90::name,
     .compiled = [] { return std::vector<Decision>(); },  // its shared memory needs no limit raised
     .kernel = sm90::gather_kernel_of,
     .launch = sm90::launch_gather,
     .workspace_bytes = sm90::leaf_workspace},
    {.family = Family::simt,
     .arithmetic = Arithmetic::ieee_fma,
     .answers = [](const Question& q) { return q.arithmetic == Arithmetic::ieee_fma; },
     .kernels = simt::kernels,
     .why_not = simt::why_not,
     .choose = simt::choose,
     .name = simt::name,
     .compiled = simt::compiled,
     .kernel = simt::kernel_of,
     .launch = simt::launch},
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
  q.arithmetic = arithmetic;
  q.input = input;
  q.from_c = g.continue_from_c;
  q.clusters = options.clusters;
  q.sms = options.sms;
  q.forced = options.forced;
  if (arithmetic == Arithmetic::ieee_fma) {
    simt::ask(g, q);
  } else {
    sm90::ask(g, q);
  }
  return q;
}

}  // namespace detgemm::cuda
