// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/kernel.hpp"
#include "cuda/sm90/grouped/tile.hpp"

namespace detgemm::cuda::sm90 {

/// The kernel of a geometry of kGroupedGeometries for one input type and one pair of majors; the
/// function is null where it was not compiled.
template <DType T, bool kXMn, bool kYMn>
Kernel grouped_kernel_of(int geometry);

}  // namespace detgemm::cuda::sm90
