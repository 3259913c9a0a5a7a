// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/quantize/block.hpp"
#include "cuda/quantize/launch.hpp"
#include "cuda/snap/warps.cuh"

// Warps walk through the blocks of a matrix. A launch may overlap the one before; it waits for all
// earlier work before it reads or writes.

namespace detgemm::cuda::quantize {
namespace {

using snap::kThreads;
using snap::LongWarp;
using snap::Walk;
using snap::Warp;

template <DType T>
__global__ void __launch_bounds__(kThreads)
    quantize_short_leaves(const __grid_constant__ QuantizeArguments q) {
  snap::wait_for_earlier_work();
  for (Walk at = snap::warps((q.scales.leaves + kLeavesPerWarp - 1) / kLeavesPerWarp);
       at.row < q.scales.blocks; at.next()) {
    Warp<LaneNumbers> teams[kLeavesPerWarp];
    quantize_leaves<T>(q, at.row, at.column * kLeavesPerWarp, teams);
  }
}

__global__ void __launch_bounds__(kThreads, 2)
    quantize_any_block(const __grid_constant__ QuantizeArguments q) {
  snap::wait_for_earlier_work();
  for (Walk at = snap::warps(q.scales.leaves); at.row < q.scales.blocks; at.next()) {
    LongWarp team;
    quantize_any(q, at.row, at.column, team);
  }
}

}  // namespace

Kernel kernel(int index) {
  switch (index) {  // in the order of kAny
    case 0:
      return snap::of(&quantize_short_leaves<DType::bf16>, kThreads);
    case 1:
      return snap::of(&quantize_short_leaves<DType::fp16>, kThreads);
    case 2:
      return snap::of(&quantize_short_leaves<DType::fp32>, kThreads);
    default:
      return snap::of(&quantize_any_block, kThreads);
  }
}

}  // namespace detgemm::cuda::quantize
