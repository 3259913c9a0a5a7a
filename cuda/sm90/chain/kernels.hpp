// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/kernel.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// The kernel of a geometry for one input type and one pair of majors; the function is null where
/// it was not compiled. Each is instantiated in a source file of its own, so that they compile side
/// by side.
template <DType T, bool kXMn, bool kYMn>
Kernel plain_kernel(int geometry);

}  // namespace detgemm::cuda::sm90
