// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/gcn/mfma.hpp"
#include "hip/gfx9/fp32_tile.hpp"
#include "hip/simt/kernel.hpp"

/// ieee_fma on the fp32 matrix cores of gfx90a and gfx942: the portable kernel with another way of
/// multiplying a stage. By the published model v_mfma_f32_32x32x2 is a chain of two fma; no chip
/// has confirmed that here, so nothing chooses this kernel unless the build is told to.
namespace detgemm::hip::gfx9 {

using gcn::f32x16;

///   block (i / 2, i % 2), register j of lane l: row 8 * (j / 4) + 4 * (l / 32) + j % 4, column l %
///   32
struct Fp32 : Fp32Tile {
  DETGEMM_DEVICE static int first_row(int thread) { return thread >> 7 << 6; }
  DETGEMM_DEVICE static int first_col(int thread) { return thread & 64; }
  DETGEMM_DEVICE static int row(int thread, int i, int j) {
    return first_row(thread) + i / 2 * 32 + 8 * (j / 4) + (thread >> 3 & 4) + j % 4;
  }
  DETGEMM_DEVICE static int col(int thread, int i, int) {
    return first_col(thread) + i % 2 * 32 + (thread & 31);
  }

  /// One stage: 8 instructions of two products for each block, which is one chain per output.
  ///
  ///   lanes  0..31 hold k:       sum -> fma(a[k], b[k], sum)
  ///   lanes 32..63 hold k + 1:       -> fma(a[k+1], b[k+1], sum) -> ...
  template <class Outputs>
  DETGEMM_DEVICE static void multiply(const float* a, const float* b, Outputs& out) {
    const int thread = thread_index();
    const int half = thread >> 5 & 1;
    const float* x = a + half * (kM + 1) + first_row(thread) + (thread & 31);
    const float* y = b + half * (kN + 1) + first_col(thread) + (thread & 31);
    f32x16 sum[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) sum[i] = __builtin_bit_cast(f32x16, out.sum[i]);
#pragma unroll
    for (int s = 0; s < simt::kStage; s += 2) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        sum[i] = gcn::mfma_fp32_32x32x2(x[s * (kM + 1) + i / 2 * 32], y[s * (kN + 1) + i % 2 * 32],
                                        sum[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kCols; ++j) out.sum[i][j] = sum[i][j];
    }
  }
};

/// The kernels by the names that hip/kernel_names.cpp builds, for elements of any type that
/// ieee_fma takes: they are converted to fp32 exactly on their way to shared memory.
#define DETGEMM_FP32(type, reduction, leaves)                                                 \
  extern "C" __global__                                                                       \
      __attribute__((amdgpu_flat_work_group_size(256, 256), amdgpu_waves_per_eu(2))) void     \
          mfma_fp32_##type##_128x128_##reduction(detgemm::hip::TileArguments a) {             \
    detgemm::hip::simt::run_tiles<detgemm::DType::type, detgemm::hip::gfx9::Fp32, leaves>(a); \
  }

}  // namespace detgemm::hip::gfx9
