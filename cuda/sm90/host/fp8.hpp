// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/fp8/launch.hpp"
#include "cuda/kernel.hpp"

/// The host half of the wgmma kernels of e4m3.
namespace detgemm::cuda::sm90 {

/// The rule by which the tiles do not take a problem, or null.
const char* why_not_fp8_tiles(const Fp8Arguments& p);

/// The rule by which one geometry does not take a problem that the tiles take, or null.
const char* why_not_fp8_geometry(const Fp8Arguments& p, const Geometry& t);

/// The rule by which a kernel does not run here, whatever the problem, or null.
const char* why_not_fp8_cluster(const Geometry& t, const LaunchOptions& options);

/// The cheapest geometry and roles, or the best roles of the forced geometry. Precondition: tiles
/// take the problem.
Fp8Decision choose_fp8(const Fp8Arguments& p, const LaunchOptions& options);

Kernel fp8_kernel(Join join, int geometry);

cudaError_t launch_fp8(const Fp8Decision& d, const Fp8Arguments& p, const LaunchOptions& options);

}  // namespace detgemm::cuda::sm90
