// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/compute_element.hpp"
#include "hip/gcn/control.hpp"
#include "hip/gfx9/accumulators.hpp"

namespace detgemm::hip::gfx9 {

/// Whether the block of kRows x kCols outputs at (m, n) lies inside D, is only rounded, and can be
/// stored 4 neighbours of a row at a time.
template <int kRows, int kCols>
DETGEMM_DEVICE bool stores_quads(const GemmArguments& g, std::int64_t m, std::int64_t n) {
  const std::int64_t quad = g.output == DType::fp32 ? 16 : 8;  // bytes
  const std::int64_t pitch = g.ds.row * (quad / 4);
  return only_rounds(g.epilogue) && g.ds.col == 1 && m + kRows <= g.m && n + kCols <= g.n &&
         reinterpret_cast<std::uintptr_t>(g.d) % quad == 0 && pitch % quad == 0;
}

/// 4 sums converted to the output type, in the order of memory.
DETGEMM_DEVICE gcn::u32x2 rounded_quad(gcn::f32x4 v, DType output) {
  std::uint16_t half[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    half[i] = output == DType::bf16 ? arithmetic::to_bf16(v[i]) : arithmetic::to_fp16(v[i]);
  }
  return {half[0] | static_cast<std::uint32_t>(half[1]) << 16,
          half[2] | static_cast<std::uint32_t>(half[3]) << 16};
}

/// The fast path of finish_block, for blocks that stores_quads accepts: one lane per 4 outputs of a
/// row.
template <int kRows, int kCols, int kPitch>
DETGEMM_DEVICE void store_quads(const GemmArguments& g, const float* staging, std::int64_t m,
                                std::int64_t n, int lane) {
  constexpr int kLanesPerRow = kCols / 4;
  constexpr int kRowsPerPass = gcn::kWave / kLanesPerRow;
  const int size = g.output == DType::fp32 ? 4 : 2;
  const std::int64_t pitch = g.ds.row * size;
  const int row = lane / kLanesPerRow;
  const int col = lane % kLanesPerRow * 4;
  char* to = static_cast<char*>(g.d) + (m + row) * pitch + (n + col) * size;
  const float* from = staging + row * kPitch + col;
#pragma unroll 1
  for (int done = 0; done < kRows; done += kRowsPerPass) {
    const gcn::f32x4 v = *reinterpret_cast<const gcn::f32x4*>(from);
    if (g.output == DType::fp32) {
      gcn::f32x4 whole;
#pragma unroll
      for (int i = 0; i < 4; ++i) whole[i] = arithmetic::canonical(v[i]);
      *reinterpret_cast<gcn::f32x4*>(to) = whole;
    } else {
      *reinterpret_cast<gcn::u32x2*>(to) = rounded_quad(v, g.output);
    }
    from += kRowsPerPass * kPitch;
    to += kRowsPerPass * pitch;
  }
}

/// Stores kRows x kCols sums of one wave, which lie in shared memory with rows kPitch apart, to D
/// at (m, n). Lanes walk along D's rows, or along its columns where those are contiguous in memory.
template <int kRows, int kCols, int kPitch>
DETGEMM_DEVICE void finish_block(const GemmArguments& g, const float* staging, std::int64_t m,
                                 std::int64_t n, int lane) {
  if (stores_quads<kRows, kCols>(g, m, n)) {
    store_quads<kRows, kCols, kPitch>(g, staging, m, n, lane);
    return;
  }
  const bool along_m = g.ds.row == 1 && g.ds.col != 1;
#pragma unroll 1
  for (int e = lane; e < kRows * kCols; e += gcn::kWave) {
    const int row = along_m ? e % kRows : e / kCols;
    const int col = along_m ? e / kRows : e % kCols;
    if (m + row >= g.m || n + col >= g.n) continue;
    finish_element(g, m + row, n + col, staging[row * kPitch + col]);
  }
}

/// The root of a part: kSide x kSide staged sums go to the workspace as they are.
template <int kSide, int kPitch>
DETGEMM_DEVICE void store_root(int part, const float* staging, std::int64_t m, std::int64_t n,
                               int lane) {
  const TileArguments& a = kernel_argument<TileArguments>();
  float* const root = a.roots + std::int64_t{part} * a.g.m * a.g.n;
#pragma unroll 1
  for (int e = lane; e < kSide * kSide; e += gcn::kWave) {
    const std::int64_t row = m + e / kSide;
    const std::int64_t col = n + e % kSide;
    if (row < a.g.m && col < a.g.n) {
      root[row * a.g.n + col] = staging[e / kSide * kPitch + e % kSide];
    }
  }
}

/// Stores a wave's blocks to D, or to the workspace where they are the root of part `part` of
/// several, one after the other through its own piece of shared memory. The loop over the blocks
/// is not unrolled, so the epilogue's code exists once; since registers can only be named by
/// constants, each turn compares all block numbers with its own.
template <class T, bool kLeaves, class Work>
DETGEMM_DEVICE void finish_tile(const Work& work, char* shared, const Sums<T>& sums) {
  const WavePlace<T> at;
  const std::int64_t m0 = std::int64_t{work.tile.m} * T::kM + at.m;
  const std::int64_t n0 = std::int64_t{work.tile.n} * T::kN + at.n;
  float* staging = reinterpret_cast<float*>(shared) + at.wave * (32 * kEpiloguePitch);
#pragma unroll 1
  for (int block = 0; block < Sums<T>::kBlocks; ++block) {
    const GemmArguments& g = work.gemm();  // of a group: made again for each block
    const std::int64_t m = m0 + block / T::kBlocksN * 32;
    const std::int64_t n = n0 + block % T::kBlocksN * 32;
    if (m >= g.m || n >= g.n) continue;
    gcn::wave_fence();
#pragma unroll
    for (int b = 0; b < Sums<T>::kBlocks; ++b) {
      if (b != block) continue;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        staging[result_row_32(at.lane, i) * kEpiloguePitch + at.lane % 32] = sums.block[b][i];
      }
    }
    gcn::wave_fence();
    if (kLeaves && work.parts() > 1) {
      store_root<32, kEpiloguePitch>(work.part_index, staging, m, n, at.lane);
    } else {
      finish_block<32, 32, kEpiloguePitch>(g, staging, m, n, at.lane);
    }
  }
}

}  // namespace detgemm::hip::gfx9
