// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "cuda/sm90/epilogue/plain.cuh"

namespace detgemm::cuda::sm90 {

/// The row and column in the problem of the kernel's element (x, y).
struct Place {
  std::int64_t row, col;
};
__device__ __forceinline__ Place place(bool swapped, int x, int y) {
  return swapped ? Place{y, x} : Place{x, y};
}

/// Starts accumulators from fp32 C, for `continue`. Outside of D the address is clamped instead of
/// skipping the load, and no branch chooses between C and +0: accumulators that reach the loop
/// along two paths make ptxas serialise every wgmma.
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

/// Stores 8 x by kColumns y outputs from a warp's staging to D, of which `xs` by `ys` exist. Lanes
/// walk along x or along y, whichever D's memory does.
template <class T, bool kAlongX>
__device__ __forceinline__ void store_rounded_piece(std::uint32_t staging, const GemmArguments& g,
                                                    const LaunchShape& shape, int x, int y, int xs,
                                                    int ys) {
  const int lane = threadIdx.x % 32;
  const std::int64_t size = shape.output == DType::fp32 ? 4 : 2;
  const std::int64_t along_x = (shape.swapped ? g.ds.col : g.ds.row) * size;
  const std::int64_t along_y = (shape.swapped ? g.ds.row : g.ds.col) * size;
  char* d = static_cast<char*>(g.d) + x * along_x + y * along_y;
  constexpr int kEach = T::kColumns / 4;  // outputs per lane
  constexpr int kBatch = kEach < 8 ? kEach : 8;
#pragma unroll 1
  for (int first = 0; first < kEach; first += kBatch) {
    float value[kBatch];  // all loads come before the first store, so that latency is paid once
#pragma unroll
    for (int t = 0; t < kBatch; ++t) {
      const int e = (first + t) * 32 + lane;
      const int in_x = kAlongX ? e % 8 : e / T::kColumns;
      const int in_y = kAlongX ? e / 8 : e % T::kColumns;
      const std::uint32_t from = staging + (in_x * T::kPitch + in_y) * 4;
      value[t] = ptx::ld_shared_f32(from);
    }
#pragma unroll
    for (int t = 0; t < kBatch; ++t) {
      const int e = (first + t) * 32 + lane;
      const int in_x = kAlongX ? e % 8 : e / T::kColumns;
      const int in_y = kAlongX ? e / 8 : e % T::kColumns;
      if (in_x >= xs || in_y >= ys) continue;
      char* to = d + in_x * along_x + in_y * along_y;
      if (shape.output == DType::fp32) {
        *reinterpret_cast<float*>(to) = arithmetic::canonical(value[t]);
      } else {
        *reinterpret_cast<std::uint16_t*>(to) =
            static_cast<std::uint16_t>(pack(value[t], 0.0F, shape.output));
      }
    }
  }
}

/// Any epilogue and any strides of D. Each warp passes its accumulators through its own piece of
/// shared memory, 8 rows of x and kColumns of y at a time, so that lanes walk along D's memory, be
/// it along y or along x. D's rows may start at any address, so the stores are of single elements,
/// 32 neighbours per instruction.
template <class T>
__device__ __forceinline__ void finish_general(const SharedLayout<T>& shared,
                                               const GemmArguments& g, const LaunchShape& shape,
                                               int group, int x0, int y0,
                                               const Accumulators<T>& acc) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const std::uint32_t staging =
      shared.epilogue + (group * 4 + warp) * 8 * T::kPitch * 4;  // (8, kPitch)
  const bool rounds = only_rounds(g.epilogue);
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int columns = 0; columns < T::kN; columns += T::kColumns) {
        __syncwarp();
#pragma unroll
        for (int j = 0; j < T::kColumns / 8; ++j) {
          const std::uint32_t to = staging + (lane / 4 * T::kPitch + j * 8 + lane % 4 * 2) * 4;
          const float* from = acc[i] + columns / 2 + j * 4 + half * 2;
          ptx::st_shared_v2_f32(to, {from[0], from[1]});
        }
        __syncwarp();
        const int x = x0 + (group * T::kBlocks + i) * 64 + warp * 16 + half * 8;
        const int y = y0 + columns;
        const int xs = shape.x_rows - x;
        const int ys = shape.y_rows - y;
        if (xs <= 0 || ys <= 0) continue;
        if (rounds && shape.d_x_contiguous) {
          store_rounded_piece<T, true>(staging, g, shape, x, y, xs, ys);
          continue;
        }
        if (rounds) {
          store_rounded_piece<T, false>(staging, g, shape, x, y, xs, ys);
          continue;
        }
#pragma unroll 1
        for (int e = lane; e < 8 * T::kColumns; e += 32) {
          const int in_x = shape.d_x_contiguous ? e % 8 : e / T::kColumns;
          const int in_y = shape.d_x_contiguous ? e / 8 : e % T::kColumns;
          if (in_x >= xs || in_y >= ys) continue;
          const std::uint32_t from = staging + (in_x * T::kPitch + in_y) * 4;
          const float value = ptx::ld_shared_f32(from);
          const Place at = place(shape.swapped, x + in_x, y + in_y);
          finish_element(g, at.row, at.col, value);
        }
      }
    }
  }
}

}  // namespace detgemm::cuda::sm90
