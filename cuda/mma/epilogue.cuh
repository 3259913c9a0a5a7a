// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "cuda/mma/params.hpp"
#include "cuda/mma/tile.hpp"
#include "cuda/sm90/ptx/memory.cuh"

namespace detgemm::cuda::mma {

namespace ptx = sm90::ptx;

/// Four neighbouring outputs of a row, rounded alone. Precondition: Params::plain.
__device__ __forceinline__ void store_run(const GemmArguments& g, std::int64_t row,
                                          std::int64_t col, float4 v) {
  using namespace arithmetic;
  const std::int64_t at = row * g.ds.row + col;
  const float run[4] = {canonical(v.x), canonical(v.y), canonical(v.z), canonical(v.w)};
  if (col + 4 > g.n) {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      if (col + i < g.n) store_rounded(g.d, at + i, g.output, run[i]);
    }
  } else if (g.output == DType::fp32) {
    *reinterpret_cast<float4*>(static_cast<float*>(g.d) + at) =
        make_float4(run[0], run[1], run[2], run[3]);
  } else {
    std::uint32_t half[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      half[i] = g.output == DType::bf16 ? to_bf16(run[i]) : to_fp16(run[i]);
    *reinterpret_cast<uint2*>(static_cast<std::uint16_t*>(g.d) + at) =
        make_uint2(half[0] | half[1] << 16, half[2] | half[3] << 16);
  }
}

/// D from accumulators, 8 rows of a warp at a time through its own piece of shared memory, so that
/// neighbouring lanes store neighbouring elements and the code of the epilogue exists once:
///
///   fragments -> [8 rows x the warp's columns, fp32] -> finish_element -> D
///                                                    `-> runs of 4, where D takes them
template <class Shape>
struct Epilogue {
  static constexpr Tile kTile = Shape::tile;
  static constexpr int kCols = kTile.warp_n();
  static constexpr int kPitch = kCols + 8;  // floats
  static constexpr int kPieces = kTile.warp_m() / 8;
  static_assert(kTile.threads() / 32 * 8 * kPitch * 4 <= kTile.ring_bytes(),
                "The pieces of all warps fit into the ring, which is free during the epilogue.");

  /// The output (row, col) of the tile's corner is (row0, col0) of D.
  template <class Accumulators>
  static __device__ __forceinline__ void store(const Params& p, std::uint32_t memory,
                                               std::int64_t row0, std::int64_t col0,
                                               const Accumulators& sum) {
    const GemmArguments& g = p.g;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const std::uint32_t room = memory + static_cast<std::uint32_t>(warp * 8 * kPitch * 4);
    row0 += warp / kTile.warps_n * kTile.warp_m();
    col0 += warp % kTile.warps_n * kTile.warp_n();
    const bool down = g.ds.row == 1 && g.ds.col != 1;
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      __syncwarp();
#pragma unroll
      for (int mine = 0; mine < kPieces; ++mine) {
        if (mine != piece) continue;  // registers have no index at run time
#pragma unroll
        for (int j = 0; j < kCols / 8; ++j) {
          const float* pair = sum[mine / 2][j] + mine % 2 * 2;
          const int to = lane / 4 * kPitch + j * 8 + lane % 4 * 2;
          ptx::st_shared_v2_f32(room + static_cast<std::uint32_t>(to) * 4,
                                make_float2(pair[0], pair[1]));
        }
      }
      __syncwarp();
      const std::int64_t first = row0 + piece * 8;
      if (p.plain) {
#pragma unroll 1
        for (int e = lane; e < 8 * kCols / 4; e += 32) {
          const int r = e / (kCols / 4), c = e % (kCols / 4) * 4;
          const float4 v =
              ptx::ld_shared_v4_f32(room + static_cast<std::uint32_t>(r * kPitch + c) * 4);
          if (first + r < g.m && col0 + c < g.n) store_run(g, first + r, col0 + c, v);
        }
        continue;
      }
#pragma unroll 1
      for (int e = lane; e < 8 * kCols; e += 32) {
        const int r = down ? e % 8 : e / kCols;
        const int c = down ? e / 8 : e % kCols;
        const float v = ptx::ld_shared_f32(room + static_cast<std::uint32_t>(r * kPitch + c) * 4);
        if (first + r < g.m && col0 + c < g.n) finish_element(g, first + r, col0 + c, v);
      }
    }
  }
};

}  // namespace detgemm::cuda::mma
