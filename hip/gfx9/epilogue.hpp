// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gcn/control.hpp"
#include "hip/gfx9/accumulators.hpp"

namespace detgemm::hip::gfx9 {

/// True where the epilogue is a rounding and nothing else.
DETGEMM_DEVICE bool only_rounds(const Epilogue& e) {
  return e.alpha == 1.0F && e.beta == 0.0F && !e.has_bias && e.activation == Activation::none;
}

/// kRows x kCols sums of one wave, in shared memory with rows kCols + 1 apart, to D at (m, n).
/// Lanes walk along D's rows, or along its columns where those run along memory.
template <int kRows, int kCols>
DETGEMM_DEVICE void finish_block(const GemmArguments& g, const float* staging, std::int64_t m,
                                 std::int64_t n, int lane) {
  const bool along_m = g.ds.row == 1 && g.ds.col != 1;
  const bool plain = only_rounds(g.epilogue);
#pragma unroll 1
  for (int e = lane; e < kRows * kCols; e += gcn::kWave) {
    const int row = along_m ? e % kRows : e / kCols;
    const int col = along_m ? e / kRows : e % kCols;
    if (m + row >= g.m || n + col >= g.n) continue;
    const float sum = staging[row * (kCols + 1) + col];
    if (plain) {
      store_rounded(g.d, (m + row) * g.ds.row + (n + col) * g.ds.col, g.output,
                    arithmetic::canonical(sum));
    } else {
      finish_element(g, m + row, n + col, sum);
    }
  }
}

/// A wave's blocks, one after the other through its own piece of shared memory: registers are
/// named by constants, and the epilogue's code is there once.
template <class T>
DETGEMM_DEVICE void finish_tile(const GemmArguments& g, char* shared, TilePlace tile,
                                const Sums<T>& sums) {
  const WavePlace<T> at;
  const std::int64_t m0 = std::int64_t{tile.m} * T::kM + at.m;
  const std::int64_t n0 = std::int64_t{tile.n} * T::kN + at.n;
  float* staging = reinterpret_cast<float*>(shared) + at.wave * (32 * 33);
#pragma unroll 1
  for (int block = 0; block < Sums<T>::kBlocks; ++block) {
    const std::int64_t m = m0 + block / T::kBlocksN * 32;
    const std::int64_t n = n0 + block % T::kBlocksN * 32;
    gcn::wave_fence();
#pragma unroll
    for (int b = 0; b < Sums<T>::kBlocks; ++b) {
      if (b != block) continue;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        staging[result_row_32(at.lane, i) * 33 + at.lane % 32] = sums.block[b][i];
      }
    }
    gcn::wave_fence();
    finish_block<32, 32>(g, staging, m, n, at.lane);
  }
}

}  // namespace detgemm::hip::gfx9
