// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "cuda/sm90/chain/kernels.hpp"

namespace detgemm::cuda::sm90 {

/// Where a tree's sums wait: `levels` slots of kGatherSlotBytes per CTA.
struct GatherLeaves {
  float4* waiting = nullptr;
  int levels = 0;
};
inline constexpr std::size_t kGatherSlotBytes = 128 * 128 * 4;  ///< a tile of fp32

/// The kernel of Path::gather, for chains or for leaves, and the number of its CTAs for a problem.
/// Its arguments are GemmArguments and GatherLeaves.
Kernel gather_kernel(DType type, bool leaves);
int gather_grid(const GemmArguments& g, int sms);

}  // namespace detgemm::cuda::sm90
