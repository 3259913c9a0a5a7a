// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>

#include "cuda/kernel.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// Tiles of tokens by columns of the vocabulary. A tile's columns are one node, so there is a power
/// of two of them, and tiles begin at multiples of it. 192 tokens are one tile, since a second one
/// would load the weights again. 256 x 128 and 64 x 256 never won (docs/log/log-prob.md).
inline constexpr std::array kLogGeometries = {geometry::tile(2, 1, 256), geometry::tile(2, 1, 128),
                                              geometry::tile(1, 1, 128), geometry::tile(3, 1, 128)};
inline constexpr int kLogSmallest = 2;  ///< the geometry of 64 tokens by 128 columns

/// The kernel of a geometry for K-major operands. Heads are bf16, so there is none of fp16.
template <DType T>
Kernel log_kernel_of(int geometry);

}  // namespace detgemm::cuda::sm90
