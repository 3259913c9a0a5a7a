// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/fp8/tile.hpp"
#include "cuda/sm90/pipeline/mainloop.cuh"

namespace detgemm::cuda::sm90 {

/// The scale of a whole line; lines behind the last one, whose outputs are not stored, take its.
__device__ __forceinline__ float line_scale(const SideScales& s, int line, int lines) {
  const std::int64_t at = scale_index(s, min(line, lines - 1), 0);
  if (s.e8m0) return e8m0_value(static_cast<const std::uint8_t*>(s.data)[at]);
  return static_cast<const float*>(s.data)[at];
}

/// sum = scale_a * (scale_b * sum), each product rounded once, in the accumulators of a tile at
/// (x0, y0). B is on the y side, or on the x side where the roles are swapped.
///
///   registers of a thread   4 j + 2 half + c  at  x = 64 i + 16 warp + 8 half + lane / 4
///                                                 y = 8 j + 2 (lane % 4) + c
template <class T>
__device__ __forceinline__ void multiply_by_lines(const LaunchShape& shape, const Fp8Shape& fp8,
                                                  int group, int x0, int y0, Accumulators<T>& sum) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const auto along_x = [&] {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int x = x0 + (group * T::kBlocks + i) * 64 + warp * 16 + half * 8 + lane / 4;
        const float s = line_scale(fp8.x, x, shape.x_rows);
#pragma unroll
        for (int j = 0; j < T::kN / 4; ++j) {
          float& d = sum[i][j / 2 * 4 + half * 2 + j % 2];
          d = arithmetic::mul_rn(s, d);
        }
      }
    }
  };
  const auto along_y = [&] {
#pragma unroll
    for (int j = 0; j < T::kN / 4; ++j) {
      const int y = y0 + j / 2 * 8 + lane % 4 * 2 + j % 2;
      const float s = line_scale(fp8.y, y, shape.y_rows);
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float& d = sum[i][j / 2 * 4 + half * 2 + j % 2];
          d = arithmetic::mul_rn(s, d);
        }
      }
    }
  };
  if (shape.swapped) {
    along_x();
    along_y();
  } else {
    along_y();
    along_x();
  }
}

}  // namespace detgemm::cuda::sm90
