// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "core/contract/group_arguments.hpp"
#include "cuda/fp8/launch.hpp"

/// Many products of hopper/e4m3 in one call, beside cuda/fp8/launch.hpp.
///
///   way       what runs                                       takes
///   loop      a launch per group, by the kernels of one       batched, up to kMaxFp8Loop groups
///             product: tiles where they take it
///   elements  one launch, an output per thread and turn, by   everything
///             the integer model: correct and slow
///
/// Offsets are read on the device alone.
namespace detgemm::cuda {

/// The most groups that a loop launches.
inline constexpr std::int64_t kMaxFp8Loop = 1024;

enum class Fp8GroupWay : std::uint8_t { none, loop, elements };

/// The products: the arguments, and the scales of group 0, from which distances lead to others'.
struct Fp8Groups {
  GroupedArguments p;
  ScalePair scales;
};

/// What runs, a plain value without addresses.
struct Fp8GroupDecision {
  Fp8GroupWay way = Fp8GroupWay::none;
  Fp8Decision one;           ///< loop: that of the first group
  std::int64_t groups = 0;   ///< loop: launches
  int across = 0, down = 0;  ///< elements: CTAs per group, and groups at a time
};

/// The names of the kernels that can be forced; "elements" takes everything.
std::vector<std::string> fp8_group_kernels(const GroupedSpec& spec);

/// The fastest way, or the forced one (a name of fp8_group_kernels; empty: none). A pure function
/// of all but the elements and the offsets, which are not read.
Result<Fp8GroupDecision> decide_fp8_groups(const Fp8Groups& all, const LaunchOptions& options,
                                           const std::string& forced);

/// For example "loop of 8: sm90/fp8/128x128" or "fp8/elements/grouped".
std::string name(const Fp8GroupDecision& decision);

/// Enqueues what was decided for the same arguments and options. It needs no workspace, waits for
/// nothing and is capturable.
cudaError_t enqueue_fp8_groups(const Fp8GroupDecision& decision, const Fp8Groups& all,
                               const LaunchOptions& options);

}  // namespace detgemm::cuda
