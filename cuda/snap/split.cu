// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/snap/split_leaf.hpp"
#include "cuda/snap/warps.cuh"

// The kernels of snap3: warps walk through the leaves of an operand. See snap.cu for how a launch
// may overlap the one before.

namespace detgemm::cuda::snap {
namespace {

/// Calls `take(vector, leaf)` for the warp's leaves. Where memory runs across k, the warps of a CTA
/// take neighbouring vectors, so that they find each other's sectors in the cache.
template <class Take>
__device__ __forceinline__ void for_leaves(const SplitOperand& o, const Take& take) {
  const std::int64_t rows = o.across ? o.leaves : o.vectors;
  for (Walk at = warps(o.across ? o.vectors : o.leaves); at.row < rows; at.next()) {
    take(o.across ? at.column : at.row, o.across ? at.row : at.column);
  }
}

template <DType T, int kWords>
__global__ void __launch_bounds__(kThreads, kWords > 8   ? 1
                                            : kWords > 4 ? 2
                                                         : kCtasPerSm)
    split_rows(const __grid_constant__ SplitOperand o) {
  wait_for_earlier_work();
  for_leaves(o, [&](std::int64_t vector, std::int64_t leaf) {
    Warp<SplitWords<kWords>> team;
    split_leaf<T, kWords>(o, vector, leaf, team);
  });
}

template <DType T>
__global__ void __launch_bounds__(kThreads, 2)
    split_long_rows(const __grid_constant__ SplitOperand o) {
  wait_for_earlier_work();
  for_leaves(o, [&](std::int64_t vector, std::int64_t leaf) {
    LongWarp team;
    split_long_leaf<T>(o, vector, leaf, team);
  });
}

template <DType T>
Kernel kernel_for(int index) {
  switch (index) {  // in the order of kSplitLeaves
    case 0:
      return of(&split_rows<T, 1>, kThreads);
    case 1:
      return of(&split_rows<T, 2>, kThreads);
    case 2:
      return of(&split_rows<T, 4>, kThreads);
    case 3:
      return of(&split_rows<T, 8>, kThreads);
    case 4:
      return of(&split_rows<T, 16>, kThreads);
    case 5:
      return of(&split_long_rows<T>, kThreads);
  }
  return {};
}

}  // namespace

Kernel split_kernel(int index, bool wide) {
  return wide ? kernel_for<DType::fp32>(index) : kernel_for<DType::bf16>(index);
}

}  // namespace detgemm::cuda::snap
