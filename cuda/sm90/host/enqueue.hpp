// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/launch.hpp"
#include "cuda/sm90/chain/kernels.hpp"
#include "cuda/sm90/tile/problem.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// Launches a kernel, in clusters of kernel.cluster.
cudaError_t enqueue(const Kernel& kernel, int grid, const LaunchOptions& options, void** arguments);

/// What every tiled kernel is told of its problem.
LaunchShape shape_of(const GemmArguments& g, const Problem& p, const Raster& raster);

}  // namespace detgemm::cuda::sm90
