// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "core/arithmetic/step.hpp"
#include "cuda/host/context.hpp"
#include "cuda/host/copies.hpp"
#include "cuda/host/snapped.hpp"
#include "cuda/sm90/host/packing.hpp"

namespace detgemm::cuda {
namespace {

bool snaps(const Step& step) { return step.kind == Step::snap || step.kind == Step::split; }

KernelSet set_of(const Step& step) {
  return step.kind == Step::split ? KernelSet::snap3 : KernelSet::snap;
}

/// Launches a step, and moves the call to what it writes.
cudaError_t take(const Step& step, const Decision& d, Call& call) {
  if (snaps(step)) {
    const snap::SnappedCall snapped(call.problem, call.options, call.workspace);
    // Kernels of CUDA cores are launched when all before them has ended.
    const cudaError_t error = snapped.snap(row_of(d.family).set == KernelSet::hopper);
    call = snapped.call();
    return error;
  }
  if (step.kind == Step::pack) return sm90::pack_operands(step, d, call);
  return copy_groups(call);
}

/// Prepares the decision's kernels and, unless the context has no room for its cluster, launches
/// it.
cudaError_t launch(Decision& d, Call& call) {
  const std::uint64_t context = current_context();
  const FamilyRow& row = row_of(d.family);
  if (const auto e = prepare_in(context, row.set); e != cudaSuccess) return e;
  for (const Step& step : d.steps) {
    if (!snaps(step)) continue;
    if (const auto e = prepare_in(context, set_of(step)); e != cudaSuccess) return e;
  }
  const Kernel kernel = row.kernel(d);
  if (kernel.cluster > 1) {
    const int held = clusters_held(context, kernel, call.queue());
    if (held == 0) return cudaErrorInvalidClusterSize;
    // The chooser counts multiprocessors, of which clusters of more than two leave some free. A
    // cluster that had to wait for another one's end would take its first tile when the others have
    // done all of theirs.
    if (d.family == Family::chain && kernel.cluster > 2) {
      d.grid = kernel.cluster * std::min(held, d.grid / kernel.cluster);
    }
  }
  for (const Step& step : d.steps) {
    if (const auto e = take(step, d, call); e != cudaSuccess) return e;
  }
  call.context = context;
  const cudaError_t error = row.launch(kernel, d, call);
  if (kernel.cluster == 1 || !says_no_cluster(error)) return error;
  cudaGetLastError();
  remember_no_cluster(context, kernel);
  return cudaErrorInvalidClusterSize;
}

cudaError_t enqueue_one(Decision& d, const Problem& p, const LaunchOptions& options,
                        void* workspace) {
  Call call{p, options, workspace};
  const cudaError_t error = launch(d, call);
  if (error != cudaErrorInvalidClusterSize || !options.clusters) return error;
  LaunchOptions alone = options;
  alone.clusters = false;
  const auto again = decide(p, alone);
  if (!again) return error;  // a forced kernel
  d = *again;
  call = {p, alone, workspace};
  return launch(d, call);
}

}  // namespace

cudaError_t enqueue(Decision& decision, const Problem& p, const LaunchOptions& options,
                    void* workspace) {
  if (decision.family == Family::none) return cudaSuccess;
  if (decision.loop == 0) return enqueue_one(decision, p, options, workspace);
  LaunchOptions alone = options;
  alone.forced = -1;
  for (std::int64_t group = 0; group < decision.loop; ++group) {
    const Problem one = p.group(group);
    auto d = decide(one, alone);           // an address may be less aligned
    if (!d) return cudaErrorInvalidValue;  // nothing is forced, so some kernel takes it
    if (const auto e = enqueue_one(*d, one, alone, workspace); e != cudaSuccess) return e;
    if (group == 0) {
      d->loop = decision.loop;
      decision = *d;
    }
  }
  return cudaSuccess;
}

cudaError_t prepare_kernels(const Contract& contract, bool wgmma, bool mma) {
  const std::uint64_t context = current_context();
  LaunchOptions options;
  options.wgmma = wgmma;
  options.mma = mma;
  const Arithmetic by = snap::arithmetic_of(contract, options);
  if (arithmetic::is_snap(contract.arithmetic)) {
    const bool splits = contract.arithmetic == Arithmetic::snap3;
    const auto e = prepare_in(context, splits ? KernelSet::snap3 : KernelSet::snap);
    if (e != cudaSuccess) return e;
  }
  return prepare_in(context, set_of(by, contract.input, false, wgmma));
}

cudaError_t prepare_kernels(const GroupedSpec& spec, bool wgmma) {
  const Contract& contract = spec.gemm.contract;
  const Arithmetic by = multiplies(contract.arithmetic, wgmma);
  const auto e = prepare_in(current_context(), set_of(by, contract.input, true, wgmma));
  if (e != cudaSuccess || spec.kind != GroupKind::batched) return e;
  return prepare_kernels(contract, wgmma);
}

cudaError_t snap_operand(const void* from, Strides from_strides, void* to, Strides to_strides,
                         std::int64_t vectors, std::int64_t k, std::int64_t leaf_k,
                         const LaunchOptions& options) {
  if (const auto e = prepare_in(current_context(), KernelSet::snap); e != cudaSuccess) return e;
  const snap::Operand operand = snap::operand(from, from_strides.row, from_strides.col, to,
                                              to_strides.row, to_strides.col, vectors, k, leaf_k);
  return snap::enqueue(operand, options.sms, {options.stream, options.overlap});
}

}  // namespace detgemm::cuda
