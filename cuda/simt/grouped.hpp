// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"
#include "cuda/kernel.hpp"
#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// The tile of the kernel over groups: 32 x 32, which has room for the sums of the deepest trees.
inline constexpr int kGroupedTile = 5;
static_assert(kTiles[kGroupedTile].leaves && kTiles[kGroupedTile].rows() == 32,
              "Groups are computed in tiles of 32 x 32 that can end a leaf.");

/// Products per leaf, and whether D takes whole runs of four outputs, are found for each group. Its
/// argument is GroupedArguments; the launch says how much shared memory the sums need.
Kernel grouped_kernel(DType type);

}  // namespace detgemm::cuda::simt
