// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/group_grid.hpp"
#include "cuda/simt/choose.hpp"
#include "cuda/simt/grouped.hpp"

// The host half of the kernel over groups: it has one tile.
namespace detgemm::cuda::simt {
namespace {

const Tile& tile() { return kTiles[kGroupedTile]; }

}  // namespace

std::span<const KernelInfo> group_kernels() {
  static const std::vector<KernelInfo> all{{name(tile()), Family::simt_groups, 0}};
  return all;
}

Choice choose_groups(const Question& q) {
  const GroupedArguments& p = q.problem->gemms;
  Choice choice;
  Decision& d = choice.decision;
  d.family = Family::simt_groups;
  d.input = q.input;
  d.kernel = kGroupedTile;
  d.levels = levels_needed(p.all.reduction, p.all.k);
  d.shared_bytes = ring_bytes(tile()) + d.levels * waiting_bytes(tile());
  d.grid = group_grid(p.kind, p.all.m, p.all.n, p.groups, tile().rows(), tile().ctas, q.sms);
  if (d.levels > levels_of(tile())) {
    choice.why_not =
        "shared memory does not hold the sums of a tree of so many leaves for groups; run a Plan "
        "for each group";
  }
  return choice;
}

std::vector<Decision> compiled_groups(Family family) {
  std::vector<Decision> all;
  for (const DType input : {DType::bf16, DType::fp16, DType::fp32}) {
    Decision d;
    d.family = family;
    d.input = input;
    all.push_back(d);
  }
  return all;
}

Kernel group_kernel_of(const Decision& d) { return grouped_kernel(d.input); }

cudaError_t launch_groups(const Kernel& kernel, const Decision& d, const Call& call) {
  Kernel with = kernel;  // as much shared memory as this problem needs
  with.shared_bytes = d.shared_bytes;
  GroupedArguments p = call.problem.gemms;
  void* arguments[] = {&p};
  return cuda::launch(with, d.grid, {call.options.stream, false}, arguments);
}

}  // namespace detgemm::cuda::simt
