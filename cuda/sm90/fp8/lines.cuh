// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/fp8/scales.cuh"
#include "cuda/sm90/pipeline/mainloop.cuh"

namespace detgemm::cuda::sm90 {

/// sum = scale_a * (scale_b * sum), each product rounded once, in a tile's accumulators, by the
/// scales of whole lines in its slot. B is on the y side, or, if swapped, on the x side. All
/// threads of a consumer group call it; the slot is handed back.
///
///   registers of a thread   4 j + 2 half + c  at  x = 64 i + 16 warp + 8 half + lane / 4
///                                                 y = 8 j + 2 (lane % 4) + c
template <class T>
__device__ __forceinline__ void multiply_by_lines(const SharedLayout<T>& shared,
                                                  RingCursor<T::kSlots>& slots, bool swapped,
                                                  int group, Accumulators<T>& sum) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const std::uint32_t rows = scale_slot(shared, slots.stage);
  const std::uint32_t columns = rows + 4 * T::kX;
  const auto along_x = [&] {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int x = (group * T::kBlocks + i) * 64 + warp * 16 + half * 8 + lane / 4;
        const float s = ptx::ld_shared_f32(rows + 4 * x);
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
    for (int j = 0; j < T::kN / 8; ++j) {
      const float2 s = ptx::ld_shared_v2_f32(columns + 4 * (j * 8 + lane % 4 * 2));
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float* const d = sum[i] + j * 4 + half * 2;
          d[0] = arithmetic::mul_rn(s.x, d[0]);
          d[1] = arithmetic::mul_rn(s.y, d[1]);
        }
      }
    }
  };
  ptx::mbarrier_wait(scales_full(shared, slots.stage), slots.parity);
  if (swapped) {
    along_x();
    along_y();
  } else {
    along_y();
    along_x();
  }
  release_scales<T>(shared, slots.stage);
  slots.advance();
}

}  // namespace detgemm::cuda::sm90
