// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// Where this thread's outputs are in the tile (see Tile).
template <Tile kTile>
struct Place {
  static constexpr int kRun = kTile.lines ? 1 : 4;
  static constexpr int kRowRun = kTile.thread_rows < kRun ? kTile.thread_rows : kRun;
  static constexpr int kColRun = kTile.thread_cols < kRun ? kTile.thread_cols : kRun;
  static constexpr int kRowGroup = kTile.lane_rows * kRowRun;  // rows of one run of all lanes
  static constexpr int kColGroup = kTile.lane_cols * kColRun;
  /// Sum (i, j) belongs to column j ^ kSwap. ptxas puts neighbouring columns into registers of
  /// different banks, in B's fragments and in the sums alike; with neighbours exchanged in one of
  /// them, a multiplication reads B and its sum from different banks, in one clock and not two.
  static constexpr int kSwap = kTile.thread_cols > 1 && !kTile.lines ? 1 : 0;
  static constexpr int kWarpRows = kTile.lane_rows * kTile.thread_rows;
  static constexpr int kWarpCols = kTile.lane_cols * kTile.thread_cols;

  int lane, warp;
  int lane_row, lane_col;
  int warp_row, warp_col;  // the warp's first row and column

  __device__ __forceinline__ Place() {
    lane = static_cast<int>(threadIdx.x) % 32;
    warp = static_cast<int>(threadIdx.x) / 32;
    // Eight lanes whose loads are served together touch few rows and few columns.
    if constexpr (kTile.lane_rows == 4) {
      lane_row = (lane & 1) | (lane >> 4) << 1;
      lane_col = (lane >> 1) & 7;
    } else if constexpr (kTile.lane_rows == 8) {
      lane_col = (lane & 1) | (lane >> 4) << 1;
      lane_row = (lane >> 1) & 7;
    } else if constexpr (kTile.lane_rows == 2) {
      lane_row = lane & 1;
      lane_col = lane >> 1;
    } else {
      lane_row = lane / kTile.lane_cols;
      lane_col = lane % kTile.lane_cols;
    }
    warp_row = warp / kTile.warp_cols * kWarpRows;
    warp_col = warp % kTile.warp_cols * kWarpCols;
  }

  /// The thread's first row and column.
  __device__ __forceinline__ int first_row() const { return warp_row + lane_row * kRowRun; }
  __device__ __forceinline__ int first_col() const { return warp_col + lane_col * kColRun; }
  /// The row and column of its output (i, j), counted from there.
  __device__ __forceinline__ static constexpr int row_of(int i) {
    return i / kRowRun * kRowGroup + i % kRowRun;
  }
  __device__ __forceinline__ static constexpr int col_of(int j) {
    return j / kColRun * kColGroup + j % kColRun;
  }
};

}  // namespace detgemm::cuda::simt
