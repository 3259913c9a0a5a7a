// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/registers.cuh"
#include "cuda/sm90/log_prob/arguments.hpp"
#include "cuda/sm90/log_prob/far.cuh"

namespace detgemm::cuda::sm90 {

/// What a thread's rows of a tile bring: loaded before the chains run, used behind them.
template <class T>
struct TileRows {
  float scale[T::kBlocks][2];
  int target[T::kBlocks][2];  ///< the column of the first id in the tile; outside of it: negative

  /// Rows that do not exist have the last one's scale, and no target.
  __device__ __forceinline__ void load(const LogTiles& tiles, int x_rows, int first, int y0) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = first + i * 64 + h * 8;
        scale[i][h] = log_prob::usable_scale(tiles.scale, min(row, x_rows - 1));
        target[i][h] = column_of(tiles, x_rows, row, 0, y0);
      }
    }
  }
  static __device__ __forceinline__ int column_of(const LogTiles& tiles, int x_rows, int row, int j,
                                                  int y0) {
    if (tiles.target_logit == nullptr || row >= x_rows) return -1;
    const std::int64_t at = token(tiles.targets, row, j) - tiles.begin - y0;
    return at >= 0 && at < T::kN ? static_cast<int>(at) : -1;
  }
};

/// Stores the logit of column `target` of row h if this thread has it.
template <int kN>
__device__ __forceinline__ void store_target(const Logits<kN>& z, int target, int h, int lane,
                                             float scale, float* to) {
  const int mine = target - lane % 4 * 2;
  float x = 0.0F;
#pragma unroll
  for (int j = 0; j < kN / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (mine == j * 8 + i) x = z[2 * (2 * j + h) + i];
    }
  }
  if (target >= 0 && mine >= 0 && mine % 8 < 2) *to = arithmetic::mul_rn(x, scale);
}

/// From the accumulators of a tile to a node per row, and the logits of targets:
///
///   accumulators -> [alpha, bias] -> [bf16] -> x = z scale -> near: e^x, plain sums along the tree
///                                                          `> far: the contract's steps, slowly
template <class T, bool kEntropy>
__device__ __forceinline__ void store_nodes(const SharedLayout<T>& shared, const LaunchShape& shape,
                                            const LogTiles& tiles, int group, int x0, int y0,
                                            const TileRows<T>& rows, Accumulators<T>& acc) {
  std::uint32_t thread = threadIdx.x % 128;
  ptx::pin(thread);
  const int lane = static_cast<int>(thread % 32);
  const int warp = static_cast<int>(thread / 32);
  static_assert(T::kGroupBoxes >= 4 * 32 * 4 * OwnWords::kCount, "Each thread has its words.");
  const OwnWords words{shared.epilogue + group * T::kGroupBoxes + warp * (T::kGroupBoxes / 4) +
                       lane * 4};
  const std::int64_t slot = y0 / T::kN;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
    Logits<T::kN>& z = acc[i];
    Extremes extremes[2];
    if (shape.output == DType::bf16) {
      round_to_bf16(z, extremes);
    } else {
      find_extremes(z, extremes);
    }
    const int first = x0 + (group * T::kBlocks + i) * 64 + warp * 16 + lane / 4;
    bool near = y0 + T::kN <= shape.y_rows;
    float highest[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const Extremes& e = extremes[h];
      const float scale = rows.scale[i][h];
      highest[h] = arithmetic::mul_rn(e.highest, scale);
      const bool all = arithmetic::is_near<kEntropy>(
          arithmetic::mul_rn(e.lowest, scale), highest[h], arithmetic::mul_rn(e.least, scale));
      near = near && (all || first + h * 8 >= shape.x_rows);
    }
    arithmetic::LogNode node;
    if (__all_sync(0xffffffffU, near)) {
      float top = lane % 2 != 0 ? highest[1] : highest[0];
      top = fmaxf(top, __shfl_xor_sync(0xffffffffU, lane % 2 != 0 ? highest[0] : highest[1], 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffU, top, 2));
      float sum, weighted;
      if (tiles.scale == nullptr) {
        add_near<kEntropy, false, T::kN>(z, rows.scale[i], lane, sum, weighted);
      } else {
        add_near<kEntropy, true, T::kN>(z, rows.scale[i], lane, sum, weighted);
      }
      node = arithmetic::near_node(top, sum, weighted);
    } else {
      node = far_node<kEntropy, T::kN>(z, words, rows.scale[i], lane, y0, shape.y_rows);
    }
    const int row = first + lane % 2 * 8;
    if (lane % 4 < 2 && row < shape.x_rows) tiles.nodes.put(slot, row, node);
    if (tiles.target_logit == nullptr) continue;
#pragma unroll 1
    for (int j = 0; j < tiles.targets.per_row; ++j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int line = first + h * 8;
        const int target =
            j == 0 ? rows.target[i][h] : TileRows<T>::column_of(tiles, shape.x_rows, line, j, y0);
        if (!__any_sync(0xffffffffU, target >= 0)) continue;
        store_target<T::kN>(z, target, h, lane, rows.scale[i][h],
                            tiles.target_logit + line * tiles.targets.per_row + j);
      }
    }
  }
}

}  // namespace detgemm::cuda::sm90
