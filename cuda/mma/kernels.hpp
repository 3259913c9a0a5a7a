// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/types.hpp"

namespace detgemm::cuda::mma {

/// The kernel of a tile, an index into kTiles, for chains or for leaves; null where there is none.
/// Its argument is Params. Chains and leaves of each type are source files of their own.
template <DType T, bool kLeaves>
const void* kernel_of_type(int tile);

}  // namespace detgemm::cuda::mma
