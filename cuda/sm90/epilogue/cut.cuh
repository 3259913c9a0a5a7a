// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/plain.cuh"

namespace detgemm::cuda::sm90 {

/// Whether the tiles of a kernel have rows of another group, which are not stored.
template <class T>
inline constexpr bool kCutsBoxes = requires {
  requires T::kCutsBoxes;
};

/// Stores the first `rows` of 16 rows that a warp has staged from row 16 * warp of a box on, and of
/// each the columns that exist: whole chunks of 16 bytes, as a D that suits TMA has them.
template <int kRowBytes>
__device__ __forceinline__ void store_rows(std::uint32_t box, const GemmArguments& g, int size,
                                           int warp, int lane, int x, int rows, int y, int y_end) {
  constexpr int kChunks = kRowBytes / 16;
  auto* const d = static_cast<char*>(g.d) + (x * g.ds.row + y) * size;
#pragma unroll 1
  for (int at = lane; at < rows * kChunks; at += 32) {
    const int row = at / kChunks, chunk = at % kChunks;
    if (y + chunk * 16 / size >= y_end) continue;
    const uint4 v = ptx::ld_shared_v4_u32(swizzled<kRowBytes>(box, warp * 16 + row, chunk));
    ptx::st_global_v4_u32(d + row * g.ds.row * size + chunk * 16, v);
  }
}

/// store_tile for a D whose rows are along x and run along y; those from shape.x_rows on are
/// another group's. Each warp has 16 rows of a box to itself:
///
///   warp 0   rows  0 .. 15   -> TMA
///   warp 1   rows 16 .. 31   -> TMA
///   warp 2   rows 32 .. 47   -> rows 32 .. 39, in chunks of 16 bytes      40 rows of a tile
///   warp 3   rows 48 .. 63   -> nothing
template <class T, bool k16>
__device__ __forceinline__ void store_cut(const SharedLayout<T>& shared, const CUtensorMap& map,
                                          const LaunchShape& shape, const GemmArguments& g,
                                          int group, int& box_index, const Accumulators<T>& acc,
                                          int x0, int y0, int z) {
  constexpr int kSlab = k16 ? T::kDSlab : T::kDSlabFp32;
  constexpr int kSlabs = (T::kN + kSlab - 1) / kSlab;
  constexpr int kRowBytes = kSlab * (k16 ? 2 : 4);
  // As of here: addresses that are computed ahead of the main loop would take registers of a tile.
  std::uint32_t thread = threadIdx.x % 128;
  ptx::pin(thread);
  const int lane = static_cast<int>(thread % 32);
  const int warp = static_cast<int>(thread / 32);
  const std::uint32_t boxes = shared.epilogue + group * T::kGroupBoxes;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
    const int x = x0 + (group * T::kBlocks + i) * 64 + warp * 16;
    const int rows = shape.x_rows - x;
#pragma unroll
    for (int s = 0; s < kSlabs; ++s) {
      const std::uint32_t box = boxes + box_index * T::kBoxBytes;
      box_index = (box_index + 1) % T::kBoxes;
      if (lane == 0) ptx::tma_store_wait_read<T::kBoxes - 1>();
      __syncwarp();
      const int first = s * kSlab < T::kN - kSlab ? s * kSlab : T::kN - kSlab;
      const float* d = acc[i] + first / 2;  // (64, kSlab) of block i
      if constexpr (k16) {
        stage_slab_16<T, false>(box, d, shape.output, lane, warp);
      } else {
        stage_slab_32<T, false>(box, d, lane, warp);
      }
      const int y = y0 + first;
      if (rows >= 16) {
        ptx::fence_proxy_async();
        __syncwarp();
        if (lane == 0) store_box<T>(map, y, x, z, box + warp * 16 * kRowBytes);
      } else {
        __syncwarp();
        store_rows<kRowBytes>(box, g, k16 ? 2 : 4, warp, lane, x, rows, y, shape.y_rows);
      }
      if (lane == 0) ptx::tma_store_commit();  // an empty group too: they are counted as boxes are
    }
  }
}

}  // namespace detgemm::cuda::sm90
