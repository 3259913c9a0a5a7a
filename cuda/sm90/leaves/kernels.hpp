// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/chain/kernels.hpp"

namespace detgemm::cuda::sm90 {

/// The kernel of a geometry of kLeafGeometries; its function is null where it was not compiled.
template <DType T, bool kXMn, bool kYMn>
Kernel leaf_kernel_of(int geometry, bool deep);

/// The same for folds that one CTA per tile adds up, from +0 or from C; null where has_fold or
/// has_fold_from_c says so too.
template <DType T, bool kXMn, bool kYMn>
Kernel fold_kernel_of(int geometry, bool from_c);

/// The same for trees of more than two leaves in wide tiles; null where has_tree says so too.
template <DType T, bool kXMn, bool kYMn>
Kernel tree_kernel_of(int geometry);

}  // namespace detgemm::cuda::sm90
