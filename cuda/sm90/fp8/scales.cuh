// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/fp8/tile.hpp"
#include "cuda/sm90/pipeline/producer.cuh"
#include "cuda/sm90/ptx/arithmetic.cuh"
#include "cuda/sm90/ptx/cp_async.cuh"

namespace detgemm::cuda::sm90 {

/// The slot of a stage: (kX) scales of rows, then (kN) or 1 of columns, fp32.
template <class T>
__device__ __forceinline__ std::uint32_t scale_slot(const SharedLayout<T>& shared, int stage) {
  return shared.epilogue + T::kStagingBytes + stage * T::kSlotBytes;
}

/// Brings the scale of a line and a leaf into a slot. fp32 is copied asynchronously, e8m0 is
/// converted on the way.
__device__ __forceinline__ void bring_scale(const SideScales& s, int line, int leaf,
                                            std::uint32_t to) {
  const std::int64_t at = scale_index(s, line, leaf);
  if (s.e8m0) {
    ptx::st_shared_f32(to, e8m0_value(static_cast<const std::uint8_t*>(s.data)[at]));
  } else {
    ptx::cp_async_4(to, static_cast<const float*>(s.data) + at);
  }
}

/// Brings the scales of one leaf of a tile. kScaleThreads threads call it and each arrives once.
/// Lines behind the last one, whose outputs are not stored, take the scale of the last one.
template <class T>
__device__ __forceinline__ void bring_scales(const Fp8Shape& fp8, int x_lines, int y_lines,
                                             std::uint32_t slot, int x, int y, int leaf,
                                             std::uint32_t full) {
  const int thread = threadIdx.x % kScaleThreads;
#pragma unroll
  for (int i = 0; i < T::kX; i += kScaleThreads) {
    bring_scale(fp8.x, min(x + i + thread, x_lines - 1), leaf, slot + 4 * (i + thread));
  }
  const std::uint32_t columns = slot + 4 * T::kX;
  if constexpr (T::kJoin == Join::one) {
    if (thread == 0) bring_scale(fp8.y, y, leaf, columns);
  } else {
#pragma unroll
    for (int i = 0; i < T::kN; i += kScaleThreads) {
      if (i + thread >= T::kN) break;
      bring_scale(fp8.y, min(y + i + thread, y_lines - 1), leaf, columns + 4 * (i + thread));
    }
  }
  // Ordinary stores are ordered by an ordinary arrival, copies by one that waits for them.
  if (fp8.x.e8m0 || fp8.y.e8m0) {
    ptx::cp_async_wait_all();
    ptx::mbarrier_arrive(full);
  } else {
    ptx::cp_async_mbarrier_arrive_noinc(full);
  }
}

/// Warp 0 of the producer group loads X, warp 1 loads Y, and warps 2 and 3 bring scales.
template <class T>
__device__ __forceinline__ void run_fp8_producer(const SharedLayout<T>& shared,
                                                 const LaunchMaps& maps, const LaunchShape& shape,
                                                 const Fp8Shape& fp8, int warp) {
  const BlockRange k{0, shape.k_blocks};
  const TileWalk<T> walk;
  const auto no_c = [](int, int, int, int) {};
  if (warp == 0 && ptx::elect_sync()) {
    if (!shape.x_stable) ptx::griddepcontrol_wait();
    const auto load = [&](int stage, int x, int, int block) {  // a box of (kX, 128 k)
      const std::uint32_t full = shared.full + 8 * stage;
      ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(shape.x_stage_bytes));
      ptx::tma_load(shared.x(stage), &maps.x, block * kFp8BlockK, x, full);
    };
    produce(shared, shape, false, walk, k, load, no_c);
  } else if (warp == 1 && ptx::elect_sync()) {
    if (!shape.y_stable) ptx::griddepcontrol_wait();
    const auto load = [&](int stage, int, int y, int block) {  // a box of (kN, 128 k)
      const std::uint32_t full = shared.full + 8 * stage;
      ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(shape.y_stage_bytes));
      ptx::tma_load(shared.y(stage), &maps.y, block * kFp8BlockK, y, full);
    };
    produce(shared, shape, false, walk, k, load, no_c);
  } else if (T::kScaled && warp >= 2) {
    ptx::griddepcontrol_wait();  // scales are promised by nobody
    const auto load = [&](int stage, int x, int y, int block) {
      bring_scales<T>(fp8, shape.x_rows, shape.y_rows, scale_slot(shared, stage), x, y,
                      block / fp8.leaf_blocks, shared.full + 8 * stage);
    };
    produce(shared, shape, false, walk, k, load, no_c);
  }
}

}  // namespace detgemm::cuda::sm90
