// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/mma/tile.hpp"
#include "detgemm/types.hpp"

namespace detgemm::cuda::mma {

/// Whether a tile has the kernel.
constexpr bool has_kernel(const Tile& t, DType input, bool leaves, bool along) {
  return (!leaves || t.leaves) && (along || t.general) && (input != DType::tf32 || t.general);
}

/// The kernel of a tile, an index into kTiles, for chains or for leaves, and for operands of which
/// both are Way::along or for all; null where there is none. Its argument is Params. Each template
/// argument is a source file of its own.
template <DType T, bool kLeaves, bool kAlong>
const void* kernel_of_type(int tile);

}  // namespace detgemm::cuda::mma
