// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/kernel.hpp"
#include "cuda/sm90/fp8/tile.hpp"

namespace detgemm::cuda::sm90 {

/// The kernel of a geometry of kFp8Geometries; its function is null where there is none.
template <Join kJoin>
Kernel fp8_kernel_of(int geometry);

/// The kernel that computes one output per thread by the integer model of the reference: any arrays
/// and any leaves, slowly.
Kernel fp8_element_kernel();
/// The same over groups, whose offsets it reads. Its arguments are GroupedArguments, ScalePair and
/// CTAs per group; the grid is a multiple of these.
Kernel fp8_group_element_kernel();

}  // namespace detgemm::cuda::sm90
