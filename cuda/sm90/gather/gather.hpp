// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "cuda/sm90/chain/kernels.hpp"

namespace detgemm::cuda::sm90 {

/// Rows and columns of D that a CTA of the gather kernels computes.
inline constexpr int kGatherTile = 128;
inline constexpr int kGatherCtasPerSm = 2;

/// Where the sums of a tree wait: `levels` slots of kGatherSlotBytes for each CTA.
struct GatherLeaves {
  float4* waiting = nullptr;
  int levels = 0;
};
inline constexpr std::size_t kGatherSlotBytes = 4 * kGatherTile * kGatherTile;

/// The kernel of Family::gather, for chains or for leaves. Its arguments are GemmArguments and
/// GatherLeaves.
Kernel gather_kernel(DType type, bool leaves);

/// The same over groups. Its arguments are GroupedArguments and GatherLeaves.
Kernel grouped_gather_kernel(DType type, bool leaves);

}  // namespace detgemm::cuda::sm90
