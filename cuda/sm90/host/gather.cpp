// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/sm90/host/gather.hpp"

#include "cuda/group_grid.hpp"
#include "cuda/sm90/gather/gather.hpp"
#include "cuda/sm90/host/choose.hpp"
#include "cuda/sm90/leaves/shape.hpp"

namespace detgemm::cuda::sm90 {
namespace {

/// Sums of leaves that wait in the workspace, per CTA.
int waiting_levels(const Reduction& r, std::int64_t k) {
  if (r.kind != ReductionKind::tree || k <= 0) return 0;
  return waiting_sums(leaves_of(r, k));
}

int grid_of(GroupKind kind, std::int64_t m, std::int64_t n, std::int64_t groups, int sms) {
  return group_grid(kind, m, n, groups, kGatherTile, kGatherCtasPerSm, sms);
}

/// Microseconds of a batch in one launch. 24 products of 1000 x 128 x 777 took 376 us, where the
/// model of single ones says 153 (bench/results/2026-11-23-h200-batched.md).
double predicted_batch_time(const GroupedArguments& p, int sms) {
  const std::int64_t down = ceil_div(p.all.m, kGatherTile);
  const std::int64_t across = ceil_div(p.all.n, kGatherTile);
  const double tiles = static_cast<double>(p.groups) * static_cast<double>(down) * across;
  constexpr double kMeasured = 2.46;
  return kMeasured * predicted_gather_time(tiles, p.all.k, sms);
}

}  // namespace

cudaError_t launch_gather(const Kernel& kernel, const Decision& d, const Call& call) {
  GemmArguments g = call.g();
  GatherLeaves leaves;
  if (d.leaves) {
    leaves = {static_cast<float4*>(call.workspace), waiting_levels(g.reduction, g.k)};
  }
  void* arguments[] = {&g, &leaves};
  return launch(kernel, d.grid, call.queue(), arguments);
}

std::span<const KernelInfo> gather_kernels() {
  static const std::vector<KernelInfo> all{{"gather", Family::gather_groups, 0}};
  return all;
}

Choice choose_gather_groups(const Question& q) {
  const GroupedArguments& p = q.problem->gemms;
  Decision d;
  d.family = Family::gather_groups;
  d.input = q.input;
  d.leaves = p.all.reduction.kind != ReductionKind::chain;
  d.levels = waiting_levels(p.all.reduction, p.all.k);
  d.grid = grid_of(p.kind, p.all.m, p.all.n, p.groups, q.sms);
  return {d, nullptr, predicted_batch_time(p, q.sms)};
}

Kernel gather_kernel_of_groups(const Decision& d) {
  return grouped_gather_kernel(d.input, d.leaves);
}

cudaError_t launch_gather_groups(const Kernel& kernel, const Decision& d, const Call& call) {
  GroupedArguments arguments = call.problem.gemms;
  GatherLeaves leaves{static_cast<float4*>(call.workspace), d.levels};
  void* parameters[] = {&arguments, &leaves};
  return launch(kernel, d.grid, call.portable_queue(), parameters);
}

std::size_t gather_workspace(const GroupedSpec& spec, std::int64_t max_m, std::int64_t k, int sms) {
  const GemmSpec& one = spec.gemm;
  const int grid = grid_of(spec.kind, max_m, one.n, spec.groups, sms);
  const int levels = waiting_levels(one.contract.reduction, k);
  return static_cast<std::size_t>(grid) * static_cast<std::size_t>(levels) * kGatherSlotBytes;
}

}  // namespace detgemm::cuda::sm90
