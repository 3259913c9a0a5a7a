// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// A compiled kernel and what its launch needs: threads per CTA, dynamic shared memory per CTA in
/// bytes, and CTAs per cluster.
struct Kernel {
  const void* function = nullptr;
  int threads = 0;
  int shared_bytes = 0;
  int cluster = 1;
};

/// The kernel of a geometry for one input type and one pair of majors; its function is null where
/// the geometry was not compiled. Each is in a source file of its own, so that they compile side by
/// side.
template <DType T, bool kXMn, bool kYMn>
Kernel plain_kernel(int geometry);
template <DType T, bool kXMn, bool kYMn>
Kernel general_kernel(int geometry, Form form);

}  // namespace detgemm::cuda::sm90
