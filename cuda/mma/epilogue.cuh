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

/// Accumulators from and to memory, 8 rows of a warp at a time through its own piece of shared
/// memory, so that neighbouring lanes meet neighbouring elements and the code of the epilogue
/// exists once:
///
///   C -> [8 rows x the warp's columns, fp32] -> fragments                    where chains start
///   fragments -> [8 rows x the warp's columns, fp32] -> finish_element -> D
///                                                    `-> runs of 4, where D takes them
template <class Shape>
class Epilogue {
  static constexpr Tile kTile = Shape::tile;
  static constexpr int kCols = kTile.warp_n();
  static constexpr int kPitch = kCols + 8;  // floats
  static constexpr int kPieces = kTile.warp_m() / 8;
  static_assert(kTile.threads() / 32 * 8 * kPitch * 4 <= kTile.ring_bytes(),
                "The pieces of all warps fit into the ring, which is free during the epilogue.");

 public:
  /// The tile's corner is output (row0, col0) of D.
  __device__ __forceinline__ Epilogue(const Params& p, std::uint32_t memory, std::int64_t row0,
                                      std::int64_t col0)
      : p_(p), g_(p.g), lane_(static_cast<int>(threadIdx.x) % 32) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    room_ = memory + static_cast<std::uint32_t>(warp * 8 * kPitch * 4);
    row0_ = row0 + warp / kTile.warps_n * kTile.warp_m();
    col0_ = col0 + warp % kTile.warps_n * kTile.warp_n();
  }

  /// sums = C.
  template <class Sums>
  __device__ __forceinline__ void load_start(Sums& sums) const {
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      each_element(piece, g_.cs, [&](std::uint32_t at, std::int64_t row, std::int64_t col) {
        ptx::st_shared_f32(at, start_value(g_, row, col));
      });
      __syncwarp();
      each_pair(piece, sums, [](float* pair, std::uint32_t at) {
        const float2 v = ptx::ld_shared_v2_f32(at);
        pair[0] = v.x;
        pair[1] = v.y;
      });
      __syncwarp();
    }
  }

  /// D = the epilogue of sums.
  template <class Sums>
  __device__ __forceinline__ void store(Sums& sums) const {
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      each_pair(piece, sums, [](float* pair, std::uint32_t at) {
        ptx::st_shared_v2_f32(at, make_float2(pair[0], pair[1]));
      });
      __syncwarp();
      if (p_.plain) {
        store_runs(piece);
      } else {
        each_element(piece, g_.ds, [&](std::uint32_t at, std::int64_t row, std::int64_t col) {
          finish_element(g_, row, col, ptx::ld_shared_f32(at));
        });
      }
      __syncwarp();
    }
  }

 private:
  __device__ __forceinline__ std::uint32_t place(int row, int col) const {
    return room_ + static_cast<std::uint32_t>(row * kPitch + col) * 4;
  }
  __device__ __forceinline__ void store_runs(int piece) const {
#pragma unroll 1
    for (int e = lane_; e < 8 * kCols / 4; e += 32) {
      const int r = e / (kCols / 4), c = e % (kCols / 4) * 4;
      const std::int64_t row = row0_ + piece * 8 + r;
      const float4 v = ptx::ld_shared_v4_f32(place(r, c));
      if (row < g_.m && col0_ + c < g_.n) store_run(g_, row, col0_ + c, v);
    }
  }
  /// Calls fn(shared address, row, col) for the elements of a piece that exist, in the order in
  /// which an array with these strides is in memory.
  template <class Fn>
  __device__ __forceinline__ void each_element(int piece, const Strides& s, Fn&& fn) const {
    const bool down = s.row == 1 && s.col != 1;
#pragma unroll 1
    for (int e = lane_; e < 8 * kCols; e += 32) {
      const int r = down ? e % 8 : e / kCols;
      const int c = down ? e / 8 : e % kCols;
      const std::int64_t row = row0_ + piece * 8 + r;
      if (row < g_.m && col0_ + c < g_.n) fn(place(r, c), row, col0_ + c);
    }
  }
  /// Calls fn(two neighbouring accumulators, their shared address) for this thread's of a piece.
  template <class Sums, class Fn>
  __device__ __forceinline__ void each_pair(int piece, Sums& sums, Fn&& fn) const {
#pragma unroll
    for (int mine = 0; mine < kPieces; ++mine) {
      if (mine != piece) continue;  // registers have no index at run time
#pragma unroll
      for (int j = 0; j < kCols / 8; ++j) {
        fn(sums[mine / 2][j] + mine % 2 * 2, place(lane_ / 4, j * 8 + lane_ % 4 * 2));
      }
    }
  }

  const Params& p_;
  const GemmArguments& g_;
  int lane_;
  std::uint32_t room_;
  std::int64_t row0_, col0_;
};

}  // namespace detgemm::cuda::mma
