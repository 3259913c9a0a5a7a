// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "core/contract/gemm_arguments.hpp"
#include "cuda/simt/place.cuh"
#include "cuda/simt/ptx/memory.cuh"

namespace detgemm::cuda::simt {

/// Brings accumulators from and to memory. What is not plain goes through a warp's own piece of
/// shared memory, one row of each thread at a time, so that neighbouring lanes meet neighbouring
/// elements and the code of the epilogue exists once:
///
///   registers -> [a row of every lane: (kRows, kCols), pitch kPitch] -> finish_element -> D
template <Tile kTile>
class Epilogue {
  using Where = Place<kTile>;
  static constexpr int kRows = kTile.lane_rows;
  static constexpr int kCols = Where::kWarpCols;
  static constexpr int kPitch = kCols + 4;
  static constexpr int kPieces = kTile.thread_rows;
  static constexpr int kWarps = kTile.warp_rows * kTile.warp_cols;
  static_assert(4 * kWarps * kRows * kPitch <= ring_bytes(kTile),
                "The pieces of all warps fit into the ring, which is free during the epilogue.");

 public:
  using Sums = float[kTile.thread_rows][kTile.thread_cols];

  __device__ __forceinline__ Epilogue(const GemmArguments& g, bool swapped, float* memory,
                                      const Where& where, std::int64_t row0, std::int64_t col0)
      : g_(g),
        swapped_(kTile.lines && swapped),
        where_(where),
        memory_(memory + where.warp * kRows * kPitch),
        row_(row0 + where.warp_row),
        col_(col0 + where.warp_col) {}

  /// sums = C, for `continue`.
  __device__ __forceinline__ void load_start(Sums& sums) const {
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      each_element(piece, g_.cs, [&](float& value, std::int64_t row, std::int64_t col) {
        value = start_value(g_, row, col);
      });
      __syncwarp();
      each_mine(piece, sums, [](float& mine, float& staged) { mine = staged; });
      __syncwarp();
    }
  }

