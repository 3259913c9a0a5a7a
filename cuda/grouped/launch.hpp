// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"
#include "cuda/grouped/copies.hpp"
#include "cuda/launch.hpp"

/// The entry to the CUDA kernels for many products in one call, beside cuda/launch.hpp.
///
///     arguments, options -> decide_groups -> GroupedDecision -> enqueue_groups -> launches
///
///   way      what runs                                             takes
///   tiles    sm90/grouped: one launch, TMA and wgmma; one more      chains of hopper
///            that copies what of a batch lies at odd addresses
///   loop     a launch per group, by the kernels of single products  batched, up to kMaxLoop groups
///   gather   one launch of ordinary loads and mma.sync              all of hopper; of a batch that
///                                                                   both take, if it is faster
///   simt     one launch on CUDA cores                               all of ieee_fma
///
/// Offsets are read on the device alone. Snapped operands are multiplied as those of hopper, or of
/// ieee_fma where there are no such tensor cores.
namespace detgemm::cuda {

enum class GroupWay : std::uint8_t { none, tiles, loop, gather, simt };

/// The most groups that a loop launches.
inline constexpr std::int64_t kMaxLoop = 1024;

/// A kernel over groups that can be forced by its name.
struct GroupKernel {
  std::string name;
  GroupWay way = GroupWay::none;
  int geometry = -1;  ///< of tiles
};

/// The kernels that can be forced for a problem. Each takes some arrays of it; `loop`, `gather` and
/// `simt` take all of them.
std::vector<GroupKernel> group_kernels(const GroupedSpec& spec, bool wgmma);

/// What runs, a plain value without addresses.
struct GroupedDecision {
  GroupWay way = GroupWay::none;
  Decision one;             ///< tiles: the kernel; loop: that of the first group
  GroupCopies copies;       ///< tiles: what is copied first
  std::int64_t groups = 0;  ///< loop: launches
  bool leaves = false;      ///< gather: fold or tree
  int levels = 0;           ///< gather, simt: sums that may wait
  int grid = 0;             ///< gather, simt
};

/// What computes these groups fastest, or the forced kernel (null: none). `unsupported`, with a
/// sentence, if and only if the forced one does not take the arrays. A pure function of all but the
/// elements and the offsets, which are not read.
Result<GroupedDecision> decide_groups(const GroupedArguments& p, Arithmetic arithmetic, DType input,
                                      const LaunchOptions& options, const GroupKernel* forced);

/// For example "sm90/128x256/grouped" or "loop of 8: sm90/128x192".
std::string name(const GroupedDecision& decision);

/// Bytes of workspace for D with up to max_m rows and up to max_k products of k_grouped, whatever
/// is decided. It grows with both.
std::size_t grouped_workspace_bytes(const GroupedSpec& spec, std::int64_t max_m, std::int64_t max_k,
                                    const LaunchOptions& options);

/// As prepare_kernels, for the kernels over groups.
cudaError_t prepare_group_kernels(Arithmetic arithmetic, bool wgmma);

/// Enqueues the computation of all groups; waits for nothing, and is capturable. Preconditions:
/// the decision was made for these arguments and options, and the workspace is as large as
/// grouped_workspace_bytes says or, where that is more, as the options say.
cudaError_t enqueue_groups(GroupedDecision& decision, const GroupedArguments& p,
                           Arithmetic arithmetic, DType input, const LaunchOptions& options,
                           void* workspace);

}  // namespace detgemm::cuda
