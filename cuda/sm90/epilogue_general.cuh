// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/mainloop.cuh"

namespace detgemm::cuda::sm90 {

/// Where D's element (x, y) of the kernel stands in the problem: its row and column.
struct Place {
  std::int64_t row, col;
};
__device__ __forceinline__ Place place(bool swapped, int x, int y) {
  return swapped ? Place{y, x} : Place{x, y};
}

/// The accumulators' start for `continue`: fp32 C. Outside D the address is clamped, not the load
/// skipped, and no branch chooses between C and +0: accumulators that reach the loop along two
/// paths make ptxas serialise every wgmma.
template <class T>
__device__ __forceinline__ void start_from_c(const GemmArguments& g, const LaunchShape& shape,
                                             int group, int x0, int y0, Accumulators<T>& acc) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const auto* c = static_cast<const float*>(g.c);
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at_x = (group * T::kBlocks + i) * 64 + warp * 16 + half * 8 + lane / 4;
      const int x = min(x0 + at_x, shape.x_rows - 1);
#pragma unroll
      for (int j = 0; j < T::kN / 4; ++j) {
        const int at_y = j / 2 * 8 + lane % 4 * 2 + j % 2;
        const int y = min(y0 + at_y, shape.y_rows - 1);
        acc[i][j / 2 * 4 + half * 2 + j % 2] = c[x * along_x + y * along_y];
      }
    }
    ptx::pin(acc[i]);
  }
}

/// Any epilogue, any strides of D: each warp passes its accumulators through its own piece of
/// shared memory, 8 rows of x at a time, so that lanes walk along y, or along x, of D.
template <class T>
__device__ __forceinline__ void finish_general(const SharedLayout<T>& shared,
                                               const GemmArguments& g, const LaunchShape& shape,
                                               int group, int x0, int y0,
                                               const Accumulators<T>& acc) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const std::uint32_t staging = shared.epilogue + (group * 4 + warp) * 8 * T::kPitch * 4;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      __syncwarp();
#pragma unroll
      for (int j = 0; j < T::kN / 8; ++j) {
        const std::uint32_t to = staging + (lane / 4 * T::kPitch + j * 8 + lane % 4 * 2) * 4;
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(acc[i][j * 4 + half * 2]),
                     "f"(acc[i][j * 4 + half * 2 + 1])
                     : "memory");
      }
      __syncwarp();
      const int first = (group * T::kBlocks + i) * 64 + warp * 16 + half * 8;
#pragma unroll 1
      for (int e = lane; e < 8 * T::kN; e += 32) {
        const int in_x = shape.d_x_contiguous ? e % 8 : e / T::kN;
        const int in_y = shape.d_x_contiguous ? e / 8 : e % T::kN;
        const int x = x0 + first + in_x;
        const int y = y0 + in_y;
        if (x >= shape.x_rows || y >= shape.y_rows) continue;
        float value;
        const std::uint32_t from = staging + (in_x * T::kPitch + in_y) * 4;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(from) : "memory");
        const Place at = place(shape.swapped, x, y);
        finish_element(g, at.row, at.col, value);
      }
    }
  }
}

}  // namespace detgemm::cuda::sm90
