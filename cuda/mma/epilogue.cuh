// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "cuda/mma/params.hpp"
#include "cuda/mma/tile.hpp"
#include "cuda/sm90/ptx/arithmetic.cuh"
#include "cuda/sm90/ptx/memory.cuh"

namespace detgemm::cuda::mma {

namespace ptx = sm90::ptx;

/// Accumulators from and to memory, 8 rows of a warp at a time through its own piece of shared
/// memory, so that neighbouring lanes meet neighbouring elements and the code of the epilogue
/// exists once:
///
///   C -> [8 rows x the warp's columns, fp32] -> fragments                    where chains start
///   fragments -> [8 rows x the warp's columns, fp32] -> finish_element -> D
///
/// or, where they are only rounded and D takes whole runs of 4, from registers. Lanes of 16-bit
/// outputs exchange a pair with their neighbour, so that each has a run of one of two fragments:
///
///   fragment j      0 1 | 2 3 | 4 5 | 6 7        lane 0 stores 0..3 of j, lane 2 4..7 of j,
///   fragment j + 1  0 1 | 2 3 | 4 5 | 6 7        lane 1 0..3 of j + 1, lane 3 4..7 of j + 1
template <class Shape>
class Epilogue {
  static constexpr Tile kTile = Shape::tile;
  static constexpr int kCols = kTile.warp_n();
  static constexpr int kPitch = kCols + 8;  // floats
  static constexpr int kPieces = kTile.warp_m() / 8;
  static constexpr int kApart = 8 * kTile.warps_n;  ///< columns from a fragment to the next
  static_assert(kTile.threads() / 32 * 8 * kPitch * 4 <= kTile.ring_bytes(),
                "The pieces of all warps fit into the ring, which is free during the epilogue.");

 public:
  /// The tile's corner is output (row0, col0) of D, and its columns are those before `end`.
  __device__ __forceinline__ Epilogue(const Params& p, std::uint32_t memory, std::int64_t row0,
                                      std::int64_t col0, std::int64_t end)
      : g_(p.g), lane_(static_cast<int>(threadIdx.x) % 32), end_(end) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    room_ = memory + static_cast<std::uint32_t>(warp * 8 * kPitch * 4);
    row0_ = row0 + warp / kTile.warps_n * kTile.warp_m();
    col0_ = col0 + warp % kTile.warps_n * 8;
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
      each_element(piece, g_.ds, [&](std::uint32_t at, std::int64_t row, std::int64_t col) {
        finish_element(g_, row, col, ptx::ld_shared_f32(at));
      });
      __syncwarp();
    }
  }

  /// D = sums, rounded. Precondition: Params::plain. Shared memory stays as it is.
  template <class Sums>
  __device__ __forceinline__ void store_rounded(Sums& sums) const {
    using arithmetic::bits_of;
    using arithmetic::canonical;
    if (g_.output == DType::fp32) {
      each_row(sums, 4, lane_ % 4 * 2, [](char* to, int cols, const float* x, const float* y) {
        const float run[4] = {canonical(x[0]), canonical(x[1]), canonical(y[0]), canonical(y[1])};
        if (cols > 0) ptx::st_global_v2_u32(to, bits_of(run[0]), bits_of(run[1]));
        if (cols > kApart) {
          ptx::st_global_v2_u32(to + 4 * kApart, bits_of(run[2]), bits_of(run[3]));
        }
      });
      return;
    }
    const bool odd = lane_ % 2 != 0, bf16 = g_.output == DType::bf16;
    const auto pack = [&](const float* v) {
      return bf16 ? ptx::cvt_rn_bf16x2_f32(v[1], v[0]) : ptx::cvt_rn_f16x2_f32(v[1], v[0]);
    };
    each_row(sums, 2, lane_ / 2 % 2 * 4 + (odd ? kApart : 0),
             [&](char* to, int cols, const float* x, const float* y) {
               const std::uint32_t one = pack(x), two = pack(y);
               const std::uint32_t got = __shfl_xor_sync(0xffffffffU, odd ? one : two, 1);
               if (cols > 0) ptx::st_global_v2_u32(to, odd ? got : one, odd ? two : got);
             });
  }

 private:
  __device__ __forceinline__ std::uint32_t place(int row, int col) const {
    return room_ + static_cast<std::uint32_t>(row * kPitch + col) * 4;
  }
  /// Calls fn(address, columns that exist from there on, two elements of a fragment, two of the
  /// next one) for this lane's rows. It stores `bytes` per output, from column `first` of the
  /// fragments on.
  template <class Sums, class Fn>
  __device__ __forceinline__ void each_row(Sums& sums, int bytes, int first, Fn&& fn) const {
    const auto at_most = [](std::int64_t count, int most) {
      return count < most ? static_cast<int>(count) : most;
    };
    const std::int64_t row = row0_ + lane_ / 4, col = col0_ + first;
    const int rows = at_most(g_.m - row, kTile.warp_m()), cols = at_most(end_ - col, kTile.n);
    char* to = static_cast<char*>(g_.d) + (row * g_.ds.row + col) * bytes;
#pragma unroll
    for (int half = 0; half < kPieces; ++half) {
#pragma unroll
      for (int j = 0; j < kCols / 8; j += 2) {
        const int left = half * 8 < rows ? cols - j * kApart : 0;
        fn(to + j * kApart * bytes, left, sums[half / 2][j] + half % 2 * 2,
           sums[half / 2][j + 1] + half % 2 * 2);
      }
      to += 8 * g_.ds.row * bytes;
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
      const std::int64_t col = col0_ + c / 8 * kApart + c % 8;
      if (row < g_.m && col < end_) fn(place(r, c), row, col);
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

  const GemmArguments& g_;
  int lane_;
  std::int64_t end_;
  std::uint32_t room_;
  std::int64_t row0_, col0_;
};

}  // namespace detgemm::cuda::mma
