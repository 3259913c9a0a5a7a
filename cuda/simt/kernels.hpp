// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// The large kernels of fp32 for one pair of ways, by tile; null from kLargeTiles on. Each pair is
/// instantiated in a source file of its own, so that they compile side by side.
template <bool kAlongA, bool kAlongB>
const void* large_kernel(int tile);

/// The kernels of fp32 in tiles of lines, by tile, as far as its index leaves the remainder kPart;
/// else null. Each part is a source file.
inline constexpr int kLineParts = 3;
template <int kPart>
const void* line_kernel(int tile);

/// The other kernels of a type that take any ways, by tile; null where none was compiled.
template <DType T>
const void* kernel_of_type(int tile);

}  // namespace detgemm::cuda::simt