  /// D = the epilogue of sums.
  __device__ __forceinline__ void store(Sums& sums) const {
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      each_mine(piece, sums, [](float& mine, float& staged) { staged = mine; });
      __syncwarp();
      each_element(piece, g_.ds, [&](float& value, std::int64_t row, std::int64_t col) {
        finish_element(g_, row, col, value);
      });
      __syncwarp();
    }
  }

  /// The same where Params::plain holds.
  __device__ __forceinline__ void store_plain(const Sums& sums) const {
    if constexpr (kTile.lines) return store_singly(sums);
    const std::int64_t col = col_ + where_.lane_col * Where::kColRun;
#pragma unroll
    for (int i = 0; i < kTile.thread_rows; ++i) {
      const std::int64_t row = row_ + where_.lane_row * Where::kRowRun + Where::row_of(i);
      if (row >= g_.m) continue;
#pragma unroll
      for (int j = 0; j < kTile.thread_cols; j += Where::kColRun) {
        float run[Where::kColRun];
        in_column_order(&sums[i][j], run);
        store_run(row * g_.ds.row, col + Where::col_of(j), run);
      }
    }
  }

 private:
  /// The same for any strides of an fp32 D, one output at a time.
  __device__ __forceinline__ void store_singly(const Sums& sums) const {
    const std::int64_t d_row = swapped_ ? g_.ds.col : g_.ds.row;
    const std::int64_t d_col = swapped_ ? g_.ds.row : g_.ds.col;
    const std::int64_t rows = swapped_ ? g_.n : g_.m;
    const std::int64_t cols = swapped_ ? g_.m : g_.n;
#pragma unroll
    for (int i = 0; i < kTile.thread_rows; ++i) {
      const std::int64_t row = row_ + where_.lane_row + Where::row_of(i);
#pragma unroll
      for (int j = 0; j < kTile.thread_cols; ++j) {
        const std::int64_t col = col_ + where_.lane_col + Where::col_of(j);
        if (row < rows && col < cols) {
          static_cast<float*>(g_.d)[row * d_row + col * d_col] = arithmetic::canonical(sums[i][j]);
        }
      }
    }
  }

  /// The sums of a run, exchanged back to the order of columns through this lane's own 16 bytes of
  /// shared memory. Moves between registers would make ptxas allocate the sums in column order.
  __device__ __forceinline__ void in_column_order(const float* sums, float* run) const {
    if constexpr (Where::kSwap == 0) {
      run[0] = sums[0];
    } else {
      static_assert(Where::kColRun == 4 && kRows * kPitch >= 32 * 4,
                    "Each lane exchanges 16 bytes at a time in its warp's piece.");
      const std::uint32_t mine = ptx::shared_address(memory_ + where_.lane * 4);
      ptx::st_shared_v4_f32(mine, sums);
#pragma unroll
      for (int e = 0; e < 4; ++e) run[e] = ptx::ld_shared_f32(mine + 4 * (e ^ Where::kSwap));
    }
  }

  __device__ __forceinline__ void store_run(std::int64_t line, std::int64_t col,
                                            const float* run) const {
    using arithmetic::canonical;
    if (Where::kColRun == 4 && col + 4 <= g_.n) {
      if (g_.output == DType::fp32) {
        auto* to = reinterpret_cast<float4*>(static_cast<float*>(g_.d) + line + col);
        *to =
            make_float4(canonical(run[0]), canonical(run[1]), canonical(run[2]), canonical(run[3]));
      } else {
        const bool bf16 = g_.output == DType::bf16;
        const auto pair = [&](int i) {
          const std::uint32_t low =
              bf16 ? arithmetic::to_bf16(run[i]) : arithmetic::to_fp16(run[i]);
          const std::uint32_t high =
              bf16 ? arithmetic::to_bf16(run[i + 1]) : arithmetic::to_fp16(run[i + 1]);
          return low | high << 16;
        };
        auto* to = reinterpret_cast<uint2*>(static_cast<std::uint16_t*>(g_.d) + line + col);
        *to = make_uint2(pair(0), pair(2));
      }
      return;
    }
#pragma unroll
    for (int e = 0; e < Where::kColRun; ++e) {
      if (col + e < g_.n) store_rounded(g_.d, line + col + e, g_.output, canonical(run[e]));
    }
  }

  /// Calls fn(staged value, row, col) for the elements of a piece that exist, in the order in which
  /// an array with strides `s` is in memory.
  template <class Fn>
  __device__ __forceinline__ void each_element(int piece, const Strides& s, Fn&& fn) const {
    const bool along_rows = (s.row == 1 && s.col != 1) != swapped_;
#pragma unroll 1
    for (int e = where_.lane; e < kRows * kCols; e += 32) {
      const int r = along_rows ? e % kRows : e / kCols;
      const int c = along_rows ? e / kRows : e % kCols;
      const std::int64_t x = row_ + r * Where::kRowRun + Where::row_of(piece);
      const std::int64_t y = col_ + c;
      const std::int64_t row = swapped_ ? y : x;
      const std::int64_t col = swapped_ ? x : y;
      if (row < g_.m && col < g_.n) fn(memory_[r * kPitch + (c ^ Where::kSwap)], row, col);
    }
  }

  /// Calls fn(accumulator, staged value) for this thread's outputs of a piece.
  template <class S, class Fn>
  __device__ __forceinline__ void each_mine(int piece, S& sums, Fn&& fn) const {
    float* mine = memory_ + where_.lane_row * kPitch + where_.lane_col * Where::kColRun;
#pragma unroll
    for (int i = 0; i < kTile.thread_rows; ++i) {
      if (i != piece) continue;
#pragma unroll
      for (int j = 0; j < kTile.thread_cols; ++j) fn(sums[i][j], mine[Where::col_of(j)]);
    }
  }

  const GemmArguments& g_;
  const bool swapped_;  // the rows of the tile are columns of D
  const Where& where_;
  float* const memory_;
  const std::int64_t row_, col_;
};

}  // namespace detgemm::cuda::simt
